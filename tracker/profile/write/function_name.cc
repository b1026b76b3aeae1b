#include "tracker/profile/write/function_name.h"

namespace allomon {
namespace {

constexpr size_t kNone = std::string_view::npos;

// Cuts " [with T = int]" (g++) or " [T = int]" (clang++) off the signature, and returns it as " [T
// = int]".
std::string CutTemplateArguments(std::string_view* signature) {
  const size_t bracket = signature->rfind(" [");
  if (bracket == kNone || signature->back() != ']') return "";
  std::string arguments(signature->substr(bracket + 2));
  *signature = signature->substr(0, bracket);
  if (arguments.rfind("with ", 0) == 0) arguments.erase(0, 5);
  return " [" + arguments;
}

// Returns the index of the '(' that belongs to the last ')' of the text.
size_t OpeningParenthesis(std::string_view text) {
  int depth = 0;
  for (size_t i = text.rfind(')'); i != kNone && i < text.size(); --i) {
    if (text[i] == ')') ++depth;
    if (text[i] == '(' && --depth == 0) return i;
  }
  return kNone;
}

// Returns the index at which the qualified name starts: after the last space that is not inside
// brackets.
size_t NameStart(std::string_view head) {
  int depth = 0;
  for (size_t i = head.size(); i-- > 0;) {
    const char c = head[i];
    if (c == '>' || c == ')' || c == '}') ++depth;
    if (c == '<' || c == '(' || c == '{') --depth;
    if (c == ' ' && depth == 0) return i + 1;
  }
  return 0;
}

// Anonymous namespaces are removed.  Functions with equal names are told apart by their positions.
std::string WithoutAnonymous(std::string name) {
  for (const std::string_view qualifier : {"{anonymous}::", "(anonymous namespace)::"}) {
    for (size_t at; (at = name.find(qualifier)) != std::string::npos;) {
      name.erase(at, qualifier.size());
    }
  }
  return name;
}

std::string NameWithin(std::string_view signature);

}  // namespace

std::string FunctionNameOf(std::string_view signature) {
  return WithoutAnonymous(NameWithin(signature));
}

namespace {

std::string NameWithin(std::string_view signature) {
  const std::string_view whole = signature;
  const std::string arguments = CutTemplateArguments(&signature);
  // The names of operators contain characters that the parser searches for; lambdas have no name to
  // cut out.
  if (signature.find("operator") != kNone || (!signature.empty() && signature.back() == '>')) {
    return std::string(whole);
  }
  const size_t open = OpeningParenthesis(signature);
  if (open == kNone || open == 0) return std::string(whole);
  std::string_view name = signature.substr(0, open);
  name = name.substr(NameStart(name));
  // The '*' or '&' of a function that returns a pointer or reference stands directly before the
  // name.
  while (!name.empty() && (name[0] == '*' || name[0] == '&')) name = name.substr(1);
  if (name.empty()) return std::string(whole);
  return std::string(name) + arguments;
}

}  // namespace
}  // namespace allomon
