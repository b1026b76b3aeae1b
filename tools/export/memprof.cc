// Writes LLVM's profile of memory, memprof, as the YAML that llvm-profdata merges.
//
// A function's record has the stacks of allocations whose innermost calls it has, inlined ones
// included, and the calls of it that lead to allocations.  README.md, section 5, says what clang
// takes from them.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tools/export/exporters.h"
#include "tools/export/function_guid.h"
#include "tools/heap/born.h"
#include "tools/heap/heap_profile.h"
#include "tools/heap/named_stacks.h"
#include "tools/text/numbers.h"
#include "tracker/formats/version.h"

namespace allomon::interchange {
namespace {

using heap::AgeCell;
using heap::HeapProfile;
using heap::Location;
using heap::Metric;
using heap::Sample;

constexpr uint32_t kOffsetMask = 0xffff;  // clang compares 16 bits
constexpr double kMillis = 1e3;
constexpr double kMostMillis = 9e18;

// A call as clang tells calls apart.
struct Call {
  uint64_t guid = 0;
  uint32_t line_offset = 0;
  uint32_t column = 0;  // 0: not known
  bool is_inline = false;

  friend bool operator<(const Call& a, const Call& b) {
    return std::tie(a.guid, a.line_offset, a.column, a.is_inline) <
           std::tie(b.guid, b.line_offset, b.column, b.is_inline);
  }
};
using Calls = std::vector<Call>;  // innermost first

struct Site {
  heap::Amount allocated;
  double lifetime_millis = 0;  // the sum over all blocks
};

// All blocks of a stack.
struct Block {
  Counts counts;
  uint64_t lifetime_millis = 0;  // at most kMostMillis, so that two of them do not wrap

  void Add(const Block& other) {
    counts.blocks += other.counts.blocks;
    counts.bytes += other.counts.bytes;
    lifetime_millis =
        std::min(lifetime_millis + other.lifetime_millis, static_cast<uint64_t>(kMostMillis));
  }
};

bool HasColumns(const Calls& calls) {
  return std::all_of(calls.begin(), calls.end(), [](const Call& call) { return call.column != 0; });
}

Calls WithoutColumns(Calls calls) {
  for (Call& call : calls) call.column = 0;
  return calls;
}

struct Record {
  std::string name;  // for people
  std::vector<std::pair<const Calls*, Block>> sites;
  std::set<Calls> call_sites;

  // Clang compares all columns of a record, or none if all are 0.
  bool HasAllColumns() const {
    return std::all_of(sites.begin(), sites.end(),
                       [](const auto& site) { return HasColumns(*site.first); }) &&
           std::all_of(call_sites.begin(), call_sites.end(), HasColumns);
  }
};

// The middle of a class of ages, at most the program's time.
double MillisOf(const AgeCell& cell, double duration_seconds) {
  const heap::Born ages = heap::AgesOf(cell);
  double seconds = (ages.oldest_seconds + ages.youngest_seconds) / 2;
  if (duration_seconds > 0) seconds = std::min(seconds, duration_seconds);
  return seconds * kMillis;
}

double LifetimeMillis(const Sample& sample, double duration_seconds) {
  double millis = 0;
  for (const auto* const cells : {&sample.deaths, &sample.ages}) {
    for (const AgeCell& cell : *cells) {
      millis += std::max(cell.amount.blocks, 0.0) * MillisOf(cell, duration_seconds);
    }
  }
  return millis;
}

class Writer {
 public:
  explicit Writer(const HeapProfile& profile) : profile_(profile) {
    for (const Location& location : profile.locations) calls_.push_back(CallsOf(location));
    for (const Location& location : profile.locations) is_new_.push_back(IsNew(location));
    for (const Sample& sample : profile.samples) Add(sample);
  }

  bool is_empty() const { return sites_.empty(); }

  std::string Text() {
    MakeRecords();
    text_ = "---\n# " + std::string(kVersionText) + ", allocations of pid " +
            std::to_string(profile_.pid) +
            "\n# Accesses are not known: TotalLifetimeAccessDensity is 0.\n";
    if (left_out_.bytes > 0) {
      text_ += "# Left out, since the line of their innermost call is not known: " +
               std::to_string(left_out_.blocks) + " blocks, " + std::to_string(left_out_.bytes) +
               " bytes\n";
    }
    text_ += "HeapProfileRecords:\n";
    for (const auto& [guid, record] : records_) WriteRecord(guid, record);
    text_ += "...\n";
    return std::move(text_);
  }

 private:
  // Empty unless all calls at the address are known: clang could not find a part of them.
  Calls CallsOf(const Location& location) {
    Calls calls;
    if (heap::IsInterpreted(profile_, location)) return calls;
    for (const heap::Line& line : location.lines) {
      const heap::Function& function = profile_.functions[line.function];
      const std::string_view name = LinkerNameOf(function);
      if (name.empty() || line.line == 0 || function.start_line == 0) return {};
      const uint64_t guid = FunctionGuid(name);
      names_.try_emplace(guid, name);
      calls.push_back({guid, (line.line - function.start_line) & kOffsetMask, line.column, true});
    }
    if (!calls.empty()) calls.back().is_inline = false;
    return calls;
  }

  // True for C++'s operator new: the call of it is what clang changes.
  bool IsNew(const Location& location) const {
    if (location.lines.empty()) return false;
    const std::string_view name = LinkerNameOf(profile_.functions[location.lines.back().function]);
    return name.substr(0, 4) == "_Znw" || name.substr(0, 4) == "_Zna";
  }

