// A program that leaks from an inlined function, and through a wrapper.  debug_files_test.py finds
// its lines by the words after `line:`.
#include <cstdio>
#include <cstdlib>

namespace {

constexpr int kBlocks = 2000;
void* g_blocks[kBlocks];

}  // namespace

inline __attribute__((always_inline)) void* OpenSession() {
  return malloc(1000);  // line: of OpenSession
}

__attribute__((noinline)) void Serve(int sessions) {
  for (int i = 0; i < sessions; ++i) {
    g_blocks[i] = OpenSession();
  }
}

extern "C" __attribute__((noinline)) void* pool_xmalloc(size_t size_bytes) {
  void* block = malloc(size_bytes);
  asm volatile("" : : "r"(block) : "memory");  // not a tail call
  return block;
}

__attribute__((noinline)) void Accept(int first, int end) {
  for (int i = first; i < end; ++i) {
    g_blocks[i] = pool_xmalloc(500);  // line: of Accept
  }
}

namespace {

__attribute__((noinline)) void* PartOfWrapper(size_t size_bytes) {
  void* block = malloc(size_bytes);
  asm volatile("" : : "r"(block) : "memory");
  return block;
}

}  // namespace

// Keeps its name when the program is stripped.
extern "C" __attribute__((noinline)) void* exported_xmalloc(size_t size_bytes) {
  void* block = PartOfWrapper(size_bytes);
  asm volatile("" : : "r"(block) : "memory");
  return block;
}

__attribute__((noinline)) void Listen() {
  g_blocks[0] = exported_xmalloc(700);
  asm volatile("" : : : "memory");
}

int main() {
  Serve(kBlocks / 2);
  Accept(kBlocks / 2, kBlocks);
  Listen();
  std::fputs("done\n", stderr);
}
