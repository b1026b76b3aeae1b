#ifndef ALLOMON_TOOLS_MLPROF_KEEP_H_
#define ALLOMON_TOOLS_MLPROF_KEEP_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/mlprof/profile_view.h"
#include "tools/text/regexp.h"

namespace allomon::mlprof {

// The expression of -keep: which sources are shown.
struct KeepExpression {
  enum class Op {
    kAll,
    kAnd,          // sources of all args; of none: every source
    kOr,           // sources of any of args; of none: no source
    kNot,          // sources that the argument leaves out; kNot to kSucc have one argument
    kFrom,         // sources that calls reach from the argument's, and these
    kTo,           // sources from which calls reach the argument's, and these
    kPred,         // the argument's sources and their callers
    kSucc,         // the argument's sources and their callees
    kName,         // sources whose full name `regexp` matches
    kThresh,       // sources with at least `percent` in the column cur
    kThreshStack,  // in the column stack
    kThreshGc,     // in the column GC
  };

  Op op = Op::kAll;
  std::vector<KeepExpression> args;
  std::optional<Regexp> regexp;
  double percent = 0;
};

// Whether a threshold may have this `percent`.
bool IsThreshold(double percent);

KeepExpression Threshold(double percent);

// On failure returns false and sets `error` to what mlprof says after `Fail: `.
bool ParseKeep(std::string_view text, KeepExpression* keep, std::string* error);

// Says for each source whether it is kept.  The cost of each operator of the expression is linear
// in the call graph.
std::vector<bool> KeptSources(const KeepExpression& keep, const ProfileView& view);

}  // namespace allomon::mlprof

#endif  // ALLOMON_TOOLS_MLPROF_KEEP_H_
