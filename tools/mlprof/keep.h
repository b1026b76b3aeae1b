#ifndef ALLOMON_TOOLS_MLPROF_KEEP_H_
#define ALLOMON_TOOLS_MLPROF_KEEP_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/mlprof/profile_view.h"
#include "tools/mlprof/regexp.h"

namespace allomon::mlprof {

// Which sources to show: the expression of -keep.
struct KeepExpression {
  enum class Op {
    kAll,
    kAnd,          // all of args; of none: everything
    kOr,           // some of args; of none: nothing
    kNot,          // what its argument leaves out; one argument, down to kSucc
    kFrom,         // reachable from it by calls, itself included
    kTo,           // from where it is reachable, itself included
    kPred,         // it and its callers
    kSucc,         // it and its callees
    kName,         // `regexp` matches the full name
    kThresh,       // at least `percent` in the column cur,
    kThreshStack,  // stack,
    kThreshGc,     // GC
  };

  Op op = Op::kAll;
  std::vector<KeepExpression> args;
  std::optional<Regexp> regexp;
  double percent = 0;
};

// True if `percent` is one that a threshold may have.
bool IsThreshold(double percent);

KeepExpression Threshold(double percent);

// On failure returns false and sets `error` to what mlprof says after `Fail: `.
bool ParseKeep(std::string_view text, KeepExpression* keep, std::string* error);

// For each source whether to keep it.  Linear in the call graph for each
// operator of the expression.
std::vector<bool> KeptSources(const KeepExpression& keep, const ProfileView& view);

}  // namespace allomon::mlprof

#endif  // ALLOMON_TOOLS_MLPROF_KEEP_H_
