// Takes demangled C++ names apart: scopes, template arguments, types as people write them.
//
// Pure functions.  Results point into the argument unless they are strings.  Time: the length times
// the depth of the template arguments, of which 32 levels are looked into.
#ifndef ALLOMON_TOOLS_HEAP_TEMPLATE_NAME_H_
#define ALLOMON_TOOLS_HEAP_TEMPLATE_NAME_H_

#include <string>
#include <string_view>
#include <vector>

namespace allomon::heap {

// "std::vector<int, A<int> >" is a template "std::vector" with the arguments "int" and "A<int>".
struct TemplateName {
  std::string_view name;
  std::vector<std::string_view> arguments;  // empty: no template

  std::string_view Argument(size_t number) const {
    return number < arguments.size() ? arguments[number] : std::string_view();
  }
};
TemplateName TemplateNameOf(std::string_view text);

// "std::vector<int>::push_back" is the function "push_back" of the class "std::vector<int>".
struct MemberName {
  std::string_view scope;  // empty: none
  std::string_view name;
};
// `bare` has neither return type nor parameters (BareName() in tracker/names/wrappers.h).
MemberName MemberNameOf(std::string_view bare);

// Replaces each `what` in the text.
void ReplaceAll(std::string_view what, std::string_view with, std::string* text);

// Returns the type as its source has it: "std::vector<int>", "std::string".  The arguments that
// the standard library fills in are left out.
std::string SourceType(std::string_view type);

}  // namespace allomon::heap

#endif  // ALLOMON_TOOLS_HEAP_TEMPLATE_NAME_H_
