#ifndef ALLOMON_TOOLS_MLPROF_SEXP_H_
#define ALLOMON_TOOLS_MLPROF_SEXP_H_

#include <string>
#include <string_view>
#include <vector>

namespace allomon::mlprof {

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

// Reads the first expression of `text` and ignores the rest.  On failure returns false and sets
// `error` to mlprof's words.
bool ParseSexp(std::string_view text, Sexp* sexp, std::string* error);

// Returns the expression on one line, as mlprof prints it: quotes and backslashes in a string are
// doubled.
std::string FormatSexp(const Sexp& sexp);

}  // namespace allomon::mlprof

#endif  // ALLOMON_TOOLS_MLPROF_SEXP_H_
