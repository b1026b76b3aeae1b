// Writes the text of gperftools and jemalloc, which has addresses of calls, and leaves names to
// readers.
//
// Readers multiply a row by 1 / (1 - exp(-size / period)).  Allomon's blocks were sampled by
// another rule, with their header word, so that no whole number of samples gives its estimate back.
// So the estimates are written with period 1, which readers take as they are.
#include <algorithm>
#include <cstdio>
#include <string>

#include "tools/export/exporters.h"
#include "tools/export/frames.h"
#include "tools/heap/named_stacks.h"
#include "tools/load/import.h"
#include "tools/text/numbers.h"

namespace allomon::interchange {
namespace {

using heap::HeapProfile;
using heap::Metric;
using heap::Sample;

struct Row {
  Counts in_use;
  Counts allocated;

  bool IsEmpty() const { return in_use.blocks == 0 && allocated.blocks == 0; }
};

std::string Text(const Counts& counts) {
  return std::to_string(counts.blocks) + ": " + std::to_string(counts.bytes);
}

std::string Text(const Row& row) { return Text(row.in_use) + " [" + Text(row.allocated) + "]"; }

// Returns at least one block for any bytes, because readers refuse bytes without blocks.
Counts WithBlocks(Counts counts) {
  if (counts.bytes > 0) counts.blocks = std::max<int64_t>(counts.blocks, 1);
  return counts;
}

// Puts the metric into the column of bytes in use, unless it is the metric of the other column.
std::vector<Row> RowsOf(const HeapProfile& profile, Metric metric) {
  const Metric in_use = metric == Metric::kAllocated ? Metric::kLive : metric;
  CountsRounding in_use_rounding;
  CountsRounding allocated_rounding;
  std::vector<Row> rows;
  for (const Sample& sample : profile.samples) {
    rows.push_back({WithBlocks(in_use_rounding.Round(sample[in_use])),
                    WithBlocks(allocated_rounding.Round(sample[Metric::kAllocated]))});
  }
  return rows;
}

Row SumOf(const std::vector<Row>& rows) {
  Row sum;
  for (const Row& row : rows) {
    sum.in_use.Add(row.in_use);
    sum.allocated.Add(row.allocated);
  }
  return sum;
}

// Adds 1 to addresses, because readers look for the call before the address.  A frame without an
// address gets a small number, which is no address of a program.
std::string AddressesOf(const HeapProfile& profile, const Sample& sample) {
  std::string text = "@";
  for (const uint32_t location : sample.stack) {
    const uint64_t address = profile.locations[location].address;
    text += " 0x" + Hexadecimal((address != 0 ? address : location + 1) + 1);
  }
  return text;
}

std::string MappingsOf(const HeapProfile& profile) {
  std::string text = "\nMAPPED_LIBRARIES:\n";
  for (const heap::Mapping& mapping : profile.mappings) {
    if (mapping.end == 0) continue;  // mapping of interpreted functions
    text += Hexadecimal(mapping.begin) + "-" + Hexadecimal(mapping.end) + " r-xp " +
            Hexadecimal(mapping.file_offset) + " 00:00 0 " + OneLine(mapping.path) + "\n";
  }
  char rate[32];
  snprintf(rate, sizeof rate, "%.17g", profile.rate);
  return text + kRateComment + rate + "\n";
}

absl::Status CheckAddresses(const HeapProfile& profile) {
  for (const heap::Location& location : profile.locations) {
    if (location.address != 0) return absl::OkStatus();
  }
  if (profile.locations.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "heap_v2 has addresses in place of names, and the profile has no addresses; choose collapsed "
      "or pprof");
}

}  // namespace

Exported ToHeapV2(const HeapProfile& profile, Metric metric) {
  const absl::Status status = CheckAddresses(profile);
  if (!status.ok()) return status;
  const std::vector<Row> rows = RowsOf(profile, metric);
  std::string text = "heap profile: " + Text(SumOf(rows)) + " @ heap_v2/1\n";
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].IsEmpty()) continue;
    text += Text(rows[i]) + " " + AddressesOf(profile, profile.samples[i]) + "\n";
  }
  return OneFile(text + MappingsOf(profile));
}

Exported ToJemalloc(const HeapProfile& profile, Metric metric) {
  const absl::Status status = CheckAddresses(profile);
  if (!status.ok()) return status;
  const std::vector<Row> rows = RowsOf(profile, metric);
  std::string text = "heap_v2/1\n  t*: " + Text(SumOf(rows)) + "\n";
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].IsEmpty()) continue;
    text += AddressesOf(profile, profile.samples[i]) + "\n  t*: " + Text(rows[i]) + "\n";
  }
  return OneFile(text + MappingsOf(profile));
}

}  // namespace allomon::interchange
