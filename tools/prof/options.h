// The command line of prof.
#ifndef ALLOMON_TOOLS_PROF_OPTIONS_H_
#define ALLOMON_TOOLS_PROF_OPTIONS_H_

#include <string>
#include <vector>

namespace allomon::prof {

inline constexpr char kUsage[] =
    "usage: prof [-tcan] [-ox] [-ghsz] [-m mon.out] [--mlmon=FILE [--counts]] [program "
    "[library ...]]";

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

}  // namespace allomon::prof

#endif  // ALLOMON_TOOLS_PROF_OPTIONS_H_
