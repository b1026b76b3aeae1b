#include <cctype>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/text/regexp.h"

namespace allomon::mlprof {
namespace {

using Instruction = Regexp::Instruction;
using Program = Regexp::Program;
using Op = Instruction::Op;
using ByteSet = std::bitset<256>;

Instruction Make(Op op, int32_t jump = 0, int32_t other = 0) {
  Instruction instruction;
  instruction.op = op;
  instruction.jump = jump;
  instruction.other = other;
  return instruction;
}

// Distances are signed, and limited by kMaxInstructions.
int32_t Length(const Program& program) { return static_cast<int32_t>(program.size()); }

size_t ByteIndex(char c) { return static_cast<unsigned char>(c); }

ByteSet ByteRange(char first, char last) {
  ByteSet set;
  for (size_t i = ByteIndex(first); i <= ByteIndex(last); ++i) set.set(i);
  return set;
}

Program OneOf(const ByteSet& set) {
  Program program = {Make(Op::kSet)};
  program[0].set = set;
  return program;
}

Program Literal(char c) { return OneOf(ByteRange(c, c)); }

void Append(const Program& tail, Program* program) {
  program->insert(program->end(), tail.begin(), tail.end());
}

Program Text(std::string_view text) {
  Program program;
  for (char c : text) Append(Literal(c), &program);
  return program;
}

// Each branch but the last becomes: split (branch, next), branch, jump (end).
Program AnyOf(const std::vector<Program>& branches) {
  int32_t rest = 0;  // to the end of the last branch, as if the last had a split and a jump too
  for (const Program& branch : branches) rest += Length(branch) + 2;
  Program program;
  for (size_t i = 0; i + 1 < branches.size(); ++i) {
    const int32_t length = Length(branches[i]);
    program.push_back(Make(Op::kSplit, 1, length + 2));
    Append(branches[i], &program);
    rest -= length + 2;
    program.push_back(Make(Op::kJump, rest - 2 + 1));
  }
  Append(branches.back(), &program);
  return program;
}

Program ZeroOrMore(const Program& piece) {
  Program program = {Make(Op::kSplit, 1, Length(piece) + 2)};
  Append(piece, &program);
  program.push_back(Make(Op::kJump, -(Length(piece) + 1)));
  return program;
}

Program OneOrMore(Program piece) {
  piece.push_back(Make(Op::kSplit, -Length(piece), 1));
  return piece;
}

// Matches the piece at most `times` times: after each copy the rest is optional.
Program UpTo(const Program& piece, size_t times) {
  Program program;
  for (size_t left = times; left > 0; --left) {
    const int32_t to_end = static_cast<int32_t>(left) * (Length(piece) + 1);
    program.push_back(Make(Op::kSplit, 1, to_end));
    Append(piece, &program);
  }
  return program;
}

Program Optional(const Program& piece) { return UpTo(piece, 1); }

Program Times(const Program& piece, size_t times) {
  Program program;
  for (size_t i = 0; i < times; ++i) Append(piece, &program);
  return program;
}

struct CharacterClass {
  std::string_view name;
  int (*contains)(int);
};

// mlprof knows neither `blank` nor `punct`.  The functions work in the C locale.
constexpr CharacterClass kClasses[] = {
    {"alnum", isalnum}, {"alpha", isalpha},   {"cntrl", iscntrl}, {"digit", isdigit},
    {"graph", isgraph}, {"lower", islower},   {"print", isprint}, {"space", isspace},
    {"upper", isupper}, {"xdigit", isxdigit},
};

ByteSet Members(const CharacterClass& character_class) {
  ByteSet set;
  for (int i = 0; i < 256; ++i) set.set(i, character_class.contains(i) != 0);
  return set;
}

// Parses by recursive descent.  Each function consumes the text that it recognizes.  It returns
// false if the text is not an expression, or is too large.
class Parser {
 public:
  explicit Parser(std::string_view pattern) : rest_(pattern) {}

  bool Parse(Program* program) {
    if (!Alternatives(program) || !rest_.empty()) return false;
    program->push_back(Make(Op::kMatch));
    return true;
  }

 private:
  bool At(char c) const { return !rest_.empty() && rest_.front() == c; }
  bool AtDigit() const { return !rest_.empty() && '0' <= rest_.front() && rest_.front() <= '9'; }

  bool Accept(std::string_view text) {
    if (rest_.substr(0, text.size()) != text) return false;
    rest_.remove_prefix(text.size());
    return true;
  }

