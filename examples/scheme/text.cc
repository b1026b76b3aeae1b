// Values as texts, and back.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "examples/scheme/scheme.h"

namespace scheme {
namespace {

struct CharName {
  std::string_view name;
  char32_t c;
};
constexpr CharName kCharNames[] = {
    {"space", ' '},   {"newline", '\n'},  {"tab", '\t'},    {"nul", 0},     {"null", 0},
    {"return", '\r'}, {"linefeed", '\n'}, {"altmode", 27},  {"escape", 27}, {"delete", 127},
    {"rubout", 127},  {"alarm", 7},       {"backspace", 8}, {"page", 12}};

// Reads another line of the port's file.
bool Refill(PortState& port) {
  if (port.file == nullptr || !port.is_input) return false;
  char buffer[4096];
  port.text.clear();
  port.at = 0;
  while (fgets(buffer, sizeof(buffer), port.file) != nullptr) {
    port.text += buffer;
    if (port.text.back() == '\n') break;
  }
  return !port.text.empty();
}

bool IsDelimiter(int64_t c) {
  return c < 0 || (c < 128 && (isspace(static_cast<int>(c)) != 0 ||
                               strchr("()\";'", static_cast<int>(c)) != nullptr));
}

class Reader {
 public:
  Reader(Machine& machine, PortState& port, bool notes_lines)
      : machine_(machine), port_(port), notes_lines_(notes_lines) {}

  Local Read() {
    CheckNativeStack();
    Skip();
    const int64_t c = ReadChar(port_);
    switch (c) {
      case -1:
        return kEof;
      case '(':
      case '[':
        return ReadList(c == '(' ? ')' : ']');
      case ')':
      case ']':
        Bad("a parenthesis closes nothing");
      case '\'':
        return Quoted("quote");
      case '`':
        return Quoted("quasiquote");
      case ',':
        if (PeekChar(port_) != '@') return Quoted("unquote");
        ReadChar(port_);
        return Quoted("unquote-splicing");
      case '"':
        return MakeString(Delimited('"'));
      case '#':
        return ReadHash();
      case '|':
        return Symbol(Delimited('|'));
      default: {
        const std::string word = Word(c);
        if (const auto number = ParseNumber(word, 10)) return *number;
        return Symbol(word);
      }
    }
  }

 private:
  [[noreturn]] void Bad(const std::string& what, int line = 0) {
    const std::string text = std::to_string(line != 0 ? line : port_.line) + ": " + what;
    if (notes_lines_) throw Fatal(text);
    machine_.Fail("read: line " + text);
  }
  Local Symbol(std::string_view text) { return machine_.SymbolOf(machine_.Intern(text)); }

  void Skip() {
    for (;; ReadChar(port_)) {
      const int64_t c = PeekChar(port_);
      if (c == ';') {
        while (PeekChar(port_) >= 0 && PeekChar(port_) != '\n') ReadChar(port_);
      } else if (c == '#' && port_.text.compare(port_.at, 2, "#|") == 0) {
        SkipBlock();
      } else if (c == '#' && port_.text.compare(port_.at, 2, "#;") == 0) {
        port_.at += 2;
        Read();
        return Skip();
      } else if (c < 0 || c > 127 || isspace(static_cast<int>(c)) == 0) {
        return;
      }
    }
  }
  // Leaves the last character of the comment.
  void SkipBlock() {
    const int line = port_.line;
    int depth = 0;
    for (int64_t last = 0, c = ReadChar(port_);; last = c, c = ReadChar(port_)) {
      if (c < 0) Bad("a comment is not closed", line);
      if (last == '#' && c == '|') ++depth, c = 0;
      if (last == '|' && c == '#') --depth, c = 0;
      if (depth == 1 && c == '|' && PeekChar(port_) == '#') return;
    }
  }

