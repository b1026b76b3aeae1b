// The command prof(1) of System V, as a function.
#ifndef ALLOMON_TOOLS_PROF_PROF_H_
#define ALLOMON_TOOLS_PROF_PROF_H_

#include <string>
#include <vector>

namespace allomon::prof {

// ---- The command line of prof.

inline constexpr char kUsage[] =
    "usage: prof [-tcan] [-ox] [-ghsz] [-m mon.out] [--mlmon=FILE [--counts]] [program "
    "[library ...]]";

inline constexpr char kHelp[] =
    "  Shows what mon.out says about a program (a.out): times and calls of its functions.\n"
    "  -t -c -a -n     by time (default), calls, address, name\n"
    "  -o -x           addresses too, in octal, hexadecimal\n"
    "  -g -z           static functions too; functions without time and calls too\n"
    "  -h -s           no heading; on standard error, how the profile was taken\n"
    "  -m FILE         instead of mon.out\n"
    "  --mlmon=FILE    writes the times as mlmon.out into FILE instead; --counts: the calls\n"
    "  --help --version\n"
    "  Status 0: shown; 1: bad input, and one line on standard error says which.\n";

enum class Order { kTime, kCalls, kAddress, kName };
enum class AddressBase { kNone, kOctal, kHexadecimal };

struct Options {
  Order order = Order::kTime;
  AddressBase address = AddressBase::kNone;
  bool statics = false;  // -g
  bool zeros = false;    // -z
  bool heading = true;   // not with -h
  bool summary = false;  // -s
  std::string mon_file = "mon.out";
  std::string mlmon_file;  // --mlmon: convert instead of showing
  bool mlmon_counts = false;
  std::vector<std::string> programs;  // at least one
};

// Letters may stand together (-tg).  On failure returns false, and *error is one line.
bool ParseOptions(const std::vector<std::string>& args, Options* options, std::string* error);

struct Result {
  bool success = false;
  std::string out;  // for standard output; empty on failure
  std::string err;  // for standard error, whole lines: warnings, and the -s summary
};

// Runs `prof` with these arguments, the command's name excluded.  README.md is the manual.
Result RunProf(const std::vector<std::string>& args);

}  // namespace allomon::prof

#endif  // ALLOMON_TOOLS_PROF_PROF_H_
