#include "tools/prof/prof.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "tools/mlmon/load_profile.h"
#include "tools/prof/charge.h"
#include "tracker/formats/mlmon.h"
#include "tracker/formats/scan.h"
#include "tracker/formats/source_table.h"
#include "tracker/formats/version.h"
#include "tracker/formats/write_file.h"
#include "tracker/names/base_name.h"

namespace allomon::prof {
namespace {

bool Fail(const std::string& what, std::string* error) {
  *error = what + "; " + kUsage;
  return false;
}

class Parser {
 public:
  Parser(const std::vector<std::string>& args, Options* options, std::string* error)
      : args_(args), options_(options), error_(error) {}

  bool Parse() {
    while (next_ < args_.size() && args_[next_].size() > 1 && args_[next_][0] == '-') {
      const std::string& arg = args_[next_++];
      if (arg == "--") break;
      if (!(arg[1] == '-' ? ParseLong(arg) : ParseLetters(arg))) return false;
    }
    options_->programs.assign(args_.begin() + static_cast<std::ptrdiff_t>(next_), args_.end());
    if (options_->programs.empty()) options_->programs.push_back("a.out");
    if (options_->mlmon_counts && options_->mlmon_file.empty()) {
      return Fail("--counts belongs to --mlmon=FILE", error_);
    }
    return true;
  }

 private:
  bool ParseLong(const std::string& arg) {
    constexpr std::string_view kMlmon = "--mlmon=";
    if (arg.compare(0, kMlmon.size(), kMlmon) == 0 && arg.size() > kMlmon.size()) {
      options_->mlmon_file = arg.substr(kMlmon.size());
      return true;
    }
    if (arg == "--counts") return options_->mlmon_counts = true;
    return Fail("unknown option " + arg, error_);
  }

  bool ParseLetters(const std::string& arg) {
    for (size_t i = 1; i < arg.size(); ++i) {
      if (arg[i] == 'm') return TakeMonFile(arg.substr(i + 1));
      if (!ParseLetter(arg[i])) return false;
    }
    return true;
  }

  bool TakeMonFile(std::string rest) {
    if (rest.empty() && next_ < args_.size()) rest = args_[next_++];
    if (rest.empty()) return Fail("-m needs the name of a file", error_);
    options_->mon_file = rest;
    return true;
  }

  bool ParseLetter(char letter) {
    switch (letter) {
      case 't':
        return SetOrder(Order::kTime, letter);
      case 'c':
        return SetOrder(Order::kCalls, letter);
      case 'a':
        return SetOrder(Order::kAddress, letter);
      case 'n':
        return SetOrder(Order::kName, letter);
      case 'o':
        return SetBase(AddressBase::kOctal);
      case 'x':
        return SetBase(AddressBase::kHexadecimal);
      case 'g':
        return options_->statics = true;
      case 'z':
        return options_->zeros = true;
      case 's':
        return options_->summary = true;
      case 'h':
        options_->heading = false;
        return true;
      default:
        return Fail(std::string("unknown option -") + letter, error_);
    }
  }

  bool SetOrder(Order order, char letter) {
    if (order_letter_ && *order_letter_ != letter) {
      return Fail(std::string("-") + *order_letter_ + " and -" + letter + " exclude each other",
                  error_);
    }
    order_letter_ = letter;
    options_->order = order;
    return true;
  }

  bool SetBase(AddressBase base) {
    if (options_->address != AddressBase::kNone && options_->address != base) {
      return Fail("-o and -x exclude each other", error_);
    }
    options_->address = base;
    return true;
  }

