#include "tracker/profile/hooks/hook_code.h"

#if defined(__x86_64__)
#include <cstring>
#include <initializer_list>
#include <string_view>

#include "tracker/profile/record/function_counts.h"

namespace allomon::internal {
namespace {

using Nop = unsigned char[kHookBytes];

// g++ emits nine no-ops of one byte, clang++ one no-op of nine bytes.
constexpr Nop kNops[] = {
    {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90},
    {0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x02, 0x00, 0x00},
    {0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
};

// The instruction at the start of a function that indirect calls may reach, with -fcf-protection.
constexpr std::string_view kLanding = "\xf3\x0f\x1e\xfa";
static_assert(kHookScanBytes == kLanding.size() + kHookBytes);

bool StartsWith(uintptr_t address, const void* bytes, size_t size) {
  return memcmp(reinterpret_cast<const void*>(address), bytes, size) == 0;
}

// Code that is being composed, before it is stored.
struct Code {
  unsigned char bytes[kStubBytes];
  size_t size = 0;

  void Add(std::initializer_list<unsigned char> more) {
    for (const unsigned char byte : more) bytes[size++] = byte;
  }
  void AddWord(uint64_t word) {
    for (int shift = 0; shift < 32; shift += 8) {
      bytes[size++] = static_cast<unsigned char>(word >> shift);
    }
  }
  // Adds `opcode`, a call or jump, which will be stored at `at`.
  void AddJump(unsigned char opcode, uintptr_t at, uintptr_t target) {
    Add({opcode});
    AddWord(target - (at + size + 4));
  }
};

// Not instrumented, because sanitizers do not know this memory as data.
__attribute__((noinline, no_sanitize("address", "thread"))) void StoreCode(const Code& code,
                                                                           uintptr_t at) {
  volatile unsigned char* const to = reinterpret_cast<unsigned char*>(at);
  for (size_t i = 0; i < code.size; ++i) to[i] = code.bytes[i];
}

}  // namespace

uintptr_t HookOf(uintptr_t start) {
  if (StartsWith(start, kLanding.data(), kLanding.size())) start += kLanding.size();
  for (const Nop& nop : kNops) {
    if (StartsWith(start, nop, kHookBytes)) return start;
  }
  return 0;
}

// incq %gs:<place of the function's cell>
void WriteCountingHook(uintptr_t at, uint32_t place) {
  Code code;
  code.Add({0x65, 0x48, 0xff, 0x04, 0x25});
  code.AddWord(place * sizeof(FunctionCell) + offsetof(FunctionCell, current));
  StoreCode(code, at);
}

// call <the hook's own code>; a no-op of four bytes
void WriteCallingHook(uintptr_t at, uintptr_t stub) {
  Code code;
  code.AddJump(0xe8, at, stub);
  code.Add({0x0f, 0x1f, 0x40, 0x00});
  StoreCode(code, at);
}

void WriteStubsHead(uintptr_t) {}

// push $place; jmp *(%rip); the address of AllomonEntryCall, which pops the number.  The call has
// pushed the way back to the hook.
void WriteStub(uintptr_t stub, uintptr_t, uintptr_t, uint32_t place) {
  Code code;
  code.Add({0x68});
  code.AddWord(place);
  code.Add({0xff, 0x25, 0, 0, 0, 0});
  const uintptr_t target = reinterpret_cast<uintptr_t>(&AllomonEntryCall);
  code.AddWord(target);
  code.AddWord(target >> 32);
  StoreCode(code, stub);
}

// This processor sees its own stores.
void PublishCode(uintptr_t, uintptr_t) {}

}  // namespace allomon::internal

#endif
