// Random recursion: a walk through a tree of calls of functions with frames of all kinds, compiled
// once with frame pointers and once without.
#ifndef ALLOMON_TESTS_CALLSTACK_RECURSION_H_
#define ALLOMON_TESTS_CALLSTACK_RECURSION_H_

#include <csetjmp>
#include <cstdint>

namespace allomon::testing {

// xorshift64*: small enough to leave no frames of its own.
struct Dice {
  uint32_t Roll(uint32_t sides) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return static_cast<uint32_t>((state * 0x2545f4914f6cdd1d) >> 33) % sides;
  }
  uint64_t state;
};

struct Recursion;
using Visit = void (*)(Recursion*);
struct Recursion {
  Dice dice;
  Visit visit;  // called at random frames
  void* argument;
  uint32_t max_depth;
  bool may_throw;
  int calls_left;
  uint32_t depth = 0;
  // The target of a longjmp, and the depth there.
  jmp_buf* target = nullptr;
  uint32_t target_depth = 0;
};

struct Thrown {};

// Makes about calls_left calls, with frames of both compilations mixed.
void Recurse(Recursion* recursion);

// Makes a frame of one of the two compilations; for recursion.cc itself.
void CallWithPointers(Recursion* recursion);
void CallWithoutPointers(Recursion* recursion);

}  // namespace allomon::testing

#endif  // ALLOMON_TESTS_CALLSTACK_RECURSION_H_