  const std::vector<std::string>& args_;
  Options* const options_;
  std::string* const error_;
  size_t next_ = 0;
  std::optional<char> order_letter_;
};

// ---- Formats the report.

// ---- Turns charges into MLton's mlmon.out, for mlprof and the reports.

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

std::string Decimal(MlmonInt number) {
  std::string text;
  internal::AppendDecimal(number, &text);
  return text;
}

std::string CallCells(const Row& row) {
  if (!row.calls || *row.calls == 0) return Format("%10s %11s", row.calls ? "0" : "", "");
  return Format("%10s %11.4f", Decimal(*row.calls).c_str(),
                row.seconds * 1000 / static_cast<double>(*row.calls));
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

// Sorts the rows by options.order (equal ones by name, then by address) and shows them.  Rows
// without time and calls are shown only with -z.
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

// Returns the number of decimals that show one tick.
int DecimalsOfTicks(const std::vector<MonRange>& ranges) {
  const uint32_t hz = ranges.empty() ? 1 : ranges[0].hz;
  return hz > 1000 ? 4 : hz > 100 ? 3 : 2;
}

// Returns the text of -s: how the profile was taken.
std::string FormatSummary(const std::vector<MonRange>& ranges, const Charges& charges,
                          const std::string& mon_file) {
  const int decimals = DecimalsOfTicks(ranges);
  double seconds = 0;  // cells may be full, or missing, and say less
  for (const MonRange& range : ranges) seconds += static_cast<double>(range.ticks) / range.hz;
  std::string text =
      Format("prof: %.*f seconds in the ranges, %.*f elsewhere, %s calls; ", decimals, seconds,
             decimals, charges.other_seconds, Decimal(charges.calls).c_str()) +
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

// Writes `path`, and `path`.sources, which answers mlprof for the program.  The counts are ticks of
// 1/100 second, or with `counts` the calls.  On failure returns false, and *error is one line.
bool WriteMlmon(const Charges& charges, bool counts, const std::string& path, std::string* error) {
  SourceTable table = FixedSourceTable();
  Mlmon mlmon;
  mlmon.kind = counts ? ProfileKind::kCount : ProfileKind::kTime;
  mlmon.splits.resize(table.sources.size());
  Rounder ticks;
  for (const Row& row : charges.rows) {
    const MlmonInt amount = counts ? row.calls.value_or(0) : ticks.Next(row.seconds * 100);
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
  if (!IsReplacedByWriting(path)) {
    *error = path + " is not a file, and a second one belongs beside it: name a file";
    return false;
  }
  return WriteFilesAtomically({{path + ".sources", stub, 0700}, {path, file, kPrivateMode}}, error);
}

Result Failure(const std::string& error) { return {false, "", "prof: " + error + "\n"}; }

// Looks for an option before `--`; all arguments after it are programs.
bool Has(const std::vector<std::string>& args, const char* option) {
  const auto end = std::find(args.begin(), args.end(), "--");
  return std::find(args.begin(), end, option) != end;
}

bool ReadMon(const std::string& path, std::vector<MonRange>* ranges, std::string* error) {
  std::string contents;
  mlprof::ReadFailure failure;
  if (!mlprof::ReadFile(path, &contents, &failure)) {
    *error = "cannot read " + path + ": " + strerror(failure.error) +
             "; run the program, or name its file with -m";
    return false;
  }
  if (ParseMon(contents, ranges, error)) return true;
  *error = path + " is " + *error;
  return false;
}

std::string WarningsOf(const std::vector<MonRange>& ranges, const std::string& mon_file) {
  bool saturated = false;
  bool has_no_cells = false;
  bool counts_lost = false;
  for (const MonRange& range : ranges) {
    saturated |= range.saturated;
    has_no_cells |= range.cells.empty() && range.ticks > 0;
    counts_lost |= range.counts_lost;
  }
  std::string text;
  if (saturated) {
    text += "prof: " + mon_file +
            ": cells are full, so busy functions show too little time; "
            "sample with monitor_hz() below what it was\n";
  }
  if (has_no_cells) {
    text += "prof: " + mon_file +
            ": a range has no cells, so its functions show no time; "
            "give monitor() a larger buffer\n";
  }
  if (counts_lost) {
    text += "prof: " + mon_file +
            ": more functions were called than nfunc, the rarest have no "
            "count; give monitor() a larger nfunc\n";
  }
  return text;
}

}  // namespace

bool ParseOptions(const std::vector<std::string>& args, Options* options, std::string* error) {
  return Parser(args, options, error).Parse();
}

Result RunProf(const std::vector<std::string>& args) {
  if (Has(args, "--help")) return {true, std::string(kUsage) + "\n" + kHelp, ""};
  if (Has(args, "--version")) return {true, std::string("prof ") + kVersion + "\n", ""};
  Options options;
  std::string error;
  if (!ParseOptions(args, &options, &error)) return Failure(error);
  std::vector<MonRange> ranges;
  if (!ReadMon(options.mon_file, &ranges, &error)) return Failure(error);
  std::vector<Program> programs(options.programs.size());
  for (size_t i = 0; i < programs.size(); ++i) {
    if (!ReadProgram(options.programs[i], &programs[i], &error)) return Failure(error);
  }
  Charges charges;
  if (!Charge(ranges, programs, options.statics, options.mon_file, &charges, &error)) {
    return Failure(error);
  }
  Result result{true, "", WarningsOf(ranges, options.mon_file)};
  if (options.summary) result.err += FormatSummary(ranges, charges, options.mon_file);
  if (options.mlmon_file.empty()) {
    result.out = FormatTable(std::move(charges), options);
  } else if (!WriteMlmon(charges, options.mlmon_counts, options.mlmon_file, &error)) {
    return Failure(error);
  }
  return result;
}

}  // namespace allomon::prof
