#ifndef ALLOMON_TOOLS_TEXT_REGEXP_H_
#define ALLOMON_TOOLS_TEXT_REGEXP_H_

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace allomon::mlprof {

// The regular expressions of -keep and -split: POSIX extended ones, with these peculiarities of
// mlprof's.
//   - A match begins at the start of the text and may end anywhere: "a.c"
//     matches "abcd".
//   - `.` and negated brackets match every byte; there are no back references.
//   - An empty expression or branch is an error, so is `**`; `()` matches the
//     empty text.
//   - `^` holds at the start of the text, once ("^^a" matches nothing), and
//     `$` at its end, once.
//   - Brackets know [:alnum:] alpha cntrl digit graph lower print space upper
//     xdigit and, unless negated, [.string.].  A `-` is first, or last after a
//     range or class.
//   - A backslash makes the next character an ordinary one, but not in
//     brackets.
//
// The matcher walks all alternatives at once: time is at most the product of the lengths of text
// and expression, memory that of the expression, nothing recurses.
class Regexp {
 public:
  // Limits: larger expressions, for example by large repetition counts, and deeper ones are
  // refused.
  static constexpr size_t kMaxInstructions = 10000;
  static constexpr int kMaxDepth = 500;

  // Returns nullopt if `pattern` is not an expression.
  static std::optional<Regexp> Compile(std::string_view pattern);

  // Thread safe.
  bool MatchesPrefix(std::string_view text) const;

  // An instruction of a program for a machine that follows all paths through it at the same time.
  struct Instruction {
    enum class Op : uint8_t {
      kSet,    // consume a byte of `set`
      kSplit,  // go on at `jump` and at `other`
      kJump,   // go on at `jump`
      kBegin,  // `^`
      kEnd,    // `$`
      kMatch,
    };
    Op op = Op::kSet;
    int32_t jump = 0;   // relative to this instruction, so that
    int32_t other = 0;  // programs can be copied into others
    std::bitset<256> set;
  };
  using Program = std::vector<Instruction>;

 private:
  explicit Regexp(Program program) : program_(std::move(program)) {}

  Program program_;
};

}  // namespace allomon::mlprof

#endif  // ALLOMON_TOOLS_TEXT_REGEXP_H_
