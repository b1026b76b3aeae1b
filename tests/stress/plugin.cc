// A shared library that allocates whenever it can.  It is compiled more than once, with functions
// of other names at the same places.
#include <cstdlib>

namespace {

// Allocates when a library is loaded and unloaded: one block at the beginning, and one of twice its
// size at the end.
template <size_t size_bytes>
struct AllocatesAtBothEnds {
  AllocatesAtBothEnds() : block(malloc(size_bytes)) {}
  ~AllocatesAtBothEnds() {
    free(block);
    free(malloc(2 * size_bytes));
  }
  void* volatile block;
};

AllocatesAtBothEnds<1001> at_both_ends;

#if defined(PLUGIN_WITH_TLS)
thread_local AllocatesAtBothEnds<3001> at_both_ends_of_a_thread;
#endif

}  // namespace

extern "C" {

__attribute__((noinline)) void* PLUGIN_FUNCTION(size_t size) {
  void* volatile block = malloc(size);
  return block;
}

void* AllocateInPlugin(size_t size) {
  void* volatile block = PLUGIN_FUNCTION(size);
  return block;
}

void TouchThreadLocal() {
#if defined(PLUGIN_WITH_TLS)
  *static_cast<char*>(at_both_ends_of_a_thread.block) = 1;
#endif
}
}
