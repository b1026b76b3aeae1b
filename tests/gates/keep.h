// Allocations that compilers cannot remove, each in a function that call stacks show.
#ifndef ALLOMON_TESTS_GATES_KEEP_H_
#define ALLOMON_TESTS_GATES_KEEP_H_

#include <cstdlib>
#include <memory>
#include <new>

namespace allomon {

template <typename T>
T* Keep(T* pointer) {
  asm volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

struct Free {
  void operator()(void* block) const { std::free(block); }
};
using Block = std::unique_ptr<void, Free>;

__attribute__((noinline)) inline Block Take(size_t size_bytes) {
  return Block(Keep(std::malloc(size_bytes)));
}

}  // namespace allomon

#endif  // ALLOMON_TESTS_GATES_KEEP_H_
