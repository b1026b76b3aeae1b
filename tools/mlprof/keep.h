#ifndef ALLOMON_TOOLS_MLPROF_KEEP_H_
#define ALLOMON_TOOLS_MLPROF_KEEP_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/mlprof/profile_view.h"
#include "tools/text/regexp.h"

namespace allomon::mlprof {

// The expression of -keep, which selects the sources that are shown.
struct KeepExpression {
  enum class Op {
    kAll,
    kAnd,          // sources in all args; without args every source
    kOr,           // sources in any of args; without args no source
    kNot,          // sources that the argument leaves out; kNot to kSucc have one argument
    kFrom,         // the argument's sources, and those that calls from them reach
    kTo,           // the argument's sources, and those from which calls reach them
    kPred,         // the argument's sources and their callers
    kSucc,         // the argument's sources and their callees
    kName,         // sources with a full name that `regexp` matches
    kThresh,       // sources with at least `percent` in the column cur
    kThreshStack,  // in the column stack
    kThreshGc,     // in the column GC
  };

  Op op = Op::kAll;
  std::vector<KeepExpression> args;
  std::optional<Regexp> regexp;
  double percent = 0;
};

// True if a threshold may have this `percent`.
bool IsThreshold(double percent);

KeepExpression Threshold(double percent);

// On failure returns false and sets `error` to mlprof's text after `Fail: `.
bool ParseKeep(std::string_view text, KeepExpression* keep, std::string* error);

// Returns for each source whether it is kept.  The cost of each operator of the expression is
// linear in the call graph.
std::vector<bool> KeptSources(const KeepExpression& keep, const ProfileView& view);

}  // namespace allomon::mlprof

#endif  // ALLOMON_TOOLS_MLPROF_KEEP_H_
