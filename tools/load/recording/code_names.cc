#include "tools/load/recording/code_names.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "tracker/base/check.h"
#include "tracker/names/base_name.h"

namespace allomon::recording {
namespace {

constexpr uint64_t kAddressesPerProgress = 256;

// The starts of a file's functions in its unwind table, after which stripped code is named.
class Starts {
 public:
  explicit Starts(std::vector<UnwindRange> ranges) : ranges_(std::move(ranges)) {
    std::sort(ranges_.begin(), ranges_.end(),
              [](const UnwindRange& a, const UnwindRange& b) { return a.begin < b.begin; });
  }

  // Returns the start of the function at `address`, or `address` if no function is known there.
  uint64_t Of(uint64_t address) const {
    const auto after = std::upper_bound(
        ranges_.begin(), ranges_.end(), address,
        [](uint64_t value, const UnwindRange& range) { return value < range.begin; });
    const bool is_inside = after != ranges_.begin() && address < (after - 1)->end;
    ALLOMON_DCHECK("inv.load.places", !is_inside || (after - 1)->begin <= address);
    return is_inside ? (after - 1)->begin : address;
  }

 private:
  std::vector<UnwindRange> ranges_;
};

std::string NameByAddress(const std::string& path, uint64_t address) {
  char offset[24];
  std::snprintf(offset, sizeof(offset), "+0x%" PRIx64, address);
  return BaseName(path) + offset;
}

void SortWithoutRepeats(std::vector<uint64_t>* values) {
  std::sort(values->begin(), values->end());
  values->erase(std::unique(values->begin(), values->end()), values->end());
  values->shrink_to_fit();
}

}  // namespace

uint32_t CodeNames::AddFile(const CodeIdentity& code) {
  const auto [place, is_new] = file_of_.try_emplace(code, static_cast<uint32_t>(files_.size()));
  if (is_new) {
    files_.push_back(code);
    notes_.emplace_back();
    asked_.emplace_back();
    found_.emplace_back();
  }
  // Keeps the earliest start of all processes: FindCode compares the file's change with it.
  CodeIdentity& known = files_[place->second];
  known.start_nanos = std::min(known.start_nanos, code.start_nanos);
  if (known.mapped_by == 0) {
    known.mapped_by = code.mapped_by;
    known.mapped_at = code.mapped_at;
  }
  return place->second;
}

void CodeNames::LookUp(const std::string& debug_folder, const Progress& progress) {
  progress_ = progress;
  for (std::vector<uint64_t>& addresses : asked_) {
    SortWithoutRepeats(&addresses);
    all_ += addresses.size();
  }
  for (uint32_t file = 0; file < files_.size(); ++file) {
    if (!asked_[file].empty()) LookUpFile(file, debug_folder);
  }
}

void CodeNames::CountOne() {
  if (++done_ % kAddressesPerProgress == 0 && progress_) progress_(done_, all_);
}

void CodeNames::LookUpFile(uint32_t number, const std::string& debug_folder) {
  const FoundCode code = FindCode(files_[number], debug_folder);
  const Starts starts(code.file == nullptr ? std::vector<UnwindRange>() : code.file->Ranges());
  notes_[number] = code.note;
  for (const uint64_t address : asked_[number]) {
    CountOne();
    Lines& lines = found_[number].emplace_back();
    if (code.file == nullptr) {
      lines.push_back({AddFunction({NameByAddress(files_[number].path, address), "", "", 0}), 0});
      continue;
    }
    for (const CodeFrame& frame : code.file->At(address, starts.Of(address))) {
      lines.push_back(LineOf(frame));
    }
  }
  ALLOMON_DCHECK_EQ("inv.load.asked", found_[number].size(), asked_[number].size());
}

heap::Line CodeNames::LineOf(const CodeFrame& frame) {
  const std::string linker_name = frame.symbol == frame.name ? "" : frame.symbol;
  const auto start_line = static_cast<uint32_t>(std::max(frame.start_line, 0));
  return {AddFunction({frame.name, linker_name, frame.file, start_line}),
          static_cast<uint32_t>(std::max(frame.line, 0)),
          static_cast<uint32_t>(std::max(frame.column, 0))};
}

uint32_t CodeNames::AddFunction(heap::Function function) {
  const auto [place, is_new] =
      function_of_.try_emplace({function.name, function.linker_name, function.file},
                               static_cast<uint32_t>(functions_.size()));
  if (is_new) functions_.push_back(std::move(function));
  return place->second;
}

const std::vector<heap::Line>& CodeNames::At(uint32_t file, uint64_t address) const {
  static const Lines none;
  const std::vector<uint64_t>& asked = asked_[file];
  const auto place = std::lower_bound(asked.begin(), asked.end(), address);
  const auto index = static_cast<size_t>(place - asked.begin());
  const bool is_there = place != asked.end() && *place == address && index < found_[file].size();
  return is_there ? found_[file][index] : none;
}

}  // namespace allomon::recording
