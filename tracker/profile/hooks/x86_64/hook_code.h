// hook_code.h for x86-64.
#ifndef ALLOMON_TRACKER_PROFILE_HOOKS_X86_64_HOOK_CODE_H_
#define ALLOMON_TRACKER_PROFILE_HOOKS_X86_64_HOOK_CODE_H_

#include <cstddef>
#include <cstdint>

namespace allomon::internal {

inline constexpr size_t kHookBytes = 9;
inline constexpr size_t kStubBytes = 24;
inline constexpr size_t kStubsHeadBytes = 0;
inline constexpr size_t kHookScanBytes = 4 + kHookBytes;

// 2 GiB, less the length of a jump, because the displacement of a jump counts from the jump's end.
inline constexpr uintptr_t kJumpReachBytes = (uintptr_t{1} << 31) - 64;

// Nine bytes are written one by one.
inline constexpr bool kReplacedAtOnce = false;

// The first byte is that of a no-op or of the landing.
inline bool MayHaveHook(uintptr_t start) {
  const unsigned char first = *reinterpret_cast<const unsigned char*>(start);
  return first == 0x90 || first == 0x66 || first == 0xf3;
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_HOOKS_X86_64_HOOK_CODE_H_
