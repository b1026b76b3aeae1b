// A shared library that allocates whenever it can.  Compiled more than once, with functions of
// other names at the same places.
#include <cstdlib>

namespace {

// What a library may do while it is loaded and unloaded.
struct AllocatesAtBothEnds {
  AllocatesAtBothEnds() : block(malloc(1000)) {}
  ~AllocatesAtBothEnds() {
    free(block);
    free(malloc(2000));
  }
  void* volatile block;
};

AllocatesAtBothEnds at_both_ends;

#if defined(PLUGIN_WITH_TLS)
thread_local AllocatesAtBothEnds at_both_ends_of_a_thread;
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
