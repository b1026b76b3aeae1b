// Reads the texts of jemalloc and gperftools.
//
//   jemalloc     heap_v2/PERIOD             gperftools   heap profile: ROW @ heap_v2/PERIOD
//                  t*: ROW                               ROW @ 0x... 0x...
//                @ 0x... 0x...
//                  t*: ROW, t1: ROW, ...
//   both         MAPPED_LIBRARIES: and lines of /proc/PID/maps
//   ROW          LIVE-BLOCKS: LIVE-BYTES [ALLOCATED-BLOCKS: ALLOCATED-BYTES]
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <unordered_map>

#include "tools/load/import.h"
#include "tools/load/text_lines.h"

namespace allomon::interchange {
namespace {

using heap::Amount;
using heap::HeapProfile;
using heap::Metric;
using heap::Sample;

constexpr std::string_view kJemalloc = "heap_v2/";
constexpr std::string_view kGperftools = "heap profile:";
constexpr double kWordBytes = 8;
constexpr double kMostBytes = 9e18;  // the largest number of bytes accepted; 64 bits hold more

struct Row {
  Amount live;
  Amount allocated;
};

bool TakeAmount(Fields* fields, Amount* amount) {
  uint64_t blocks = 0;
  uint64_t bytes = 0;
  if (!fields->TakeDecimal(&blocks) || !fields->Take(":")) return false;
  if (!fields->TakeDecimal(&bytes)) return false;
  amount->blocks = static_cast<double>(blocks);
  amount->bytes = static_cast<double>(bytes);
  return blocks > 0 || bytes == 0;
}

bool TakeRow(Fields* fields, Row* row) {
  return TakeAmount(fields, &row->live) && fields->Take("[") &&
         TakeAmount(fields, &row->allocated) && fields->Take("]");
}

bool IsMappingsHead(std::string_view line) {
  return line.find("MAPPED_LIBRARIES:") != line.npos ||
         line.find("--- Memory map: ---") != line.npos;
}

class Reader {
 public:
  Reader(std::string_view text, const ImportLimits& limits) : lines_(text), limits_(limits) {}

  Imported Read(bool is_jemalloc) {
    absl::Status status = is_jemalloc ? ReadJemalloc() : ReadGperftools();
    if (status.ok()) status = ReadMappings();
    if (!status.ok()) return status;
    FindMappings();
    SetRate();
    return std::move(profile_);
  }

 private:
  absl::Status ReadJemalloc() {
    profile_.origin = "heap_v2";
    lines_.Next();
    Fields head(lines_.line());
    if (!head.Take(kJemalloc) || !head.TakeDecimal(&period_) || !head.AtEnd()) {
      return lines_.Error("the sampling period of heap_v2/PERIOD is not a number");
    }
    std::vector<uint32_t> stack;
    bool in_stack = false;
    while (lines_.Next() && !IsMappingsHead(lines_.line())) {
      Fields fields(lines_.line());
      if (fields.AtEnd()) continue;
      if (fields.Take("@")) {
        const absl::Status status = ReadStack(&fields, &stack);
        if (!status.ok()) return status;
        in_stack = true;
      } else {
        const absl::Status status = ReadThreadRow(&fields, in_stack ? &stack : nullptr);
        if (!status.ok()) return status;
      }
    }
    return absl::OkStatus();
  }

  // Reads a row of `t*`, the sum over threads; rows of single threads are skipped.  `stack` is
  // nullptr for the file's totals.
  absl::Status ReadThreadRow(Fields* fields, const std::vector<uint32_t>* stack) {
    Row row;
    if (!fields->Take("t")) {
      return lines_.Error("neither \"@\" and addresses nor \"t*:\" and counts");
    }
    if (!fields->Take("*:")) return absl::OkStatus();
    if (!TakeRow(fields, &row)) return lines_.Error("the counts are not \"N: BYTES [N: BYTES]\"");
    return stack == nullptr ? absl::OkStatus() : AddSample(row, *stack);
  }

