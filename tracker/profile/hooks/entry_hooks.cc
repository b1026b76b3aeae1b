#include "tracker/profile/hooks/entry_hooks.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <mutex>
#include <utility>
#include <vector>

#include "tracker/base/all_signals_blocked.h"
#include "tracker/base/check.h"
#include "tracker/base/own_threads.h"
#include "tracker/base/sys/raw_calls.h"
#include "tracker/profile/hooks/entry_counters.h"
#include "tracker/profile/hooks/hook_code.h"
#include "tracker/profile/hooks/map_near.h"
#include "tracker/profile/record/count_source.h"
#include "tracker/profile/record/data_units.h"
#include "tracker/profile/record/recording.h"

// Newer C libraries have it (2.32).
extern "C" __attribute__((weak)) char __libc_single_threaded;

namespace allomon::internal {
namespace {

struct State {
  const uintptr_t* starts = nullptr;
  uint32_t count = 0;
  const std::vector<size_t>* module_ends = nullptr;
  const std::vector<uintptr_t>* stubs = nullptr;  // for each hook, where its stub is
  HookMode mode = HookMode::kNone;
};
State g_hooks;
bool g_use_hooks_of_host = false;

// The list is never destroyed: destructors of other static objects may still write a profile.
void ListHooks() {
  static const HooksFound& hooks = *new HooksFound(ScanForHooks());
  g_hooks.starts = hooks.starts.data();
  g_hooks.count = static_cast<uint32_t>(hooks.starts.size());
  g_hooks.module_ends = &hooks.module_ends;
  // Ticks read the places.
  static const HookPlaces places = {g_hooks.starts,
                                    {reinterpret_cast<uintptr_t>(&AllomonEntryCall),
                                     reinterpret_cast<uintptr_t>(&AllomonOnEntryCode)}};
  hook_places.store(&places, std::memory_order_release);
  hooked_functions.store(g_hooks.count, std::memory_order_relaxed);
}

bool Fail(std::string what, std::string* error) {
  *error = std::move(what);
  return false;
}

// The thread sanitizer has up to two threads of its own, which run no code of the program.
#if defined(__SANITIZE_THREAD__)
constexpr int kOtherThreads = 2;
#else
constexpr int kOtherThreads = 0;
#endif

bool HasOneThreadNow() {
  int threads = 0;
  return VisitOwnThreads([&threads](pid_t) { ++threads; }) && threads <= 1 + kOtherThreads;
}

// An emulator of another processor has threads of its own, which /proc lists.  The C library knows
// those that it made, but not a thread by a system call of the program's own: that is enough where
// such a thread can run a hook that is being written.
bool HasMadeNoThread() {
  return kReplacedAtOnce && &__libc_single_threaded != nullptr && __libc_single_threaded != 0;
}

// A joined thread is still listed for some microseconds.
bool HasOneThread() {
  if (HasMadeNoThread()) return true;
  constexpr timespec kPause = {0, 100'000};
  for (int i = 0; i < 100; ++i) {
    if (HasOneThreadNow()) return true;
    sys::Nanosleep(kPause);
  }
  return false;
}

// Makes the stubs of the hooks [begin, end), which belong to one module.  If it fails, the pages of
// earlier modules stay mapped, unused.
bool MakeStubsOfModule(size_t begin, size_t end, uintptr_t* stubs, std::string* error) {
  const size_t size_bytes = kStubsHeadBytes + (end - begin) * kStubBytes;
  const auto [first, last] = std::minmax_element(g_hooks.starts + begin, g_hooks.starts + end);
  void* const pages = MapNear(*first, *last + kHookBytes, size_bytes, kJumpReachBytes);
  if (pages == nullptr) return Fail("no address space near the code", error);
  const uintptr_t head = reinterpret_cast<uintptr_t>(pages);
  WriteStubsHead(head);
  for (size_t hook = begin; hook < end; ++hook) {
    stubs[hook] = head + kStubsHeadBytes + (hook - begin) * kStubBytes;
    WriteStub(stubs[hook], head, g_hooks.starts[hook], IndexOfHook(static_cast<uint32_t>(hook)));
  }
  PublishCode(head, head + size_bytes);
  if (mprotect(pages, size_bytes, PROT_READ | PROT_EXEC) == 0) return true;
  const int cause = errno;
  munmap(pages, size_bytes);
  return Fail(std::string("this system forbids new code: ") + strerror(cause), error);
}

bool MakeStubs(std::string* error) {
  if (g_hooks.stubs != nullptr) return true;
  // Never destroyed, as the list is not.
  auto& stubs = *new std::vector<uintptr_t>(g_hooks.count);
  size_t begin = 0;
  for (const size_t end : *g_hooks.module_ends) {
    if (!MakeStubsOfModule(begin, end, stubs.data(), error)) return delete &stubs, false;
    begin = end;
  }
  g_hooks.stubs = &stubs;
  return true;
}

void WriteHook(uint32_t hook, HookMode mode) {
  const uintptr_t at = g_hooks.starts[hook];
  if (mode == HookMode::kCount) {
    WriteCountingHook(at, IndexOfHook(hook));
  } else {
    WriteCallingHook(at, (*g_hooks.stubs)[hook]);
  }
  PublishCode(at, at + kHookBytes);
}

// Changes the protection of all pages that hooks lie in, one by one: there may be other memory
// between them.
bool ProtectHooks(int protection) {
  const uintptr_t page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  uintptr_t last = 0;
  for (uint32_t hook = 0; hook < g_hooks.count; ++hook) {
    const uintptr_t begin = g_hooks.starts[hook] & ~(page_bytes - 1);
    const uintptr_t end = g_hooks.starts[hook] + kHookBytes;
    if (begin == last && end <= begin + page_bytes) continue;
    if (mprotect(reinterpret_cast<void*>(begin), end - begin, protection) != 0) return false;
    last = begin;
  }
  return true;
}

bool WriteHooks(HookMode mode, std::string* error) {
  // The pages stay executable all the while, because this very function may lie in one of them.
  if (!ProtectHooks(PROT_READ | PROT_WRITE | PROT_EXEC)) {
    const int cause = errno;
    ProtectHooks(PROT_READ | PROT_EXEC);
    return Fail(std::string("this system forbids changing code: ") + strerror(cause), error);
  }
  {
    // The only thread of the process must not run half-written code in a signal handler.
    const AllSignalsBlocked blocked;
    for (uint32_t hook = 0; hook < g_hooks.count; ++hook) WriteHook(hook, mode);
  }
  ProtectHooks(PROT_READ | PROT_EXEC);
  g_hooks.mode = mode;
  return true;
}

}  // namespace

HookedFunctions FindHookedFunctions() {
  static std::once_flag once;
  if (answers_for_itself.load() || g_use_hooks_of_host) {
    std::call_once(once, ListHooks);
  }
  return {g_hooks.starts, g_hooks.count};
}

void UseHooksOfHost() { g_use_hooks_of_host = true; }

HookMode CurrentHookMode() { return g_hooks.mode; }

namespace {

// Counts by the register follow the thread from one unit of data to the next.
void FollowCellsLocked(FunctionCell* cells) ALLOMON_REQUIRES(units_mutex) {
  if (g_hooks.mode == HookMode::kCount) SetEntryCounters(cells);
}

constexpr CountSource kSource = {[] {}, [] {}, [] {}, FollowCellsLocked};

}  // namespace

bool SetHooksLocked(HookMode mode, std::string* error) {
  ALLOMON_DCHECK("inv.units.locked", units_mutex.IsHeldForCheck());
  if (g_hooks.count == 0 || mode == HookMode::kNone) return true;
  RegisterCountSource(kHookSource, &kSource);
  // If the register cannot be set, hooks count through the call.
  if (mode == HookMode::kCount && g_hooks.mode != mode && !CanSetEntryCounters()) {
    mode = HookMode::kCall;
  }
  if (g_hooks.mode == mode) return true;
  if (!HasOneThread()) {
    return Fail("entry hooks can be put in only while the program has one thread", error);
  }
  ThreadCounts& counts = CountsOfThisThreadLocked();
  if (counts.functions < FunctionTableSize()) {
    return Fail("there is no room to count so many functions; start earlier", error);
  }
  if (mode == HookMode::kCall && !MakeStubs(error)) return false;
  // The register is set before the first hook counts: the hooked function may be one that the
  // profiler calls itself.
  if (mode == HookMode::kCount) SetEntryCounters(counts.cells);
  return WriteHooks(mode, error);
}

}  // namespace allomon::internal
