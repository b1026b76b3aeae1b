// Compiled twice: with ALLOMON_FRAME set to the function to define.
#include "tests/callstack/recursion.h"

#include <alloca.h>

// On 64-bit Arm a record replays only frames that have a saved frame pointer (tracker/callstack,
// section 11), so both compilations have them; frames.cc has those without.
#if defined(ALLOMON_OMITS_FRAME_POINTERS) && defined(__aarch64__)
#pragma GCC optimize("no-omit-frame-pointer")
#endif

namespace allomon::testing {
namespace {

#define NOINLINE __attribute__((noinline))

// Keeps memory from being optimised away, and a call from becoming a jump.
inline void Keep(void* p) { asm volatile("" : : "r"(p) : "memory"); }

// Two call sites, with frames of either compilation under each.
inline void Next(Recursion* r) {
  switch (r->dice.Roll(4)) {
    case 0:
      CallWithPointers(r);
      asm volatile("# 0");
      break;
    case 1:
      CallWithPointers(r);
      asm volatile("# 1");
      break;
    case 2:
      CallWithoutPointers(r);
      asm volatile("# 2");
      break;
    default:
      CallWithoutPointers(r);
      asm volatile("# 3");
  }
}

NOINLINE void Small(Recursion* r) {
  Next(r);
  Keep(r);
}

template <int kWords>
NOINLINE void Local(Recursion* r) {
  long local[kWords];
  Keep(local);
  Next(r);
  Keep(local);
}

NOINLINE void Alloca(Recursion* r) {
  Keep(alloca(8 + 8 * r->dice.Roll(20)));
  Next(r);
  Keep(r);
}

NOINLINE void Realigned(Recursion* r) {
  alignas(64) char local[64];
  Keep(local);
  Next(r);
  Keep(local);
}

#if defined(ALLOMON_OMITS_FRAME_POINTERS) && defined(__x86_64__) && \
    !defined(__SANITIZE_ADDRESS__)  // which needs rbp itself
// Uses rbp as a general register, with another value each time, which sometimes looks like a frame
// pointer.
NOINLINE void ClobbersBp(Recursion* r) {
  uint64_t value = r->dice.Roll(3);
  uint64_t place;
  Keep(&place);
  if (value == 2) {
    value = reinterpret_cast<uint64_t>(&place) + 8 * r->dice.Roll(40);
  }
  asm volatile("mov %0, %%rbp" : : "r"(value) : "rbp", "memory");
  Next(r);
  Keep(r);
}

NOINLINE void ClobbersBpInSmallFrame(Recursion* r) {
  uint64_t value = r->dice.Roll(1000);
  asm volatile("mov %0, %%rbp" : : "r"(value) : "rbp", "memory");
  Next(r);
  Keep(r);
}
#else
constexpr Visit ClobbersBp = Small;
constexpr Visit ClobbersBpInSmallFrame = Local<2>;
#endif

NOINLINE void Catches(Recursion* r) {
  const uint32_t depth = r->depth;
  const bool before = r->may_throw;
  r->may_throw = true;
  try {
    Next(r);
  } catch (const Thrown&) {
    r->depth = depth;
  }
  r->may_throw = before;
  Keep(r);
}

NOINLINE void SetsTarget(Recursion* r) {
  jmp_buf here;
  jmp_buf* const outer = r->target;
  const uint32_t outer_depth = r->target_depth;
  const uint32_t depth = r->depth;
  const bool may_throw = r->may_throw;
  if (setjmp(here) == 0) {
    r->target = &here;
    r->target_depth = depth;
    // No exception may leave this block with the target set.
    r->may_throw = false;
    Next(r);
  }
  r->depth = depth;
  r->target = outer;
  r->target_depth = outer_depth;
  r->may_throw = may_throw;
  Keep(r);
}

constexpr Visit kKinds[] = {
    Small,   Local<1>,   Local<9>,   Local<100>, Alloca, Realigned,
    Catches, SetsTarget, ClobbersBp, ClobbersBp, Small,  ClobbersBpInSmallFrame,
};

}  // namespace

void ALLOMON_FRAME(Recursion* r) {
  if (r->dice.Roll(3) == 0) r->visit(r);
  if (r->calls_left <= 0 || r->depth >= r->max_depth) return;
  ++r->depth;
  for (uint32_t n = 1 + r->dice.Roll(2); n > 0 && r->calls_left > 0; --n) {
    --r->calls_left;
    kKinds[r->dice.Roll(sizeof(kKinds) / sizeof(kKinds[0]))](r);
    if (r->dice.Roll(2) == 0) r->visit(r);
    if (r->may_throw && r->dice.Roll(60) == 0) throw Thrown();
    if (r->target != nullptr && r->dice.Roll(60) == 0) longjmp(*r->target, 1);
  }
  --r->depth;
}

#if defined(ALLOMON_OMITS_FRAME_POINTERS)
void Recurse(Recursion* r) {
  while (r->calls_left > 0) {
    Next(r);
    Keep(r);
  }
}
#endif

}  // namespace allomon::testing
