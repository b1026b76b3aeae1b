#include "tools/mlprof/sexp.h"

#include <algorithm>

#include "tracker/formats/scan.h"

namespace allomon::mlprof {
namespace {

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

}  // namespace

bool ParseSexp(std::string_view text, Sexp* sexp, std::string* error) {
  *sexp = Sexp();
  return Parser(text, error).Parse(sexp);
}

std::string FormatSexp(const Sexp& sexp) {
  std::string out;
  AppendSexp(sexp, &out);
  return out;
}

}  // namespace allomon::mlprof
