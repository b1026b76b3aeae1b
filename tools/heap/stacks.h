// The call stacks of a profile as views read them: frames by name and line, inlined ones each by
// itself, without those that a selection leaves out.
//
// A plain value that owns its texts.  Stacks of a hostile profile are cut where they would take
// more memory than kMostCells.
#ifndef ALLOMON_TOOLS_HEAP_STACKS_H_
#define ALLOMON_TOOLS_HEAP_STACKS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/heap/heap_profile.h"
#include "tools/heap/selection.h"

namespace allomon::heap {

// A function: all of one name and file are one, whatever their addresses.
struct Name {
  std::string text;  // "<unknown>" for an empty stack; "module+0x1234" where no name is known
  std::string file;  // empty: not known
  uint32_t start_line = 0;
};

struct Frame {
  uint32_t name = 0;
  uint32_t line = 0;  // 0: not known
};

struct Stack {
  uint32_t sample = 0;  // of HeapProfile::samples
  uint64_t begin = 0;   // of Stacks::cells; innermost first
  uint64_t end = 0;     // above `begin`
};

struct Stacks {
  static constexpr size_t kMostCells = size_t{1} << 27;
  static constexpr size_t kMostFrames = 10000;  // of one stack; the outermost are cut

  std::vector<Name> names;
  std::vector<Frame> frames;    // distinct
  std::vector<uint32_t> cells;  // of `frames`
  std::vector<Stack> stacks;    // of the samples that the selection keeps, in their order
  bool cut = false;

  const Name& NameOf(uint32_t frame) const { return names[frames[frame].name]; }
};

// Each stack begins with the frame that its blocks are charged to.  That is the innermost
// interpreted function, since what it called belongs to its interpreter; else the innermost
// function that is no wrapper (tracker/names/wrappers.h), unless all are.  Numbers out of range in
// the profile are taken for unknown frames.
Stacks StacksOf(const HeapProfile& profile, const Selection& selection);

}  // namespace allomon::heap

#endif  // ALLOMON_TOOLS_HEAP_STACKS_H_
