#include "tracker/profile/hooks/hook_code.h"

#if defined(__aarch64__)

namespace allomon::internal {
namespace {

constexpr uint32_t kNop = 0xd503201f;

// Instructions that -mbranch-protection=standard puts before the no-ops: bti c and bti jc, at which
// indirect calls land, and paciasp and pacibsp, which sign the return address.  They stay.
constexpr uint32_t kLandings[] = {0xd503245f, 0xd50324df, 0xd503233f, 0xd503237f};

uint32_t InstructionAt(uintptr_t address) { return *reinterpret_cast<const uint32_t*>(address); }

bool IsLanding(uint32_t instruction) {
  for (const uint32_t landing : kLandings) {
    if (instruction == landing) return true;
  }
  return false;
}

// One store, so that a thread that runs the instruction sees the old or the new one.  Not
// instrumented, because sanitizers do not know this memory as data.
__attribute__((noinline, no_sanitize("address", "thread"))) void Store(uint32_t instruction,
                                                                       uintptr_t at) {
  *reinterpret_cast<volatile uint32_t*>(at) = instruction;
}

// `b`, or `bl` if it links.  The distance is less than 128 MiB.
uint32_t Branch(bool links, uintptr_t at, uintptr_t target) {
  const uint32_t words = static_cast<uint32_t>(static_cast<intptr_t>(target - at) / 4);
  return (links ? 0x94000000 : 0x14000000) | (words & 0x03ffffff);
}

}  // namespace

uintptr_t HookOf(uintptr_t start) {
  if (IsLanding(InstructionAt(start))) start += sizeof(uint32_t);
  const bool has_room = InstructionAt(start) == kNop && InstructionAt(start + 4) == kNop;
  return has_room ? start : 0;
}

// No register is left to user code.
void WriteCountingHook(uintptr_t, uint32_t) {}

void WriteCallingHook(uintptr_t at, uintptr_t stub) { Store(Branch(false, at, stub), at); }

// ldr x16, 8 bytes on; br x16; the address of AllomonEntryCall.
void WriteStubsHead(uintptr_t head) {
  const uintptr_t target = reinterpret_cast<uintptr_t>(&AllomonEntryCall);
  Store(0x58000050, head);
  Store(0xd61f0200, head + 4);
  Store(static_cast<uint32_t>(target), head + 8);
  Store(static_cast<uint32_t>(target >> 32), head + 12);
}

// The stub keeps x30 on the stack, hands the function's place over in w17, and goes on behind the
// hook:
//   str x30, [sp, #-32]!
//   movz w17, #low
//   movk w17, #high, lsl #16
//   bl head
//   ldr x30, [sp], #32
//   b hook + 4
void WriteStub(uintptr_t stub, uintptr_t head, uintptr_t hook, uint32_t place) {
  Store(0xf81e0ffe, stub);
  Store(0x52800011 | (place & 0xffff) << 5, stub + 4);
  Store(0x72a00011 | (place >> 16) << 5, stub + 8);
  Store(Branch(true, stub + 12, head), stub + 12);
  Store(0xf84207fe, stub + 16);
  Store(Branch(false, stub + 20, hook + kHookBytes), stub + 20);
}

void PublishCode(uintptr_t begin, uintptr_t end) {
  __builtin___clear_cache(reinterpret_cast<char*>(begin), reinterpret_cast<char*>(end));
}

}  // namespace allomon::internal

#endif
