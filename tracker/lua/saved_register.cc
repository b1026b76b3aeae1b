#include "tracker/lua/saved_register.h"

#include <atomic>

#include "tracker/callstack/capture.h"
#include "tracker/callstack/cfi_index.h"
#include "tracker/callstack/cfi_program.h"
#include "tracker/lua/native_stack.h"

namespace allomon::lua {
namespace {

using internal::CfiBytes;
using internal::CfiEntry;
using internal::CfiLookup;
using internal::CfiRow;
using internal::NativeFrames;
using internal::RegisterRule;

constexpr uint64_t kWord = sizeof(uintptr_t);
// Maximum number of frames between the walk and the call of malloc.
constexpr size_t kMostOwnFrames = 40;

// A cache by return address and register: how many words below the CFA the register is saved; 0: it
// is not saved.  An entry packs all three into one word.
constexpr int kWordsBits = 13;
constexpr int kNumberBits = 4;
constexpr uint64_t kMostWords = (uint64_t{1} << kWordsBits) - 1;
constexpr size_t kKnownFrames = 512;
std::atomic<uint64_t> g_known[kKnownFrames];

uint64_t WordsBelowCfa(uintptr_t pc, uint64_t number) {
  CfiBytes bytes;
  CfiEntry entry;
  CfiRow row;
  if (internal::FindCfi(pc - 1, &bytes, &entry) != CfiLookup::kFound ||
      !internal::RunCfiProgram(bytes, entry, pc - 1, &row, number)) {
    return 0;
  }
  const RegisterRule& rule = number == internal::kDwarfRbp ? row.frame_pointer : row.followed;
  const uint64_t below = 0 - static_cast<uint64_t>(rule.offset);
  return rule.kind == RegisterRule::kAtCfa && below / kWord <= kMostWords ? below / kWord : 0;
}

uint64_t KnownWordsBelowCfa(uintptr_t pc, uint64_t number) {
  const uint64_t key = pc << kNumberBits | number;
  std::atomic<uint64_t>& known = g_known[(key * 0x9e3779b97f4a7c15u) >> 55];
  static_assert(kKnownFrames == size_t{1} << (64 - 55));
  const uint64_t entry = known.load(std::memory_order_relaxed);
  if (entry >> kWordsBits == key) return entry & kMostWords;
  const uint64_t words = WordsBelowCfa(pc, number);
  known.store(key << kWordsBits | words, std::memory_order_relaxed);
  return words;
}

bool FindInFrames(const NativeFrames& native, size_t index, uint64_t number, ObjectReader* reader,
                  uintptr_t* value) {
  while (index-- > 0) {
    const uint64_t words = KnownWordsBelowCfa(native.pcs[index], number);
    if (words != 0) return LoadFromStack(native.sps[index + 1] - words * kWord, reader, value);
  }
  return false;
}

__attribute__((noinline)) size_t CaptureCaller(uintptr_t* pcs, uintptr_t* sps) {
  return CaptureNativeFrames(ALLOMON_CALLER_FRAME(), pcs, sps, kMostOwnFrames);
}

// Searches the callees of the first frame of `native`, down to this function, which saves all
// registers.
__attribute__((noinline)) bool FindFurtherIn(const NativeFrames& native, uint64_t number,
                                             ObjectReader* reader, uintptr_t* value) {
  __builtin_unwind_init();
  uintptr_t pcs[kMostOwnFrames];
  uintptr_t sps[kMostOwnFrames + 1];
  const size_t count = CaptureCaller(pcs, sps);
  size_t own = 0;
  while (own < count && sps[own] < native.sps[0]) ++own;
  return own < count && sps[own] == native.sps[0] &&
         FindInFrames({pcs, sps, own}, own, number, reader, value);
}

}  // namespace

bool FindSavedRegister(const NativeFrames& native, size_t index, uint64_t number,
                       ObjectReader* reader, uintptr_t* value) {
  return FindInFrames(native, index, number, reader, value) ||
         FindFurtherIn(native, number, reader, value);
}

}  // namespace allomon::lua