  char Take() {
    char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  static bool Fits(size_t size) { return size <= Regexp::kMaxInstructions; }

  bool Alternatives(Program* program) {
    if (++depth_ > Regexp::kMaxDepth) return false;
    std::vector<Program> branches;
    size_t size = 0;
    do {
      if (!Branch(&branches.emplace_back())) return false;
      size += branches.back().size() + 2;
      if (!Fits(size)) return false;
    } while (Accept("|"));
    *program = AnyOf(branches);
    --depth_;
    return true;
  }

  bool Branch(Program* program) {
    do {
      Program piece;
      if (!Piece(&piece) || !Fits(program->size() + piece.size())) {
        return false;
      }
      Append(piece, program);
    } while (!rest_.empty() && !At(')') && !At('|'));
    return true;
  }

  bool Piece(Program* program) {
    if (!Atom(program)) return false;
    if (Accept("*")) {
      *program = ZeroOrMore(*program);
    } else if (Accept("+")) {
      *program = OneOrMore(std::move(*program));
    } else if (Accept("?")) {
      *program = Optional(*program);
    } else if (Accept("{")) {
      return Bound(program);
    }
    return Fits(program->size());
  }

  // Parses the rest of a bound after `{`: n}, n,} or n,m}.
  bool Bound(Program* program) {
    size_t least = 0;
    if (!Number(&least)) return false;
    if (Accept("}")) return Repeat(least, least, program);
    if (!Accept(",")) return false;
    if (Accept("}")) return RepeatFrom(least, program);
    size_t most = 0;
    return Number(&most) && Accept("}") && least <= most && Repeat(least, most, program);
  }

  // Treats all numbers above the limit alike: as too large.
  bool Number(size_t* number) {
    if (!AtDigit()) return false;
    *number = 0;
    while (AtDigit()) {
      *number = *number * 10 + static_cast<size_t>(Take() - '0');
      if (!Fits(*number)) return false;
    }
    return true;
  }

  static bool Repeat(size_t least, size_t most, Program* program) {
    // Neither factor exceeds the limit, so the product cannot overflow.
    if (!Fits(most * (program->size() + 1))) return false;
    const Program piece = *program;
    *program = Times(piece, least);
    Append(UpTo(piece, most - least), program);
    return true;
  }

  static bool RepeatFrom(size_t least, Program* program) {
    const Program more = ZeroOrMore(*program);
    if (!Repeat(least, least, program)) return false;
    Append(more, program);
    return Fits(program->size());
  }

  bool Atom(Program* program) {
    if (rest_.empty()) return false;
    if (Accept("()")) return true;
    if (Accept("(")) return Alternatives(program) && Accept(")");
    if (Accept("[")) return Bracket(program);
    const char c = Take();
    if (c == '.') {
      *program = OneOf(ByteSet().set());
    } else if (c == '^') {
      *program = {Make(Op::kBegin)};
    } else if (c == '$') {
      *program = {Make(Op::kEnd)};
    } else if (c == '\\' && !rest_.empty()) {
      *program = Literal(Take());
    } else if (std::string_view(")|*+?{").find(c) == std::string_view::npos) {
      *program = Literal(c);
    } else {
      return false;
    }
    return true;
  }

  // Parses the rest of a bracket expression after `[`, including the closing bracket.
  bool Bracket(Program* program) {
    const bool negated = Accept("^");
    ByteSet set;
    std::vector<Program> strings;
    if (Accept("]")) set.set(']');
    if (Accept("-")) set.set('-');
    while (!Accept("]")) {
      if (!BracketItem(&set, &strings)) return false;
    }
    if (negated && !strings.empty()) return false;
    strings.push_back(OneOf(negated ? ~set : set));
    *program = AnyOf(strings);
    return Fits(program->size());
  }

  bool BracketItem(ByteSet* set, std::vector<Program>* strings) {
    if (rest_.empty()) return false;
    if (At('-')) {
      set->set('-');
      Take();
      return At(']');
    }
    // Tries a range before a class: "[[-a]" is a range that begins with a bracket.
    if (rest_.size() >= 3 && rest_[1] == '-') {
      *set |= ByteRange(rest_[0], rest_[2]);
      rest_.remove_prefix(3);
      return true;
    }
    if (Accept("[.")) return CollatingString(strings);
    if (Accept("[:")) return ClassName(set);
    set->set(ByteIndex(Take()));
    return true;
  }

  bool CollatingString(std::vector<Program>* strings) {
    const size_t end = rest_.find('.');
    if (end == std::string_view::npos || !Fits(end)) return false;
    strings->push_back(Text(rest_.substr(0, end)));
    rest_.remove_prefix(end);
    return Accept(".]");
  }

  bool ClassName(ByteSet* set) {
    for (const CharacterClass& character_class : kClasses) {
      if (!Accept(character_class.name)) continue;
      *set |= Members(character_class);
      return Accept(":]");
    }
    return false;
  }

  std::string_view rest_;
  int depth_ = 0;
};

}  // namespace

std::optional<Regexp> Regexp::Compile(std::string_view pattern) {
  Program program;
  if (!Parser(pattern).Parse(&program)) return std::nullopt;
  return Regexp(std::move(program));
}

}  // namespace allomon::mlprof
