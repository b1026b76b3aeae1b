#include <cctype>
#include <string_view>
#include <vector>

#include "tools/text/names.h"
#include "tools/text/plain_text.h"

namespace allomon::report {
namespace {

constexpr std::string_view kOperator = "operator";
constexpr std::string_view kAnonymous = "(anonymous namespace)::";

bool StartsAt(std::string_view text, size_t place, std::string_view word) {
  return text.substr(place, word.size()) == word;
}

// Reads a name in one pass.
class Reader {
 public:
  explicit Reader(std::string_view name) : name_(name) {}

  // Returns an empty text if brackets do not pair, or if a part of the name is empty.
  std::string Run() {
    while (place_ < name_.size() && depth_ >= 0) Step();
    const bool whole = depth_ == 0 && !read_.empty() && read_.front() != ':' && !EndsInColon();
    return whole && read_.find("::::") == std::string::npos ? read_ : "";
  }

 private:
  bool EndsInColon() const { return read_.back() == ':'; }

  void Step() {
    if (StartsAt(name_, place_, kAnonymous)) {
      place_ += kAnonymous.size();
      return;
    }
    if (IsOperator()) return ReadOperator();
    const char next = name_[place_];
    if (next == '<' || next == '(') return Open();
    if (next == '>' || next == ')') return Close();
    if (depth_ == 0) Read(next);
    ++place_;
  }

  void Open() {
    if (depth_ == 0 && name_[place_] == '(' && braces_ == 0) has_parameters_ = true;
    ++depth_;
    ++place_;
  }

  void Close() {
    --depth_;
    ++place_;
  }

  // Reads a character that is outside of brackets.
  void Read(char next) {
    if (next == '{') ++braces_;
    if (next == '}') --braces_;
    // The name of a function's local entity continues after the parameters and qualifiers of the
    // function.
    if (has_parameters_ && StartsAt(name_, place_, "::")) has_parameters_ = false;
    if (has_parameters_) return;
    if (next == ' ' && braces_ == 0) return read_.clear();  // the return type ends here
    read_ += next;
  }

  // The operator's symbols are not brackets, and the blank of `operator new` does not end the name.
  bool IsOperator() const {
    if (depth_ != 0 || has_parameters_ || !StartsAt(name_, place_, kOperator)) return false;
    const size_t behind = place_ + kOperator.size();
    const bool is_word_end =
        behind >= name_.size() ||
        (name_[behind] != '_' && isalnum(static_cast<unsigned char>(name_[behind])) == 0);
    const bool is_word_start = place_ == 0 || name_[place_ - 1] == ':' || name_[place_ - 1] == ' ';
    return is_word_start && is_word_end;
  }

  void ReadOperator() {
    size_t end = place_ + kOperator.size();
    if (StartsAt(name_, end, "()")) end += 2;
    if (end < name_.size() && name_[end] == ' ') {
      end = name_.find_first_of("(<", end);
    } else {
      end = name_.find_first_not_of("<>=-+*/%^&|~!,[]", end);
    }
    if (end == std::string_view::npos) end = name_.size();
    // `operator<< <char>` has a blank before its arguments.
    read_ += name_.substr(place_, end - place_);
    place_ = end < name_.size() && name_[end] == ' ' ? end + 1 : end;
  }

  const std::string_view name_;
  size_t place_ = 0;
  int depth_ = 0;   // of <> and ()
  int braces_ = 0;  // of {lambda(int)#1}
  bool has_parameters_ = false;
  std::string read_;
};

// Returns the places where the parts of a qualified name begin.
std::vector<size_t> PartsOf(const std::string& qualified) {
  std::vector<size_t> parts = {0};
  for (size_t at = 0; (at = qualified.find("::", at)) != std::string::npos;) {
    parts.push_back(at += 2);
  }
  return parts;
}

// Returns the index of the part at which class and function begin.
size_t ClassPart(const std::string& qualified, const std::vector<size_t>& parts) {
  size_t part = parts.size() - 1;
  // A lambda's operator() tells nothing to a reader, so the function around it is included.
  while (part > 0 && (qualified[parts[part]] == '{' ||
                      (part + 1 == parts.size() && qualified[parts[part - 1]] == '{'))) {
    --part;
  }
  return part == 0 ? 0 : part - 1;
}

std::string QualifiedOr(std::string_view name) {
  const std::string whole(name);
  const std::string qualified = QualifiedName(whole);
  return qualified.empty() ? whole : qualified;
}

std::string LastPart(const std::string& qualified) {
  return qualified.substr(PartsOf(qualified).back());
}

// Returns `<Type as Trait>::function`, with the modules if they fit, or else without.  Empty if
// neither fits.
std::string FitRustName(const RustName& name, int columns) {
  std::string type = QualifiedOr(name.type);
  std::string trait = QualifiedOr(name.trait);
  const std::string_view rest = name.rest.substr(2);
  const std::string function = QualifiedOr(rest.substr(0, rest.find("::<")));
  for (int i = 0; i < 2; ++i) {
    const std::string fit = "<" + type + (trait.empty() ? "" : " as " + trait) + ">::" + function;
    if (Columns(fit) <= columns) return fit;
    type = LastPart(type);
    trait = LastPart(trait);
  }
  return "";
}

}  // namespace

std::string QualifiedName(const std::string& name) {
  if (name.find(".(") != std::string::npos) return "";  // Go's main.(*Type).Method
  return Reader(name).Run();
}

std::string ClassAndFunction(const std::string& name) {
  const std::string qualified = QualifiedName(name);
  if (qualified.empty()) return name;
  const std::vector<size_t> parts = PartsOf(qualified);
  return qualified.substr(parts[ClassPart(qualified, parts)]);
}

std::string FitName(const std::string& name, int columns, Charset charset) {
  if (Columns(name) <= columns) return name;
  if (const auto rust = ParseRustName(name)) {
    const std::string fit = FitRustName(*rust, columns);
    if (!fit.empty()) return fit;
  }
  const std::string qualified = QualifiedOr(name);
  if (Columns(qualified) <= columns) return qualified;
  const std::vector<size_t> parts = PartsOf(qualified);
  const size_t last = ClassPart(qualified, parts);
  for (size_t part = 1; part <= last; ++part) {
    const std::string rest = CutMark(charset) + qualified.substr(parts[part]);
    if (Columns(rest) <= columns) return rest;
  }
  const std::string function = qualified.substr(parts.back());
  if (Columns(function) >= columns) return CutToBeginning(function, columns, charset);
  return CutToEnd(qualified, columns, charset);
}

}  // namespace allomon::report
