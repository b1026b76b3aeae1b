#include "tools/prof/writers.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <tuple>
#include <utility>

#include "tracker/formats/mlmon.h"
#include "tracker/formats/source_table.h"
#include "tracker/formats/write_file.h"
#include "tracker/names/base_name.h"

namespace allomon::prof {
namespace {

template <typename... Args>
std::string Format(const char* format, Args... args) {
  char text[160];
  snprintf(text, sizeof(text), format, args...);
  return text;
}

std::string NameOf(const Row& row) {
  return row.function != nullptr ? row.function->name : "<no symbol in " + row.program->path + ">";
}

uint64_t AddressOf(const Row& row) { return row.function != nullptr ? row.function->begin : 0; }

bool IsBefore(Order order, const Row& a, const Row& b) {
  const auto tie = [](const Row& row) { return std::make_tuple(NameOf(row), AddressOf(row)); };
  switch (order) {
    case Order::kTime:
      if (a.seconds != b.seconds) return a.seconds > b.seconds;
      return tie(a) < tie(b);
    case Order::kCalls:
      if (a.calls.value_or(0) != b.calls.value_or(0)) {
        return a.calls.value_or(0) > b.calls.value_or(0);
      }
      return tie(a) < tie(b);
    case Order::kAddress:
      if (AddressOf(a) != AddressOf(b)) return AddressOf(a) < AddressOf(b);
      return NameOf(a) < NameOf(b);
    case Order::kName:
      break;
  }
  return tie(a) < tie(b);
}

std::string AddressCell(const Row& row, AddressBase base) {
  const auto address = static_cast<unsigned long>(AddressOf(row));
  switch (base) {
    case AddressBase::kNone:
      return "";
    case AddressBase::kOctal:
      return Format("%12lo ", address);
    case AddressBase::kHexadecimal:
      break;
  }
  return Format("%12lx ", address);
}

std::string CallCells(const Row& row) {
  if (!row.calls || *row.calls == 0) return Format("%10s %11s", row.calls ? "0" : "", "");
  const auto calls = static_cast<unsigned long>(*row.calls);
  return Format("%10lu %11.4f", calls, row.seconds * 1000 / static_cast<double>(calls));
}

std::string FormatRow(const Row& row, double all_seconds, double* sum_seconds, AddressBase base) {
  *sum_seconds += row.seconds;
  const double percent = all_seconds > 0 ? 100 * row.seconds / all_seconds : 0;
  return AddressCell(row, base) + Format("%5.1f %8.2f %8.2f ", percent, row.seconds, *sum_seconds) +
         CallCells(row) + "  " + NameOf(row) + "\n";
}

std::string Heading(AddressBase base) {
  const std::string address = base == AddressBase::kNone ? "" : Format("%12s ", "Address");
  return address + "%Time  Seconds  Cumsecs     #Calls   msec/call  Name\n";
}

}  // namespace

std::string FormatTable(Charges charges, const Options& options) {
  std::sort(charges.rows.begin(), charges.rows.end(),
            [&](const Row& a, const Row& b) { return IsBefore(options.order, a, b); });
  std::string table = options.heading ? Heading(options.address) : "";
  double sum_seconds = 0;
  for (const Row& row : charges.rows) {
    const bool is_zero = row.seconds == 0 && row.calls.value_or(0) == 0;
    if (is_zero && !options.zeros) continue;
    table += FormatRow(row, charges.seconds, &sum_seconds, options.address);
  }
  return table;
}

namespace {

// Returns the number of decimals that show one tick.
int DecimalsOfTicks(const std::vector<MonRange>& ranges) {
  const uint32_t hz = ranges.empty() ? 1 : ranges[0].hz;
  return hz > 1000 ? 4 : hz > 100 ? 3 : 2;
}

}  // namespace

std::string FormatSummary(const std::vector<MonRange>& ranges, const Charges& charges,
                          const std::string& mon_file) {
  const int decimals = DecimalsOfTicks(ranges);
  std::string text = Format("prof: %.*f seconds in the ranges, %.*f elsewhere, %lu calls; ",
                            decimals, charges.seconds, decimals, charges.other_seconds,
                            static_cast<unsigned long>(charges.calls)) +
                     mon_file + "\n";
  for (size_t i = 0; i < ranges.size(); ++i) {
    const MonRange& range = ranges[i];
    text += Format("prof: range %zu: %lx to %lx, %zu cells of %u bytes, %u ticks a second, ", i + 1,
                   static_cast<unsigned long>(range.low - range.bias),
                   static_cast<unsigned long>(range.high - range.bias), range.cells.size(),
                   range.cell_bytes, range.hz) +
            Format("%zu of %u call counts%s\n", range.counts.size(), range.count_room,
                   range.counts_lost ? " (not enough)" : "");
  }
  return text;
}

namespace {

std::string PositionOf(const Row& row) {
  if (row.function == nullptr) return "";
  char offset[32];
  snprintf(offset, sizeof(offset), ": 0x%lx", static_cast<unsigned long>(row.function->begin));
  return BaseName(row.program->path) + offset;
}

// Functions are charged with parts of ticks.  The sums are rounded, and each function takes the
// difference of two of them, so that the parts add up to the rounded whole.
class Rounder {
 public:
  MlmonInt Next(double amount) {
    sum_ += amount;
    const auto whole = static_cast<int64_t>(std::llround(sum_));
    return whole - std::exchange(given_, whole);
  }

 private:
  double sum_ = 0;
  int64_t given_ = 0;
};

}  // namespace

bool WriteMlmon(const Charges& charges, bool counts, const std::string& path, std::string* error) {
  SourceTable table = FixedSourceTable();
  Mlmon mlmon;
  mlmon.kind = counts ? ProfileKind::kCount : ProfileKind::kTime;
  mlmon.splits.resize(table.sources.size());
  Rounder ticks;
  for (const Row& row : charges.rows) {
    const MlmonInt amount =
        counts ? static_cast<MlmonInt>(row.calls.value_or(0)) : ticks.Next(row.seconds * 100);
    mlmon.total += amount;
    if (row.function == nullptr) {
      mlmon.splits[kUnknownSource].current += amount;
      continue;
    }
    table.sources.push_back({static_cast<uint32_t>(table.names.size()), kNoSuccessors});
    table.names.push_back({SanitizedName(row.function->name), SanitizedPosition(PositionOf(row))});
    mlmon.splits.push_back({amount, 0, 0});
  }
  mlmon.masters = mlmon.splits;  // every function is one source with one name
  table.magic = ContentMagic(table);
  mlmon.magic = table.magic;
  const std::string stub = FormatSourcesStub(table);
  const std::string file = FormatMlmon(mlmon);
  return WriteFilesAtomically({{path + ".sources", stub, 0700}, {path, file, kPrivateMode}}, error);
}

}  // namespace allomon::prof
