// Every way to get a block from malloc, paired with every way to give the block back.  The tests of
// the malloc replacement run over this list.
#ifndef ALLOMON_TESTS_INTEGRATION_SUPPORT_ENTRY_POINTS_H_
#define ALLOMON_TESTS_INTEGRATION_SUPPORT_ENTRY_POINTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace allomon::testing {

struct EntryPoint {
  const char* name;  // a part of the test's name
  void* (*allocate)(size_t size_bytes);
  void (*release)(void* block, size_t size_bytes);
  size_t alignment_bytes = 0;  // 0: the alignment that every malloc provides
  bool zeroed = false;
  bool whole_pages = false;  // pvalloc rounds the requested size up to pages

  // Returns the size that the tracker must be told.
  size_t RequestedBytes(size_t size_bytes) const;

  // Returns the requested alignment, or the one that fits any object of the size.
  size_t AlignmentOf(size_t size_bytes) const;

  // Whether a return address lies in `allocate`, which calls malloc or operator new itself.
  bool Calls(uintptr_t return_address) const;
};

const std::vector<EntryPoint>& EntryPoints();

}  // namespace allomon::testing

#endif  // ALLOMON_TESTS_INTEGRATION_SUPPORT_ENTRY_POINTS_H_
