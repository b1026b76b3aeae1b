// The call stacks of a profile as views read them.  Frames are identified by name and line, each
// inlined call is a frame, and frames that a selection drops are left out.
//
// A plain value that owns its texts.  Stacks of a hostile profile are cut before they take more
// memory than kMostCells.
#ifndef ALLOMON_TOOLS_HEAP_STACKS_H_
#define ALLOMON_TOOLS_HEAP_STACKS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"
#include "tools/heap/labels.h"
#include "tools/text/regexp.h"

namespace allomon::heap {

// The name of a function.  Functions with the same name and file are one, whatever their addresses.
struct Name {
  std::string text;  // "<unknown>" for an empty stack; "module+0x1234" if no name is known
  std::string file;  // empty: not known
  uint32_t start_line = 0;
};

struct Frame {
  uint32_t name = 0;
  uint32_t line = 0;  // 0: not known
};

struct Stack {
  uint32_t sample = 0;        // index in HeapProfile::samples
  uint32_t location = kNone;  // index in HeapProfile::locations: where the frame at `begin` is
  uint64_t begin = 0;         // index in Stacks::cells; innermost first
  uint64_t end = 0;           // larger than `begin`
  // Cells from here to `begin` are functions that only pass memory on.
  uint64_t innermost = 0;
};

// POSIX extended expressions, each of which may match anywhere in a text.  Time is at most the
// product of the lengths of text and expression; nothing recurses.
class Patterns {
 public:
  // Fails with one line if `expression` is invalid or too large.
  absl::Status Add(std::string_view expression);

  bool empty() const { return patterns_.empty(); }
  bool MatchAny(std::string_view text) const;

 private:
  std::vector<mlprof::Regexp> patterns_;
};

// Options that select stacks and frames.  Expressions match a function's name or its file.
struct Selection {
  LabelSelection labels;  // keeps only samples with such labels
  Patterns focus;         // keeps only stacks with a frame that matches; empty: all
  Patterns ignore;        // drops stacks with a frame that matches
  Patterns exclude;       // drops frames that match from all stacks
  bool wrappers = false;  // true: amounts stay with functions that only pass memory on
};

struct Stacks {
  static constexpr size_t kMostCells = size_t{1} << 27;
  static constexpr size_t kMostFrames = 10000;  // of one stack; the outermost are cut

  std::vector<Name> names;
  std::vector<Frame> frames;    // distinct
  std::vector<uint32_t> cells;  // indices in `frames`
  std::vector<Stack> stacks;    // stacks of the samples that the selection keeps, in their order
  bool cut = false;

  const Name& NameOf(uint32_t frame) const { return names[frames[frame].name]; }
};

// Returns stacks that begin with the frame to which their blocks are charged.  That is the
// innermost interpreted function, because its callees belong to the interpreter.  A stack without
// such a function begins with the innermost function that is not a wrapper
// (tracker/names/wrappers.h), or with the innermost one if all are wrappers.  Functions in a header
// of the C++ library are wrappers, too: clang's -g1 has their names without "std::".  Indices that
// are out of range in the profile count as unknown frames.
Stacks StacksOf(const HeapProfile& profile, const Selection& selection);

}  // namespace allomon::heap

#endif  // ALLOMON_TOOLS_HEAP_STACKS_H_
