#include "tools/mlprof/keep.h"
#include "tools/mlprof/sexp.h"
#include "tools/text/numbers.h"

namespace allomon::mlprof {
namespace {

using Op = KeepExpression::Op;

enum class Args { kAny, kOne, kPercent };

struct Operator {
  std::string_view name;
  Op op;
  Args args;
};

constexpr Operator kOperators[] = {
    {"and", Op::kAnd, Args::kAny},
    {"or", Op::kOr, Args::kAny},
    {"not", Op::kNot, Args::kOne},
    {"from", Op::kFrom, Args::kOne},
    {"to", Op::kTo, Args::kOne},
    {"pred", Op::kPred, Args::kOne},
    {"succ", Op::kSucc, Args::kOne},
    {"thresh", Op::kThresh, Args::kPercent},
    {"thresh-gc", Op::kThreshGc, Args::kPercent},
    {"thresh-stack", Op::kThreshStack, Args::kPercent},
};

bool Convert(const Sexp& sexp, KeepExpression* keep, std::string* error);

const Operator* FindOperator(const Sexp& list) {
  if (list.items.empty() || list.items[0].kind != Sexp::Kind::kAtom) {
    return nullptr;
  }
  for (const Operator& candidate : kOperators) {
    if (candidate.name == list.items[0].text) return &candidate;
  }
  return nullptr;
}

bool ConvertPercent(const Sexp& list, KeepExpression* keep) {
  return list.items.size() == 2 && list.items[1].kind == Sexp::Kind::kAtom &&
         ScanReal(list.items[1].text, &keep->percent) && IsThreshold(keep->percent);
}

// True if the list is well formed as far as can be seen without its arguments.
bool ConvertHead(const Sexp& list, const Operator& op, KeepExpression* keep) {
  keep->op = op.op;
  switch (op.args) {
    case Args::kAny:
      return true;
    case Args::kOne:
      return list.items.size() == 2;
    case Args::kPercent:
      return ConvertPercent(list, keep);
  }
  return false;
}

bool ConvertList(const Sexp& list, KeepExpression* keep, std::string* error) {
  const Operator* op = FindOperator(list);
  if (op == nullptr || !ConvertHead(list, *op, keep)) {
    *error = FormatSexp(list);
    return false;
  }
  if (op->args == Args::kPercent) return true;
  for (size_t i = 1; i < list.items.size(); ++i) {
    if (!Convert(list.items[i], &keep->args.emplace_back(), error)) {
      return false;
    }
  }
  return true;
}

bool ConvertString(const Sexp& sexp, KeepExpression* keep) {
  keep->op = Op::kName;
  keep->regexp = Regexp::Compile(sexp.text);
  return keep->regexp.has_value();
}

// The error shows the smallest wrong expression.  The recursion is as deep as the Sexp, whose depth
// is limited.
bool Convert(const Sexp& sexp, KeepExpression* keep, std::string* error) {
  if (sexp.kind == Sexp::Kind::kList) return ConvertList(sexp, keep, error);
  keep->op = Op::kAll;
  const bool valid =
      sexp.kind == Sexp::Kind::kString ? ConvertString(sexp, keep) : sexp.text == "all";
  if (!valid) *error = FormatSexp(sexp);
  return valid;
}

}  // namespace

bool IsThreshold(double percent) { return 0 <= percent && percent <= 100; }

KeepExpression Threshold(double percent) {
  KeepExpression keep;
  keep.op = Op::kThresh;
  keep.percent = percent;
  return keep;
}

bool ParseKeep(std::string_view text, KeepExpression* keep, std::string* error) {
  *keep = KeepExpression();
  Sexp sexp;
  return ParseSexp(text, &sexp, error) && Convert(sexp, keep, error);
}

}  // namespace allomon::mlprof
