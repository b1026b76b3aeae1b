// Compiled twice, with frames of other sizes, into libraries that differ in nothing else: what is
// the return address of the one's call is that of the other's, too.
#include <cstdlib>

namespace {

// The compiler does not see whether it is used.
void Use(char* room) { asm volatile("" : : "r"(room) : "memory"); }

}  // namespace

extern "C" {

__attribute__((noinline)) void* AllocateInFrame(size_t size_bytes) {
  char room[FRAME_BYTES];
  Use(room);
  void* const block = malloc(size_bytes);
  Use(room);
  return block;
}

__attribute__((noinline)) void CallInFrame(void (*callee)()) {
  char room[FRAME_BYTES];
  Use(room);
  callee();
  Use(room);
}

}  // extern "C"