  Local ReadList(char close) {
    const int line = port_.line;
    const Local list = Cons(nullptr, nullptr);
    Local last = list;
    for (;;) {
      Skip();
      const int64_t c = PeekChar(port_);
      if (c < 0) Bad("a parenthesis is not closed", line);
      if (c == ')' || c == ']') {
        if (ReadChar(port_) != close) Bad("a parenthesis of another kind closes");
        return Cdr(list);
      }
      const bool is_dot =
          c == '.' && port_.at + 1 < port_.text.size() && IsDelimiter(port_.text[port_.at + 1]);
      if (is_dot && last != list) {
        ReadChar(port_);
        last.peek<Pair>()->cdr = Read();
        Skip();
        if (ReadChar(port_) != close) Bad("behind a dot is one value");
        return Cdr(list);
      }
      const Local item = Read();
      const Local next = Cons(item, nullptr);
      if (notes_lines_ && last == list) machine_.lines[gc::identity_hash(next)] = line;
      last.peek<Pair>()->cdr = next;
      last = next;
    }
  }
  Local Quoted(const char* form) {
    const Local value = Read();
    if (value == kEof) Bad("a quote has nothing behind it");
    return Cons(Symbol(form), Cons(value, nullptr));
  }
  std::string Word(int64_t first) {
    std::string word;
    AppendUtf8(word, static_cast<char32_t>(first));
    while (!IsDelimiter(PeekChar(port_))) AppendUtf8(word, static_cast<char32_t>(ReadChar(port_)));
    return word;
  }

  std::string Delimited(char close) {
    const int line = port_.line;
    std::string text;
    for (;;) {
      int64_t c = ReadChar(port_);
      if (c < 0) Bad(close == '"' ? "a string is not closed" : "a symbol is not closed", line);
      if (c == close) return text;
      if (c == '\\') {
        c = ReadChar(port_);
        if (c == 'x') {
          std::string digits;
          while ((c = ReadChar(port_)) != ';' && c > 0) digits += static_cast<char>(c);
          c = strtol(digits.c_str(), nullptr, 16);
        } else if (c == '\n' || c == ' ' || c == '\t') {
          while (c == ' ' || c == '\t') c = ReadChar(port_);
          while (PeekChar(port_) == ' ' || PeekChar(port_) == '\t') ReadChar(port_);
          continue;
        } else {
          static constexpr std::string_view kFrom = "ntrab";
          static constexpr std::string_view kTo = "\n\t\r\a\b";
          const size_t i = kFrom.find(static_cast<char>(c));
          if (i != std::string_view::npos) c = kTo[i];
        }
      }
      AppendUtf8(text, static_cast<char32_t>(c));
    }
  }

  Local ReadHash() {
    const int64_t c = PeekChar(port_);
    if (c == '(') {
      ReadChar(port_);
      return ListToVector(ReadList(')'));
    }
    if (c == '\\') return ReadChar(port_), ReadCharName();
    const std::string word = Word('#');
    if (word == "#t" || word == "#true") return Value::Bool(true);
    if (word == "#f" || word == "#false") return kFalse;
    if (word == "#u8" && PeekChar(port_) == '(') {
      ReadChar(port_);
      return ListToBytes(ReadList(')'));
    }
    if (const auto number = ParseNumber(word, 10)) return *number;
    Bad("this is unknown: " + word);
  }
  Local ReadCharName() {
    const int64_t first = ReadChar(port_);
    if (first < 0) Bad("a character is not finished");
    const auto c = static_cast<char32_t>(first);
    if (IsDelimiter(PeekChar(port_))) return MakeChar(c);
    const std::string word = Word(first);
    if (word[0] == 'x')
      return MakeChar(static_cast<char32_t>(strtol(word.c_str() + 1, nullptr, 16)));
    for (const CharName& known : kCharNames) {
      if (known.name == word) return MakeChar(known.c);
    }
    Bad("no character has this name: " + word);
  }
  static size_t Length(Handle list) {
    size_t n = 0;
    for (Local l = list; l.is<Pair>(); l = Cdr(l)) ++n;
    return n;
  }
  static Local ListToVector(Handle list) {
    const gc::Local<Vector> vector = gc::make_array<Value>(Length(list));
    size_t i = 0;
    for (Local l = list; l.is<Pair>(); l = Cdr(l)) vector->at(i++) = l.peek<Pair>()->car;
    return vector;
  }
  Local ListToBytes(Handle list) {
    const gc::Local<gc::Bytes> bytes = gc::make_bytes(Length(list));
    size_t i = 0;
    for (Local l = list; l.is<Pair>(); l = Cdr(l)) {
      const Local byte = Car(l);
      if (!byte.is_int() || (byte.to_int() & ~0xff) != 0) Bad("a bytevector has bytes");
      bytes->data()[i++] = static_cast<char>(byte.to_int());
    }
    return bytes;
  }

