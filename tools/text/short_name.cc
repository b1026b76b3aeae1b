#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "tools/text/names.h"

namespace allomon::report {
namespace {

constexpr size_t kMostBytes = 60;
constexpr size_t kMostArgumentBytes = 30;

constexpr std::string_view kOperator = "operator";
constexpr std::string_view kAnonymous = "(anonymous namespace)";

bool StartsAt(std::string_view text, size_t place, std::string_view word) {
  return text.substr(place, word.size()) == word;
}

// Returns the length of an operator's name at `place`: `operator<<`, `operator()`, the `operator`
// of `operator new` and so on.  Brackets within it are not brackets of the name.  0 if no operator
// begins there.
size_t OperatorBytes(std::string_view text, size_t place) {
  if (!StartsAt(text, place, kOperator)) return 0;
  if (place != 0 && text[place - 1] != ':' && text[place - 1] != ' ') return 0;
  const size_t symbol = place + kOperator.size();
  if (StartsAt(text, symbol, "()")) return kOperator.size() + 2;
  const size_t end = text.find_first_not_of("<>=-", symbol);
  return (end == std::string_view::npos ? text.size() : end) - place;
}

// A name split at its outermost brackets: the texts between them, such as `f<`, `>(` and `)`, and
// their contents.
struct Parts {
  std::vector<std::string> texts;  // one more than contents
  std::vector<std::string_view> contents;

  std::string Joined(const std::vector<std::string>& inside) const {
    std::string joined = texts[0];
    for (size_t i = 0; i < inside.size(); ++i) joined += inside[i] + texts[i + 1];
    return joined;
  }
  std::string Short() const {
    std::vector<std::string> inside;
    for (const std::string_view content : contents) inside.push_back(content.empty() ? "" : "...");
    return Joined(inside);
  }
};

enum class What { kFunction, kArgument };

std::string ShortArgument(std::string_view argument);

// Splits one name in one pass.
class Parser {
 public:
  Parser(std::string_view name, What what) : name_(name), has_name_(what == What::kArgument) {}

  // Returns nullopt if brackets do not pair.
  std::optional<Parts> Run() {
    CopyRustType();
    while (place_ < name_.size()) Step();
    if (depth_ != 0) return std::nullopt;
    return std::move(parts_);
  }

 private:
  void Step() {
    size_t bytes = OperatorBytes(name_, place_);
    if (depth_ == 0 && bytes != 0) has_name_ = true;
    if (bytes == 0 && StartsAt(name_, place_, kAnonymous)) bytes = kAnonymous.size();
    if (bytes != 0) return Copy(bytes);
    const char next = name_[place_];
    if (next == '<' || next == '(') return Open(next);
    if (next == '>' || next == ')') return Close(next);
    if (next == ' ' && depth_ == 0 && !has_name_) return DropWhatIsReturned();
    Copy(1);
  }

  void CopyRustType() {
    const auto parts = ParseRustName(name_);
    if (!parts) return;
    parts_.texts.back() = "<" + ShortArgument(parts->type) +
                          (parts->trait.empty() ? "" : " as " + ShortArgument(parts->trait)) + ">";
    has_name_ = true;
    place_ = name_.size() - parts->rest.size();
  }

  void Copy(size_t bytes) {
    if (depth_ == 0) parts_.texts.back() += name_.substr(place_, bytes);
    place_ += bytes;
  }

  void Open(char bracket) {
    ++place_;
    if (depth_++ > 0) return;
    parts_.texts.back() += bracket;
    open_ = place_;
    has_name_ |= bracket == '(';
  }

  void Close(char bracket) {
    if (depth_ == 0) return GiveUp();
    if (--depth_ == 0) {
      parts_.contents.push_back(name_.substr(open_, place_ - open_));
      parts_.texts.emplace_back(1, bracket);
    }
    ++place_;
  }

  // Drops the return type, which a blank separates from the name.
  void DropWhatIsReturned() {
    parts_.contents.clear();
    parts_.texts.assign(1, "");
    ++place_;
  }

  void GiveUp() {
    depth_ = 1;
    place_ = name_.size();
  }

  const std::string_view name_;
  size_t place_ = 0;
  size_t depth_ = 0;
  size_t open_ = 0;  // place after the outermost open bracket
  // True once the name was read, completely or up to an operator's: later blanks belong to it.
  bool has_name_;
  Parts parts_ = {{""}, {}};
};

std::string ShortArgument(std::string_view argument) {
  if (argument.size() <= kMostArgumentBytes) return std::string(argument);
  const auto parts = Parser(argument, What::kArgument).Run();
  return parts ? parts->Short() : std::string(argument);
}

// Splits `content` at the commas outside of its brackets.
std::vector<std::string_view> Arguments(std::string_view content) {
  std::vector<std::string_view> arguments;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < content.size(); ++i) {
    if (content[i] == '<' || content[i] == '(') ++depth;
    if (content[i] == '>' || content[i] == ')') --depth;
    if (content[i] != ',' || depth != 0) continue;
    arguments.push_back(content.substr(begin, i - begin));
    begin = i + (StartsAt(content, i, ", ") ? 2 : 1);
  }
  if (!content.empty()) arguments.push_back(content.substr(begin));
  return arguments;
}

bool AreAllEqual(const std::vector<std::string_view>& texts) {
  return std::adjacent_find(texts.begin(), texts.end(), std::not_equal_to<>()) == texts.end();
}

// True if different names have different texts.
bool AreApart(const std::vector<std::string_view>& names, const std::vector<std::string>& texts) {
  std::map<std::string_view, std::string_view> names_by_text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names_by_text.emplace(texts[i], names[i]).first->second != names[i]) return false;
  }
  return true;
}

