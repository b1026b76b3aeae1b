#include "tracker/lua/native_stack.h"

#include <atomic>

#include "tracker/base/check.h"
#include "tracker/base/large_object.h"
#include "tracker/callstack/capture.h"
#include "tracker/callstack/cfi_index.h"
#include "tracker/callstack/cfi_program.h"
#include "tracker/callstack/stack_window.h"

namespace allomon::lua {
namespace {

using internal::NativeFrames;

constexpr uintptr_t kWord = sizeof(uintptr_t);
// Lua nests 200 native calls.
constexpr int kMostProtectedCalls = 256;
// At most this much of the protected call's frame is searched.
constexpr uintptr_t kMostFrameBytes = 4096;
// If the protected call keeps the pointer in a register, one of this many callees may have saved
// it.
constexpr size_t kMostCallees = 4;

// The distance of the last pointer found from its frame's beginning, plus 1: a compiler keeps it in
// one place.
std::atomic<uintptr_t> g_usual_place{0};

bool IsIn(uintptr_t address, const NativeFrames& native, size_t index) {
  return address >= native.sps[index] && address < native.sps[index + 1];
}

// Whether one of the state's protected calls, innermost first, lies in the native frame.
bool IsProtectedIn(uintptr_t state, const NativeFrames& native, size_t index,
                   ObjectReader* reader) {
  uintptr_t record;
  if (!reader->Is(state, kThread) || !reader->Load(state + kStateRecovery, &record)) return false;
  for (int i = 0; i < kMostProtectedCalls && record != 0; ++i) {
    if (IsIn(record, native, index)) return true;
    const uintptr_t inner = record;
    if (!LoadFromStack(inner, reader, &record) || record <= inner) return false;
  }
  return false;
}

uintptr_t StateAt(uintptr_t place, const NativeFrames& native, size_t index, ObjectReader* reader) {
  uintptr_t word;
  if (!LoadFromStack(place, reader, &word) || word % kWord != 0) return 0;
  const bool is_on_stack = word >= native.sps[0] && word < native.sps[index + 1];
  return !is_on_stack && IsProtectedIn(word, native, index, reader) ? word : 0;
}

uintptr_t FindStateBetween(uintptr_t begin, uintptr_t end, const NativeFrames& native, size_t index,
                           ObjectReader* reader) {
  if (end - begin > kMostFrameBytes) end = begin + kMostFrameBytes;
  for (uintptr_t place = begin; place < end; place += kWord) {
    const uintptr_t state = StateAt(place, native, index, reader);
    if (state == 0) continue;
    g_usual_place.store(place - native.sps[index] + 1, std::memory_order_relaxed);
    return state;
  }
  return 0;
}

using internal::CfiBytes;
using internal::CfiEntry;
using internal::CfiLookup;
using internal::CfiRow;
using internal::NativeFrames;
using internal::RegisterRule;

// Maximum number of frames between the walk and the call of malloc.
constexpr size_t kMostOwnFrames = 40;

// A cache by return address and register: how many words below the CFA the register is saved; 0: it
// is not saved.  An entry packs all three into one word.
constexpr int kWordsBits = 13;
constexpr int kNumberBits = 4 + internal::kPcShift / 2;
constexpr uint64_t kMostWords = (uint64_t{1} << kWordsBits) - 1;
constexpr size_t kKnownFrames = 512;
ALLOMON_LARGE_ZEROS std::atomic<uint64_t> g_known[kKnownFrames];

uint64_t WordsBelowCfa(uintptr_t pc, uint64_t number) {
  CfiBytes bytes;
  CfiEntry entry;
  CfiRow row;
  if (internal::FindCfi(pc - 1, &bytes, &entry) != CfiLookup::kFound ||
      !internal::RunCfiProgram(bytes, entry, pc - 1, &row, number)) {
    return 0;
  }
  const RegisterRule& rule = number == internal::kDwarfFp ? row.frame_pointer : row.followed;
  const uint64_t below = 0 - static_cast<uint64_t>(rule.offset);
  return rule.kind == RegisterRule::kAtCfa && below / kWord <= kMostWords ? below / kWord : 0;
}

uint64_t KnownWordsBelowCfa(uintptr_t pc, uint64_t number) {
  const uint64_t key = pc >> internal::kPcShift << kNumberBits | number;
  std::atomic<uint64_t>& known = g_known[(key * 0x9e3779b97f4a7c15u) >> 55];
  static_assert(internal::kPcBits - internal::kPcShift + kNumberBits + kWordsBits <= 64);
  static_assert(kKnownFrames == size_t{1} << (64 - 55));
  const uint64_t entry = known.load(std::memory_order_relaxed);
  if (entry >> kWordsBits == key) return entry & kMostWords;
  const uint64_t words = WordsBelowCfa(pc, number);
  ALLOMON_DCHECK("inv.lua.packed", words <= kMostWords && number >> kNumberBits == 0);
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

ALLOMON_READS_STACK bool LoadFromStack(uintptr_t address, ObjectReader* reader, uintptr_t* word) {
  if (address % kWord != 0 || !internal::StackWindow::IsKnownOwn(address)) {
    return reader->Load(address, word);
  }
  *word = internal::StackWindow::LoadUnchecked(address);
  return true;
}

size_t FindFrameIn(const CodeRange& code, const NativeFrames& native, size_t index) {
  while (index < native.count && !code.Has(native.pcs[index])) ++index;
  return index;
}

size_t FindProtection(const RunningLua& lua, const NativeFrames& native, size_t index) {
  for (; index < native.count; ++index) {
    for (int i = 0; i < lua.protection_count; ++i) {
      if (lua.protections[i].Has(native.pcs[index])) return index;
    }
  }
  return index;
}

uintptr_t FindState(const NativeFrames& native, size_t index, ObjectReader* reader) {
  ALLOMON_DCHECK_LT("inv.lua.frames", index, native.count);
  const uintptr_t sp = native.sps[index];
  const uintptr_t usual = g_usual_place.load(std::memory_order_relaxed);
  const uintptr_t usually = usual == 0 ? 0 : StateAt(sp + usual - 1, native, index, reader);
  if (usually != 0) return usually;
  uintptr_t state = FindStateBetween(sp, native.sps[index + 1], native, index, reader);
  for (size_t i = 1; state == 0 && i <= kMostCallees && i <= index; ++i) {
    state =
        FindStateBetween(native.sps[index - i], native.sps[index - i + 1], native, index, reader);
  }
  return state;
}

size_t OutermostOf(uintptr_t state, const NativeFrames& native, size_t index,
                   ObjectReader* reader) {
  uintptr_t record;
  if (!reader->Load(state + kStateRecovery, &record)) return index;
  for (int i = 0; i < kMostProtectedCalls; ++i) {
    while (index + 1 < native.count && record >= native.sps[index + 1]) ++index;
    const uintptr_t inner = record;
    if (!LoadFromStack(inner, reader, &record) || record <= inner) break;
  }
  ALLOMON_DCHECK_LT("inv.lua.frames", index, native.count);
  return index;
}

bool FindSavedRegister(const NativeFrames& native, size_t index, uint64_t number,
                       ObjectReader* reader, uintptr_t* value) {
  ALLOMON_DCHECK_LT("inv.lua.frames", index, native.count);
  return FindInFrames(native, index, number, reader, value) ||
         FindFurtherIn(native, number, reader, value);
}

}  // namespace allomon::lua
