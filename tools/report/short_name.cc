#include "tools/report/short_name.h"

#include <string_view>

namespace allomon::report {
namespace {

constexpr size_t kMostBytes = 60;

constexpr std::string_view kOperator = "operator";
constexpr std::string_view kAnonymous = "(anonymous namespace)";

bool StartsAt(std::string_view text, size_t place, std::string_view word) {
  return text.substr(place, word.size()) == word;
}

// The length of an operator's name at `place`: `operator<<`, `operator()`, the `operator` of
// `operator new` and so on.  Its brackets enclose nothing.  0 if there is no operator.
size_t OperatorBytes(std::string_view text, size_t place) {
  if (!StartsAt(text, place, kOperator)) return 0;
  if (place != 0 && text[place - 1] != ':' && text[place - 1] != ' ') return 0;
  const size_t symbol = place + kOperator.size();
  if (StartsAt(text, symbol, "()")) return kOperator.size() + 2;
  const size_t end = text.find_first_not_of("<>=-", symbol);
  return (end == std::string_view::npos ? text.size() : end) - place;
}

// Shortens one name in one pass.
class Shortener {
 public:
  explicit Shortener(std::string_view name) : name_(name) {}

  // The short name.  Empty if brackets do not pair.
  std::string Run() {
    while (place_ < name_.size()) Step();
    return depth_ == 0 ? short_ : "";
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

  void Copy(size_t bytes) {
    if (depth_ == 0) short_ += name_.substr(place_, bytes);
    place_ += bytes;
  }

  void Open(char bracket) {
    if (depth_ == 0) {
      short_ += bracket;
      if (name_[place_ + 1] != (bracket == '<' ? '>' : ')')) short_ += "...";
      has_name_ |= bracket == '(';
    }
    ++depth_;
    ++place_;
  }

  void Close(char bracket) {
    if (depth_ == 0) return GiveUp();
    --depth_;
    if (depth_ == 0) short_ += bracket;
    ++place_;
  }

  // Drops the return type, which a blank separates from the name.
  void DropWhatIsReturned() {
    short_.clear();
    ++place_;
  }

  void GiveUp() {
    depth_ = 1;
    place_ = name_.size();
  }

  const std::string_view name_;
  size_t place_ = 0;
  size_t depth_ = 0;
  // The name was read, all of it or up to an operator's: blanks behind that belong to it.
  bool has_name_ = false;
  std::string short_;
};

}  // namespace

std::string ShortName(const std::string& name) {
  if (name.size() <= kMostBytes) return name;
  const std::string shortened = Shortener(name).Run();
  return shortened.empty() ? name : shortened;
}

}  // namespace allomon::report
