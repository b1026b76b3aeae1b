// The library that reloading_host.cc loads: each depth is another call stack.
#include <cstdlib>

extern "C" void* AllocateBelow(int depth);

extern "C" void* AllocateBelow(int depth) {
  void* volatile block = depth == 0 ? malloc(100) : AllocateBelow(depth - 1);
  return block;
}
