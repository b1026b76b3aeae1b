// Compiled twice, with different frame sizes, into libraries that are otherwise equal: a call has
// the same return address in both.
#include <cstdlib>

namespace {

// Hides the use of the memory from the compiler.
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