  absl::Status ReadGperftools() {
    lines_.Next();
    const absl::Status head = ReadGperftoolsHead();
    if (!head.ok()) return head;
    std::vector<uint32_t> stack;
    while (lines_.Next() && !IsMappingsHead(lines_.line())) {
      Fields fields(lines_.line());
      if (fields.AtEnd() || fields.rest()[0] == '#') continue;
      Row row;
      if (!TakeRow(&fields, &row) || !fields.Take("@")) {
        return lines_.Error("not \"N: BYTES [N: BYTES] @ ADDRESSES\"");
      }
      absl::Status status = ReadStack(&fields, &stack);
      if (status.ok()) status = AddSample(row, stack);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status ReadGperftoolsHead() {
    Fields head(lines_.line());
    Row totals;
    if (!head.Take(kGperftools) || !TakeRow(&head, &totals) || !head.Take("@")) {
      return lines_.Error("not \"heap profile: N: BYTES [N: BYTES] @ KIND\"");
    }
    head.SkipBlanks();
    const std::string_view rest = head.rest();
    const std::string kind(rest.substr(0, rest.find_first_of(" \t/")));
    profile_.origin = kind;
    if (kind == "heapprofile") return absl::OkStatus();
    if (kind.substr(0, 6) == "growth" || kind.substr(0, 13) == "fragmentation") {
      profile_.notes.push_back("the counts are of " + kind + ", not of live blocks");
      return absl::OkStatus();
    }
    if (kind != "heap_v2" && kind != "heapz_v2" && kind != "heap") {
      return lines_.Error("\"" + kind + "\" is none of heapprofile, heap_v2, heap and growth");
    }
    Fields period(rest.substr(kind.size()));
    if (!period.Take("/") || !period.TakeDecimal(&period_)) {
      return lines_.Error("no sampling period behind " + kind + "/");
    }
    if (kind == "heap") period_ /= 2;  // the file states twice the period
    return absl::OkStatus();
  }

  absl::Status ReadStack(Fields* fields, std::vector<uint32_t>* stack) {
    stack->clear();
    while (!fields->AtEnd()) {
      uint64_t address = 0;
      if (!fields->TakeHexadecimal(&address)) return lines_.Error("an address is not hexadecimal");
      if (++frames_ > limits_.frames) return lines_.Error("more frames than can be read");
      stack->push_back(LocationOf(address));
    }
    if (profile_.locations.size() > limits_.locations) {
      return lines_.Error("more addresses than can be read");
    }
    return absl::OkStatus();
  }

  // Files have return addresses; a location gets the byte before, which belongs to the call.
  uint32_t LocationOf(uint64_t return_address) {
    const auto [at, is_new] =
        locations_.try_emplace(return_address, static_cast<uint32_t>(profile_.locations.size()));
    if (is_new) {
      profile_.locations.emplace_back();
      profile_.locations.back().address = return_address - (return_address > 0 ? 1 : 0);
    }
    return at->second;
  }

  absl::Status AddSample(const Row& row, const std::vector<uint32_t>& stack) {
    if (profile_.samples.size() == limits_.samples) {
      return lines_.Error("more stacks than can be read");
    }
    profile_.samples.emplace_back();
    Sample& sample = profile_.samples.back();
    sample.stack = stack;
    sample.has_header = false;
    SetSize(row.allocated.blocks > 0 ? row.allocated : row.live, &sample);
    sample[Metric::kLive] = Scaled(row.live);
    sample[Metric::kAllocated] = Scaled(row.allocated);
    has_allocated_ |= row.allocated.blocks > 0;
    return absl::OkStatus();
  }

  static void SetSize(const Amount& amount, Sample* sample) {
    if (amount.blocks <= 0) return;
    sample->has_size = true;
    sample->size_bytes = static_cast<uint64_t>(std::min(amount.bytes / amount.blocks, kMostBytes));
  }

  // Scales as jeprof does: a block of the row's mean size was sampled with the probability 1 -
  // exp(-size / period).
  Amount Scaled(const Amount& amount) const {
    if (period_ <= 1 || amount.blocks <= 0 || amount.bytes <= 0) return amount;
    const double size_bytes = amount.bytes / amount.blocks;
    const double scale = -1 / std::expm1(-size_bytes / static_cast<double>(period_));
    return {amount.blocks * scale, amount.bytes * scale};
  }

  absl::Status ReadMappings() {
    while (lines_.Next()) {
      const std::string_view line = lines_.line();
      if (line.substr(0, sizeof kRateComment - 1) == kRateComment) {
        rate_ = std::strtod(std::string(line.substr(sizeof kRateComment - 1)).c_str(), nullptr);
        continue;
      }
      if (profile_.mappings.size() == limits_.mappings) {
        return lines_.Error("more mappings than can be read");
      }
      ReadMapping(line);
    }
    return absl::OkStatus();
  }

  // Skips mappings without code, and lines of other forms, such as comments.
  void ReadMapping(std::string_view line) {
    Fields fields(line);
    heap::Mapping mapping;
    if (!fields.TakeHexadecimal(&mapping.begin) || !fields.Take("-")) return;
    if (!fields.TakeHexadecimal(&mapping.end) || mapping.end <= mapping.begin) return;
    fields.SkipBlanks();
    if (fields.rest().substr(0, 4).find('x') == std::string_view::npos) return;
    for (int i = 0; i < 4; ++i) {  // permissions, offset, device, inode
      fields.SkipBlanks();
      const std::string_view rest = fields.rest();
      const std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
      if (i == 1) Fields(word).TakeHexadecimal(&mapping.file_offset);
      fields.Take(word);
    }
    fields.SkipBlanks();
    mapping.path = std::string(fields.rest());
    profile_.mappings.push_back(std::move(mapping));
  }

  // The last mapping of an address wins, because a file may also list mappings that it replaced.
  void FindMappings() {
    std::vector<uint32_t> order(profile_.mappings.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) {
      return profile_.mappings[a].begin < profile_.mappings[b].begin;
    });
    for (heap::Location& location : profile_.locations) {
      auto above = std::upper_bound(order.begin(), order.end(), location.address,
                                    [this](uint64_t address, uint32_t mapping) {
                                      return address < profile_.mappings[mapping].begin;
                                    });
      if (above == order.begin()) continue;
      const uint32_t mapping = *--above;
      if (location.address < profile_.mappings[mapping].end) location.mapping = mapping;
    }
  }

  // A word counts as sampled if one of its bytes is.
  void SetRate() {
    profile_.has[static_cast<size_t>(Metric::kLive)] = true;
    profile_.has[static_cast<size_t>(Metric::kAllocated)] = has_allocated_;
    if (rate_ >= 0 && rate_ <= 1) {
      profile_.rate = rate_;
      for (Sample& sample : profile_.samples) sample.has_header = true;
    } else {
      profile_.rate = period_ <= 1 ? 1 : -std::expm1(-kWordBytes / static_cast<double>(period_));
    }
  }

  TextLines lines_;
  const ImportLimits& limits_;
  HeapProfile profile_;
  std::unordered_map<uint64_t, uint32_t> locations_;  // by return address
  uint64_t period_ = 0;                               // in bytes; with 0 or 1 every block is in the
                                                      // file
  double rate_ = -1;                                  // in files that Allomon wrote; -1 in others
  size_t frames_ = 0;
  bool has_allocated_ = false;
};

bool StartsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

}  // namespace

bool LooksLikeHeapV2(std::string_view first_bytes) {
  return StartsWith(first_bytes, kJemalloc) || StartsWith(first_bytes, kGperftools);
}

Imported ImportHeapV2(std::string_view text, const ImportLimits& limits) {
  if (text.size() > limits.text_bytes)
    return absl::InvalidArgumentError("is larger than can be read");
  if (!LooksLikeHeapV2(text)) {
    return absl::InvalidArgumentError("line 1: neither \"heap_v2/\" nor \"heap profile:\"");
  }
  return Reader(text, limits).Read(StartsWith(text, kJemalloc));
}

}  // namespace allomon::interchange