  Machine& machine_;
  PortState& port_;
  const bool notes_lines_;
};

std::string NumberText(double number) {
  if (std::isnan(number)) return "+nan.0";
  if (std::isinf(number)) return number > 0 ? "+inf.0" : "-inf.0";
  char text[40];
  for (int digits = 15; digits <= 17; ++digits) {
    snprintf(text, sizeof(text), "%.*g", digits, number);
    if (strtod(text, nullptr) == number) break;
  }
  return strpbrk(text, ".e") == nullptr ? std::string(text) + ".0" : text;
}

void WriteSymbol(std::string& out, const std::string& text, bool display) {
  const bool plain = display || (!text.empty() && !ParseNumber(text, 10) && text != "." &&
                                 text.find_first_of(" \n\t()\";'|") == std::string::npos);
  out += plain ? text : "|" + text + "|";
}

void WriteChar(std::string& out, char32_t c, bool display) {
  if (display) return AppendUtf8(out, c);
  out += "#\\";
  for (const CharName& known : kCharNames) {
    if (known.c == c) return out += known.name, void();
  }
  AppendUtf8(out, c);
}

void WriteString(std::string& out, const String& string, bool display) {
  if (display) return out += Text(&string), void();
  out += '"';
  for (const char c : Text(&string)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : std::string(1, c);
  }
  out += '"';
}

template <typename Item>
void WriteItems(std::string& out, size_t n, const Item& item) {
  for (size_t i = 0; i < n; ++i) {
    if (i != 0) out += ' ';
    item(i);
  }
  out += ')';
}

void WriteObject(std::string& out, Handle value, bool display) {
  if (value.is<Symbol>()) return WriteSymbol(out, value.peek<Symbol>()->name->text, display);
  if (value.is<Alias>()) return Write(out, value.peek<Alias>()->name, display);
  if (value.is<String>()) return WriteString(out, *value.peek<String>(), display);
  if (value.is<Vector>()) {
    const gc::Local<Vector> items = value.cast<Vector>();
    out += "#(";
    return WriteItems(out, items->length(), [&](size_t i) { Write(out, items->at(i), display); });
  }
  if (value.is<gc::Bytes>()) {
    const std::string_view bytes = value.peek<gc::Bytes>()->view();
    out += "#u8(";
    return WriteItems(out, bytes.size(), [&](size_t i) {
      out += std::to_string(static_cast<unsigned char>(bytes[i]));
    });
  }
  if (value.is<gc::Shaped>()) {
    const gc::Local<gc::Shaped> record = value.cast<gc::Shaped>();
    out += std::string("#(") + record->shape().name() + (record->shape().size() != 0 ? " " : "");
    return WriteItems(out, record->shape().size(),
                      [&](size_t i) { Write(out, record->value(i), display); });
  }
  out += "#<";
  if (value.is<Closure>()) {
    out += "procedure " + value.peek<Closure>()->code->name;
  } else if (value.is<Primitive>()) {
    out += std::string("procedure ") + value.peek<Primitive>()->info->name;
  } else {
    out += value.type_name();
  }
  out += '>';
}

}  // namespace

int64_t PeekChar(PortState& port) {
  if (port.at == port.text.size() && !Refill(port)) return -1;
  const auto first = static_cast<unsigned char>(port.text[port.at]);
  if (first < 0x80) return first;
  // A broken sequence is one character of Latin-1.
  const int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
  int64_t c = more == 0 ? first : first & (0x3f >> more);
  for (int i = 1; i <= more; ++i) {
    if (port.at + i >= port.text.size() || (port.text[port.at + i] & 0xc0) != 0x80) return first;
    c = c << 6 | (port.text[port.at + i] & 0x3f);
  }
  return c;
}

int64_t ReadChar(PortState& port) {
  const int64_t c = PeekChar(port);
  if (c < 0) return c;
  port.line += c == '\n';
  const auto first = static_cast<unsigned char>(port.text[port.at]);
  port.at += first < 0x80 || c == first ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  return c;
}

Local Read(Machine& machine, PortState& port, bool notes_lines) {
  return Reader(machine, port, notes_lines).Read();
}

void AppendUtf8(std::string& out, char32_t c) {
  if (c < 0x80) return out += static_cast<char>(c), void();
  const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  static constexpr unsigned kFirst[] = {0, 0xc0, 0xe0, 0xf0};
  out += static_cast<char>(kFirst[more] | c >> 6 * more);
  for (int i = more - 1; i >= 0; --i) out += static_cast<char>(0x80 | (c >> 6 * i & 0x3f));
}

std::string Text(const String* string) {
  std::string text;
  String& chars = *const_cast<String*>(string);
  for (size_t i = 0; i < chars.length(); ++i) AppendUtf8(text, chars.data()[i]);
  return text;
}

gc::Local<String> MakeString(std::string_view utf8) {
  PortState port;
  port.text = utf8;
  std::u32string chars;
  for (int64_t c = ReadChar(port); c >= 0; c = ReadChar(port)) chars += static_cast<char32_t>(c);
  const gc::Local<String> string = gc::make_trailing<String>(chars.size());
  std::copy(chars.begin(), chars.end(), string->data());
  return string;
}

std::optional<gc::Immediate> ParseNumber(std::string_view text, int radix) {
  bool inexact = false;
  bool exact = false;
  while (text.size() > 1 && text[0] == '#') {
    const char c = text[1];
    if (strchr("xXbBoOdD", c) != nullptr)
      radix = strchr("xX", c) ? 16 : strchr("bB", c) ? 2 : strchr("oO", c) ? 8 : 10;
    inexact |= c == 'i';
    exact |= c == 'e';
    if (strchr("xXbBoOdDie", c) == nullptr) return std::nullopt;
    text.remove_prefix(2);
  }
  const std::string word(text);
  if (word == "+inf.0" || word == "-inf.0")
    return Value::Double(word[0] == '+' ? HUGE_VAL : -HUGE_VAL);
  if (word == "+nan.0" || word == "-nan.0") return Value::Double(NAN);
  const size_t sign = !word.empty() && (word[0] == '+' || word[0] == '-') ? 1 : 0;
  if (sign == word.size()) return std::nullopt;
  const auto is_digit = [radix](char c) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : 99;
    return digit < radix;
  };
  if (std::all_of(word.begin() + sign, word.end(), is_digit)) {
    errno = 0;
    const long number = strtol(word.c_str(), nullptr, radix);
    if (errno != 0 || !Value::FitsInt(number) || inexact) {
      return Value::Double(strtod(word.c_str(), nullptr));
    }
    return Value::Int(number);
  }
  if (radix != 10 || word.find_first_not_of("0123456789.eE+-") != std::string::npos ||
      word.find_first_of("0123456789") == std::string::npos || strchr("eE", word[sign])) {
    return std::nullopt;
  }
  char* end = nullptr;
  const double number = strtod(word.c_str(), &end);
  if (*end != '\0') return std::nullopt;
  if (exact && number == std::floor(number) && std::fabs(number) < 1e15) {
    return Value::Number(static_cast<int64_t>(number));
  }
  return Value::Double(number);
}

void Write(std::string& out, Handle value, bool display) {
  CheckNativeStack();
  if (value.is<Pair>()) {
    out += '(';
    Local l = value;
    for (;; l = Cdr(l), out += ' ') {
      Write(out, Car(l), display);
      if (!Cdr(l).is<Pair>()) break;
    }
    if (!Cdr(l).is_null()) out += " . ", Write(out, Cdr(l), display);
    out += ')';
  } else if (value.is_int()) {
    out += std::to_string(value.to_int());
  } else if (value.is_double()) {
    out += NumberText(value.to_double());
  } else if (value.is_null()) {
    out += "()";
  } else if (value.is_bool()) {
    out += value.to_bool() ? "#t" : "#f";
  } else if (IsChar(value)) {
    WriteChar(out, CharOf(value), display);
  } else if (value.is_constant()) {
    out += value == kEof ? "#<eof>" : "#<unspecified>";
  } else {
    WriteObject(out, value, display);
  }
}

}  // namespace scheme
