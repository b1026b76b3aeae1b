#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tools/mlprof/keep.h"
#include "tools/text/numbers.h"
#include "tracker/formats/scan.h"

namespace allomon::mlprof {
namespace {

// The notation of -keep: (lists of things), "strings" and atoms.  A semicolon outside a string
// starts a comment that ends with the line; in a string a backslash makes the next character an
// ordinary one.
struct Sexp {
  enum class Kind { kAtom, kString, kList };

  // Deeper nesting is refused, so that functions over a Sexp may recurse.
  static constexpr int kMaxDepth = 500;

  Kind kind = Kind::kAtom;
  std::string text;         // of an atom or a string, without quotes
  std::vector<Sexp> items;  // of a list
};

class Parser {
 public:
  Parser(std::string_view text, std::string* error) : rest_(text), error_(error) {}

  bool Parse(Sexp* sexp) {
    SkipBlanksAndComments();
    if (rest_.empty()) return Fail("empty");
    return Expression(sexp);
  }

 private:
  bool Fail(const char* message) {
    *error_ = message;
    return false;
  }

  char Take() {
    char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  // A comment without an end of line ends with the text.
  void SkipBlanksAndComments() {
    while (!rest_.empty()) {
      if (rest_.front() == ';') {
        rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
      } else if (internal::IsSpace(rest_.front())) {
        rest_.remove_prefix(1);
      } else {
        return;
      }
    }
  }

  // The place must be the first character of an expression.
  bool Expression(Sexp* sexp) {
    switch (rest_.front()) {
      case '(':
        return List(sexp);
      case ')':
        return Fail("unmatched )");
      case '"':
        return String(sexp);
      default:
        Atom(sexp);
        return true;
    }
  }

  bool List(Sexp* sexp) {
    if (++depth_ > Sexp::kMaxDepth) return Fail("nested too deeply");
    Take();
    sexp->kind = Sexp::Kind::kList;
    for (SkipBlanksAndComments(); !rest_.empty(); SkipBlanksAndComments()) {
      if (rest_.front() == ')') {
        Take();
        --depth_;
        return true;
      }
      if (!Expression(&sexp->items.emplace_back())) return false;
    }
    return Fail("unmatched (");
  }

  bool String(Sexp* sexp) {
    Take();
    sexp->kind = Sexp::Kind::kString;
    while (!rest_.empty()) {
      char c = Take();
      if (c == '"') return true;
      if (c == '\\') {
        if (rest_.empty()) break;
        c = Take();
      }
      sexp->text.push_back(c);
    }
    return Fail("eof in middle of string");
  }

  void Atom(Sexp* sexp) {
    sexp->kind = Sexp::Kind::kAtom;
    while (!rest_.empty() && !internal::IsSpace(rest_.front()) &&
           std::string_view("()\";").find(rest_.front()) == std::string_view::npos) {
      sexp->text.push_back(Take());
    }
  }

  std::string_view rest_;
  std::string* error_;
  int depth_ = 0;
};

void AppendQuoted(std::string_view text, std::string* out) {
  out->push_back('"');
  for (char c : text) {
    if (c == '"' || c == '\\') out->push_back(c);
    out->push_back(c);
  }
  out->push_back('"');
}

void AppendSexp(const Sexp& sexp, std::string* out) {
  switch (sexp.kind) {
    case Sexp::Kind::kAtom:
      out->append(sexp.text);
      return;
    case Sexp::Kind::kString:
      AppendQuoted(sexp.text, out);
      return;
    case Sexp::Kind::kList:
      out->push_back('(');
      for (size_t i = 0; i < sexp.items.size(); ++i) {
        if (i > 0) out->push_back(' ');
        AppendSexp(sexp.items[i], out);
      }
      out->push_back(')');
      return;
  }
}

// Reads the first expression of `text` and ignores the rest.  On failure returns false and sets
// `error` to mlprof's words.
bool ParseSexp(std::string_view text, Sexp* sexp, std::string* error) {
  *sexp = Sexp();
  return Parser(text, error).Parse(sexp);
}

// Returns the expression on one line, as mlprof prints it: quotes and backslashes in a string are
// doubled.
std::string FormatSexp(const Sexp& sexp) {
  std::string out;
  AppendSexp(sexp, &out);
  return out;
}

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
