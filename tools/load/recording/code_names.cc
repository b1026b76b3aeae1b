#include "tools/load/recording/code_names.h"

#include <algorithm>

#include "tools/load/recording/code_namer.h"
#include "tracker/base/check.h"

namespace allomon::recording {
namespace {

constexpr uint64_t kAddressesPerProgress = 256;

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
  known.is_program |= code.is_program;
  if (known.mapped_by == 0) {
    known.mapped_by = code.mapped_by;
    known.mapped_at = code.mapped_at;
  }
  return place->second;
}

void CodeNames::LookUp(const Progress& progress) {
  progress_ = progress;
  for (std::vector<uint64_t>& addresses : asked_) {
    SortWithoutRepeats(&addresses);
    all_ += addresses.size();
  }
  for (uint32_t file = 0; file < files_.size(); ++file) {
    if (!asked_[file].empty()) LookUpFile(file);
  }
}

void CodeNames::CountOne() {
  if (++done_ % kAddressesPerProgress == 0 && progress_) progress_(done_, all_);
}

void CodeNames::LookUpFile(uint32_t number) {
  const CodeIdentity& code = files_[number];
  CodeNamer namer(code, sources_);
  for (const uint64_t address : asked_[number]) {
    CountOne();
    Lines& lines = found_[number].emplace_back();
    for (const CodeFrame& frame : namer.At(address)) {
      if (lines.empty() && !frame.new_type.empty()) {
        new_types_.emplace(std::pair(number, address), frame.new_type);
      }
      lines.push_back(LineOf(frame));
    }
    if (lines.empty()) {
      lines.push_back({AddFunction({NameByAddress(code.path, address), "", "", 0}), 0});
    }
  }
  notes_[number] = namer.note();
  ALLOMON_DCHECK_EQ("inv.load.asked", found_[number].size(), asked_[number].size());
}

heap::Line CodeNames::LineOf(const CodeFrame& frame) {
  return {AddFunction(FunctionOf(frame)), static_cast<uint32_t>(std::max(frame.line, 0)),
          static_cast<uint32_t>(std::max(frame.column, 0))};
}

std::string CodeNames::NewTypeAt(uint32_t file, uint64_t address) const {
  const auto found = new_types_.find({file, address});
  return found == new_types_.end() ? "" : found->second;
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