  void Add(const Sample& sample) {
    const heap::Amount& allocated = sample[Metric::kAllocated];
    if (!(allocated.bytes > 0)) return;
    size_t begin = 0;
    while (begin < sample.stack.size() && is_new_[sample.stack[begin]]) ++begin;
    if (begin == sample.stack.size() || calls_[sample.stack[begin]].empty()) {
      lost_.Add(allocated);
      return;
    }
    Calls stack;
    for (size_t i = begin; i < sample.stack.size(); ++i) {
      const Calls& calls = calls_[sample.stack[i]];
      stack.insert(stack.end(), calls.begin(), calls.end());
      AddCallSites(calls, i == begin);
    }
    Site& site = sites_[std::move(stack)];
    site.allocated.Add(allocated);
    site.lifetime_millis += LifetimeMillis(sample, profile_.duration_seconds);
  }

  // The innermost call of a stack is its allocation, and no call site.
  void AddCallSites(const Calls& calls, bool is_innermost) {
    for (size_t i = is_innermost ? 1 : 0; i < calls.size(); ++i) {
      records_[calls[i].guid].call_sites.insert(calls);
    }
  }

  // Rounds, so that the sum of all rows is the rounded sum.
  void MakeRecords() {
    CountsRounding rounding;
    left_out_ = rounding.Round(lost_);
    for (const auto& [calls, site] : sites_) {
      Block block;
      block.counts = rounding.Round(site.allocated);
      if (block.counts.bytes == 0) continue;
      // Clang divides by it.
      const double blocks = std::max(site.allocated.blocks, 1e-9);
      block.counts.blocks = std::max<int64_t>(block.counts.blocks, 1);
      const double mean = site.lifetime_millis / blocks;
      block.lifetime_millis = static_cast<uint64_t>(
          std::min(std::round(mean * static_cast<double>(block.counts.blocks)), kMostMillis));
      AddToRecords(&calls, block);
    }
    for (auto& [guid, record] : records_) record.name = names_[guid];
  }

  // Every function up to the first that was not inlined may be where clang looks.
  void AddToRecords(const Calls* calls, const Block& block) {
    std::set<uint64_t> seen;
    for (const Call& call : *calls) {
      if (seen.insert(call.guid).second) records_[call.guid].sites.emplace_back(calls, block);
      if (!call.is_inline) break;
    }
  }

  void WriteRecord(uint64_t guid, const Record& record) {
    std::map<Calls, Block> sites;
    std::set<Calls> call_sites;
    const bool has_columns = record.HasAllColumns();
    const auto calls_of = [&](const Calls& calls) {
      return has_columns ? calls : WithoutColumns(calls);
    };
    for (const auto& [calls, block] : record.sites) sites[calls_of(*calls)].Add(block);
    for (const Calls& calls : record.call_sites) call_sites.insert(calls_of(calls));
    text_ += "  - GUID: 0x" + Hexadecimal(guid) + Comment(record.name) +
             "\n    AllocSites:" + (sites.empty() ? " []\n" : "\n");
    for (const auto& [calls, block] : sites) WriteSite(calls, block);
    text_ += std::string("    CallSites:") + (call_sites.empty() ? " []\n" : "\n");
    for (const Calls& calls : call_sites) {
      text_ += "      - Frames:\n";
      WriteCalls(calls);
    }
  }

  // A reader of YAML takes only UTF-8.
  static std::string Comment(const std::string& name) {
    const bool is_plain =
        std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < '\x7f'; });
    return is_plain ? "  # " + name : "";
  }

  void WriteSite(const Calls& calls, const Block& block) {
    text_ += "      - Callstack:\n";
    WriteCalls(calls);
    text_ += "        MemInfoBlock:\n          AllocCount: " + std::to_string(block.counts.blocks) +
             "\n          TotalSize: " + std::to_string(block.counts.bytes) +
             "\n          TotalLifetime: " + std::to_string(block.lifetime_millis) +
             "\n          TotalLifetimeAccessDensity: 0\n";
  }

  void WriteCalls(const Calls& calls) {
    for (const Call& call : calls) {
      text_ += "          - { Function: 0x" + Hexadecimal(call.guid) +
               ", LineOffset: " + std::to_string(call.line_offset) +
               ", Column: " + std::to_string(call.column) +
               ", IsInlineFrame: " + (call.is_inline ? "true" : "false") + " }\n";
    }
  }

  const HeapProfile& profile_;
  std::vector<Calls> calls_;  // by location
  std::vector<bool> is_new_;  // by location
  std::map<uint64_t, std::string> names_;
  std::map<Calls, Site> sites_;
  heap::Amount lost_;
  Counts left_out_;
  std::map<uint64_t, Record> records_;
  std::string text_;
};

}  // namespace

Exported ToMemprof(const HeapProfile& profile, Metric /*metric*/) {
  if (!Has(profile, Metric::kAllocated)) {
    return absl::InvalidArgumentError(
        "memprof is of what was allocated, which it does not have; export a whole recording");
  }
  Writer writer(profile);
  if (writer.is_empty()) {
    return absl::InvalidArgumentError(
        "no allocation has a known line; build the program with -g and keep its file");
  }
  return OneFile(writer.Text());
}

}  // namespace allomon::interchange