std::vector<std::string> Copies(const std::vector<std::string_view>& names) {
  return {names.begin(), names.end()};
}

std::vector<std::string> KeptApart(const std::vector<std::string_view>& names, What what);

// Shortens the contents of one pair of brackets, in names that differ there.
std::vector<std::string> ContentsApart(const std::vector<std::string_view>& contents) {
  std::vector<std::vector<std::string_view>> arguments;
  for (const std::string_view content : contents) arguments.push_back(Arguments(content));
  std::vector<std::string> texts(contents.size());
  const size_t count = arguments[0].size();
  for (const auto& some : arguments) {
    if (some.size() != count) return Copies(contents);
  }
  bool follows_dots = false;
  for (size_t k = 0; k < count; ++k) {
    std::vector<std::string_view> column;
    for (const auto& some : arguments) column.push_back(some[k]);
    const bool is_equal = AreAllEqual(column);
    if (is_equal && follows_dots) continue;
    const std::vector<std::string> shown = is_equal ? std::vector<std::string>(column.size(), "...")
                                                    : KeptApart(column, What::kArgument);
    for (size_t i = 0; i < texts.size(); ++i) texts[i] += (k == 0 ? "" : ", ") + shown[i];
    follows_dots = is_equal;
  }
  return texts;
}

// Returns short texts of names that differ; whole names if shorter ones would be equal.
std::vector<std::string> KeptApart(const std::vector<std::string_view>& names, What what) {
  std::vector<std::string> texts;
  std::vector<Parts> parts;
  for (const std::string_view name : names) {
    const auto part = Parser(name, what).Run();
    if (!part) return Copies(names);
    parts.push_back(*part);
    texts.push_back(what == What::kArgument ? ShortArgument(name) : part->Short());
  }
  if (AreApart(names, texts)) return texts;
  for (const Parts& part : parts) {
    if (part.texts != parts[0].texts) return Copies(names);
  }
  std::vector<std::vector<std::string>> inside(names.size());
  for (size_t k = 0; k < parts[0].contents.size(); ++k) {
    std::vector<std::string_view> contents;
    for (const Parts& part : parts) contents.push_back(part.contents[k]);
    const std::vector<std::string> shown =
        AreAllEqual(contents)
            ? std::vector<std::string>(names.size(), contents[0].empty() ? "" : "...")
            : ContentsApart(contents);
    for (size_t i = 0; i < names.size(); ++i) inside[i].push_back(shown[i]);
  }
  for (size_t i = 0; i < names.size(); ++i) texts[i] = parts[i].Joined(inside[i]);
  return AreApart(names, texts) ? texts : Copies(names);
}

}  // namespace

std::string ShortName(const std::string& name) {
  if (name.size() <= kMostBytes) return name;
  const auto parts = Parser(name, What::kFunction).Run();
  return parts ? parts->Short() : name;
}

std::vector<std::string> ShortNames(const std::vector<std::string>& names) {
  std::map<std::string, std::set<std::string_view>> names_by_text;
  for (const std::string& name : names) names_by_text[ShortName(name)].insert(name);
  std::map<std::string_view, std::string> texts;
  for (const auto& [text, same] : names_by_text) {
    const std::vector<std::string_view> differ(same.begin(), same.end());
    const auto shown =
        differ.size() == 1 ? std::vector<std::string>{text} : KeptApart(differ, What::kFunction);
    for (size_t i = 0; i < differ.size(); ++i) texts[differ[i]] = shown[i];
  }
  std::vector<std::string> shown;
  for (const std::string& name : names) shown.push_back(texts[name]);
  return shown;
}

std::optional<RustName> ParseRustName(std::string_view name) {
  constexpr std::string_view kAs = " as ";
  if (name.empty() || name[0] != '<') return std::nullopt;
  size_t end = 1;
  size_t as = 0;
  for (int depth = 1; end < name.size() && depth > 0; ++end) {
    if (name[end] == '<') ++depth;
    if (name[end] == '>' && name[end - 1] != '-') --depth;  // skips the arrow of `fn() -> T`
    if (depth == 1 && as == 0 && name.substr(end, kAs.size()) == kAs) as = end;
  }
  if (name[end - 1] != '>' || name.substr(end, 2) != "::") return std::nullopt;
  RustName parts = {name.substr(1, end - 2), {}, name.substr(end)};
  if (as != 0) {
    parts.type = name.substr(1, as - 1);
    parts.trait = name.substr(as + kAs.size(), end - 1 - as - kAs.size());
  }
  return parts;
}

}  // namespace allomon::report
