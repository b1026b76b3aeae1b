#include "tools/heap/template_name.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace allomon::heap {
namespace {

// Deeper arguments are kept as they are: a hostile name cannot use up the stack.
constexpr int kMostDepth = 32;

bool StartsWith(std::string_view text, std::string_view head) {
  return text.substr(0, head.size()) == head;
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// The nesting of brackets at the characters of a name, read from its start.
class Nesting {
 public:
  // True if the character is outside of all brackets, and none itself.
  bool IsOutside(char c) {
    const char before = before_;
    before_ = c;
    switch (c) {
      case '<':
      case '(':
      case '[':
      case '{':
        ++depth_;
        return false;
      case '>':
        if (before == '-') return depth_ == 0;  // the arrow of a return type
        [[fallthrough]];
      case ')':
      case ']':
      case '}':
        depth_ -= depth_ > 0 ? 1 : 0;
        return false;
      default:
        return depth_ == 0;
    }
  }
  int depth() const { return depth_; }

 private:
  int depth_ = 0;
  char before_ = 0;
};

// Returns the position after the bracket that closes the one at `open`, or `npos`.
size_t AfterClosing(std::string_view text, size_t open) {
  Nesting nesting;
  for (size_t i = open; i < text.size(); ++i) {
    nesting.IsOutside(text[i]);
    if (nesting.depth() == 0) return i + 1;
  }
  return std::string_view::npos;
}

std::vector<std::string_view> ListOf(std::string_view arguments) {
  std::vector<std::string_view> list;
  Nesting nesting;
  size_t begin = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!nesting.IsOutside(arguments[i]) || arguments[i] != ',') continue;
    list.push_back(Trimmed(arguments.substr(begin, i - begin)));
    begin = i + 1;
  }
  list.push_back(Trimmed(arguments.substr(begin)));
  return list;
}

// Arguments that the standard library's templates have by default.
bool IsDefault(std::string_view argument) {
  static constexpr std::array<std::string_view, 7> kHeads = {"std::allocator<",
                                                             "std::char_traits<",
                                                             "std::less<",
                                                             "std::hash<",
                                                             "std::equal_to<",
                                                             "std::default_delete<",
                                                             "absl::hash_internal::Hash<"};
  return std::any_of(kHeads.begin(), kHeads.end(),
                     [argument](std::string_view head) { return StartsWith(argument, head); });
}

// Writes a type without its default arguments.
class SourceWriter {
 public:
  explicit SourceWriter(std::string_view text) : text_(text), closing_(text.size(), kNone) {
    std::vector<size_t> open;
    Nesting nesting;
    for (size_t i = 0; i < text.size(); ++i) {
      const int before = nesting.depth();
      nesting.IsOutside(text[i]);
      if (nesting.depth() > before) open.push_back(i);
      if (nesting.depth() < before) {
        closing_[open.back()] = i;
        open.pop_back();
      }
    }
  }

  std::string Write() const { return Part(0, text_.size(), 0); }

 private:
  static constexpr size_t kNone = std::string_view::npos;

  // The `<` of "<lambda()>" and of operators follows no name.
  bool IsList(size_t i, size_t begin) const {
    return text_[i] == '<' && i > begin && text_[i - 1] != ':' && text_[i - 1] != ' ' &&
           closing_[i] != kNone;
  }

  std::string Part(size_t begin, size_t end, int depth) const {
    if (depth > kMostDepth) return std::string(text_.substr(begin, end - begin));
    std::string result;
    for (size_t i = begin; i < end; ++i) {
      result += text_[i];
      if (!IsList(i, begin)) continue;
      result += Arguments(i + 1, closing_[i], depth + 1) + ">";
      i = closing_[i];
    }
    return result;
  }

  std::string Arguments(size_t begin, size_t end, int depth) const {
    std::string text;
    for (const std::string_view argument : ListOf(text_.substr(begin, end - begin))) {
      if (!text.empty() && IsDefault(argument)) continue;
      const auto at = static_cast<size_t>(argument.data() - text_.data());
      text += (text.empty() ? "" : ", ") + Part(at, at + argument.size(), depth);
    }
    return text;
  }

  std::string_view text_;
  std::vector<size_t> closing_;  // by position of an opening bracket; kNone: not closed
};

}  // namespace

void ReplaceAll(std::string_view what, std::string_view with, std::string* text) {
  for (size_t at = 0; (at = text->find(what, at)) != std::string::npos; at += with.size()) {
    text->replace(at, what.size(), with);
  }
}

TemplateName TemplateNameOf(std::string_view text) {
  const size_t open = text.find('<');
  if (open == 0 || open == std::string_view::npos) return {text, {}};
  const size_t end = AfterClosing(text, open);
  if (end != text.size()) return {text, {}};
  return {text.substr(0, open), ListOf(text.substr(open + 1, end - open - 2))};
}

MemberName MemberNameOf(std::string_view bare) {
  Nesting nesting;
  MemberName member = {{}, bare};
  for (size_t i = 0; i + 1 < bare.size(); ++i) {
    if (!nesting.IsOutside(bare[i]) || bare.substr(i, 2) != "::") continue;
    member = {bare.substr(0, i), bare.substr(i + 2)};
    if (StartsWith(member.name, "operator")) break;  // its symbol may be a bracket
    ++i;
  }
  return member;
}

std::string SourceType(std::string_view type) {
  std::string text = SourceWriter(Trimmed(type)).Write();
  ReplaceAll("std::__cxx11::", "std::", &text);
  ReplaceAll("std::basic_string<char>", "std::string", &text);
  ReplaceAll("std::basic_string<wchar_t>", "std::wstring", &text);
  return text;
}

}  // namespace allomon::heap
