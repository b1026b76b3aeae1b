// A library whose functions have entry hooks, and call back into the host.
#include <cstdint>
#include <cstdlib>

namespace {

struct AtBothEnds {
  AtBothEnds() : block(malloc(100)) {}
  ~AtBothEnds() {
    free(block);
    free(malloc(200));
  }
  void* volatile block;
};

AtBothEnds of_the_library;
thread_local AtBothEnds of_a_thread;

}  // namespace

extern "C" __attribute__((noinline)) uint64_t CallBack(uint64_t (*work)(unsigned), unsigned seed,
                                                       int depth) {
  if (depth > 0) return CallBack(work, seed, depth - 1) + 1;
  void* volatile block = malloc(seed % 1000);
  const uint64_t sum = work(seed);
  free(block);
  return sum;
}

// After this call the library stays loaded until the thread has ended.
extern "C" void TouchThreadLocal() { static_cast<volatile char*>(of_a_thread.block)[0] = 1; }
