#include "tools/prof/prof.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tools/mlmon/read_file.h"
#include "tools/prof/charge.h"
#include "tools/prof/options.h"
#include "tools/prof/writers.h"
#include "tracker/formats/version.h"

namespace allomon::prof {
namespace {

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
  bool counts_lost = false;
  for (const MonRange& range : ranges) {
    saturated |= range.saturated;
    counts_lost |= range.counts_lost;
  }
  std::string text;
  if (saturated) {
    text += "prof: " + mon_file +
            ": cells are full, so busy functions show too little time; "
            "sample with monitor_hz() below what it was\n";
  }
  if (counts_lost) {
    text += "prof: " + mon_file +
            ": more functions were called than nfunc, the rarest have no "
            "count; give monitor() a larger nfunc\n";
  }
  return text;
}

}  // namespace

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
