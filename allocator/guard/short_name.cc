#include <cstring>
#include <initializer_list>

#include "allocator/guard/code_place.h"
#include "tracker/base/check.h"

namespace allomon::internal {
namespace {

struct Abbreviation {
  std::string_view mangled;
  std::string_view name;
};
constexpr Abbreviation kStandard[] = {
    {"St", "std"},          {"Sa", "std::allocator"}, {"Ss", "std::string"},
    {"Si", "std::istream"}, {"So", "std::ostream"},
};
constexpr Abbreviation kOperators[] = {
    {"cl", "operator()"},   {"ix", "operator[]"},     {"aS", "operator="},  {"pL", "operator+="},
    {"ls", "operator<<"},   {"rs", "operator>>"},     {"eq", "operator=="}, {"lt", "operator<"},
    {"pl", "operator+"},    {"pp", "operator++"},     {"de", "operator*"},  {"pt", "operator->"},
    {"nw", "operator new"}, {"na", "operator new[]"},
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }

class Reader {
 public:
  Reader(std::string_view rest, char* out, size_t room) : rest_(rest), out_(out), room_(room) {}

  // Reads <encoding>, up to the beginning of the parameters.
  bool ReadName() {
    if (Take("N")) return ReadNested();
    Take("L");
    if (Take("St")) Append("std");
    return ReadSourceName() || ReadAbbreviation(kOperators);
  }

  size_t length() const { return length_; }

 private:
  char Peek() const { return rest_.empty() ? '\0' : rest_[0]; }
  bool Take(std::string_view expected) {
    if (rest_.substr(0, expected.size()) != expected) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }
  void AppendBytes(std::string_view text) {
    const size_t taken = text.size() < room_ - length_ ? text.size() : room_ - length_;
    memcpy(out_ + length_, text.data(), taken);
    length_ += taken;
    ALLOMON_DCHECK_LE("inv.host.text", length_, room_);
  }
  void Append(std::string_view component) {
    if (length_ > 0) AppendBytes("::");
    AppendBytes(component);
    last_ = component;
  }

  // Reads the part between N and E.
  bool ReadNested() {
    while (Take("K") || Take("V") || Take("R") || Take("O")) {
    }
    while (!Take("E")) {
      if (!ReadComponent()) return false;
    }
    return length_ > 0;
  }

  bool ReadComponent() {
    if (Take("I")) return SkipUntilE(0);
    if (Peek() == 'C' || Peek() == 'D') return ReadStructor();
    Take("L");
    return ReadSourceName() || ReadAbbreviation(kStandard) || ReadAbbreviation(kOperators);
  }

  // Reads C1, C2, C3, D0, D1 or D2: the name is that of the last named class.
  bool ReadStructor() {
    const bool destroys = Peek() == 'D';
    if (rest_.size() < 2 || !IsDigit(rest_[1]) || last_.empty()) return false;
    rest_.remove_prefix(2);
    AppendBytes(destroys ? "::~" : "::");
    AppendBytes(last_);
    return true;
  }

  // Returns the number that the digits form; 0 without digits, or if it exceeds the rest.
  size_t TakeLength() {
    size_t length = 0;
    while (IsDigit(Peek()) && length < rest_.size()) {
      length = length * 10 + static_cast<size_t>(Peek() - '0');
      rest_.remove_prefix(1);
    }
    return length <= rest_.size() ? length : 0;
  }

  bool ReadSourceName() {
    const size_t length = TakeLength();
    if (length == 0) return false;
    const std::string_view name = rest_.substr(0, length);
    Append(name == "_GLOBAL__N_1" ? "(anonymous namespace)" : name);
    rest_.remove_prefix(length);
    return true;
  }

  template <size_t n>
  bool ReadAbbreviation(const Abbreviation (&table)[n]) {
    for (const Abbreviation& entry : table) {
      if (!Take(entry.mangled)) continue;
      Append(entry.name);
      return true;
    }
    return false;
  }

  // Skips template arguments; their I has been read.  Returns false for arguments of a rare form.
  bool SkipUntilE(int depth) {
    if (depth > 32) return false;
    while (!Take("E")) {
      if (!SkipPiece(depth)) return false;
    }
    return true;
  }

  bool SkipPiece(int depth) {
    if (Take("I") || Take("N") || Take("J") || Take("F")) return SkipUntilE(depth + 1);
    if (IsDigit(Peek())) return SkipSourceName();
    if (Take("L")) return SkipLiteral();
    if (Take("S") || Take("T")) return SkipReference();
    const char c = Peek();
    if (!IsLower(c) && strchr("PROKVDC", c) == nullptr) return false;
    if (c == '\0') return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool SkipSourceName() {
    const size_t length = TakeLength();
    rest_.remove_prefix(length);
    return length != 0;
  }

  // Skips a number of a builtin type; its digits are not a length.
  bool SkipLiteral() {
    const size_t end = rest_.find('E');
    if (!IsLower(Peek()) || end == std::string_view::npos) return false;
    rest_.remove_prefix(end + 1);
    return true;
  }

  // Skips S_, S1_, T_, T0_, St, Sa, ...; the first letter has been read.
  bool SkipReference() {
    if (IsLower(Peek())) {
      rest_.remove_prefix(1);
      return true;
    }
    while (!rest_.empty() && Peek() != '_') {
      if (!IsDigit(Peek()) && (Peek() < 'A' || Peek() > 'Z')) return false;
      rest_.remove_prefix(1);
    }
    return Take("_");
  }

  std::string_view rest_;
  std::string_view last_;
  char* const out_;
  const size_t room_;
  size_t length_ = 0;
};

// Removes the suffix that compilers append to the name of a copy or a part of a function.
std::string_view WithoutCloneSuffix(std::string_view symbol) {
  for (const std::string_view word :
       {".constprop", ".isra", ".part", ".cold", ".lto_priv", ".llvm"}) {
    for (size_t at = 1; (at = symbol.find(word, at)) != std::string_view::npos; ++at) {
      const size_t end = at + word.size();
      if (end == symbol.size() || symbol[end] == '.') symbol = symbol.substr(0, at);
    }
  }
  return symbol;
}

// Rust's older names have the form of C++ names, with a hash as the last part: "::h" and 16 digits.
size_t LengthWithoutHash(std::string_view name) {
  constexpr size_t kHashBytes = 16;
  const size_t at = name.rfind("::h");
  const bool has_hash = at != std::string_view::npos && name.size() == at + 3 + kHashBytes &&
                        name.find_first_not_of("0123456789abcdef", at + 3) == name.npos;
  return has_hash ? at : name.size();
}

}  // namespace

size_t ShortName(std::string_view symbol, char* out, size_t room) {
  symbol = WithoutCloneSuffix(symbol);
  if (symbol.substr(0, 2) == "_Z") {
    Reader reader(symbol.substr(2), out, room);
    if (reader.ReadName()) return LengthWithoutHash({out, reader.length()});
  }
  const size_t length = symbol.size() < room ? symbol.size() : room;
  memcpy(out, symbol.data(), length);
  return length;
}

}  // namespace allomon::internal
