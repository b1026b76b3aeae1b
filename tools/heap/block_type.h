// The type of a block: the one that its process knows, as a managed heap does, or the C++ type, as
// far as the names on its call stack tell it.
//
// The functions between malloc and the caller that is charged are those of allocators and
// containers: "std::__new_allocator<Order>::allocate", "std::make_unique<Order>".  Debug
// information of -g1 has the names of inlined ones.  Without it the linker's table names those
// that were not inlined.  A plain `new Order` leaves no name: its type is known where the debug
// information of the call tells it, as clang 21 writes it.
#ifndef ALLOMON_TOOLS_HEAP_BLOCK_TYPE_H_
#define ALLOMON_TOOLS_HEAP_BLOCK_TYPE_H_

#include <optional>
#include <string>
#include <vector>

#include "tools/heap/heap_profile.h"
#include "tools/heap/stacks.h"

namespace allomon::heap {

struct BlockType {
  std::string type;    // of an element: "Order", "std::pair<Key const, Order>"; empty: not known
  std::string holder;  // "std::vector<Order>", "std::make_unique", "operator new of Order"; "a
                       // managed heap" and "Python" of types that the process knows; empty: not
                       // known
  // True if only the linker's table knew the function.  Code of another container may have been
  // inlined into it, and may have asked for the memory.
  bool by_symbol = false;
};

// Takes types from the samples of a profile, or reads them out of the names of its `stacks`.  Both
// must outlive it.  Reads each name once.  Not thread safe.
class BlockTypes {
 public:
  BlockTypes(const HeapProfile& profile, const Stacks& stacks)
      : profile_(profile), stacks_(stacks), clues_(stacks.names.size()) {}

  BlockType Of(const Stack& stack);

 private:
  const BlockType& ClueOf(uint32_t name);
  // A plain `new` leaves no name, but debug information may tell the type.
  void TakeNewType(const Sample& sample, BlockType* found) const;

  const HeapProfile& profile_;
  const Stacks& stacks_;
  std::vector<std::optional<BlockType>> clues_;  // by name
};

// Returns the type and the holder that a function's name, in the form for people, tells.
BlockType ClueOfName(const std::string& name, const std::string& file);

}  // namespace allomon::heap

#endif  // ALLOMON_TOOLS_HEAP_BLOCK_TYPE_H_
