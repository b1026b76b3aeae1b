#include "tracker/profile/hooks/entry_hooks.h"

#include <dirent.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <initializer_list>
#include <mutex>
#include <utility>
#include <vector>

#include "tracker/base/all_signals_blocked.h"
#include "tracker/base/check.h"
#include "tracker/base/sys/raw_calls.h"
#include "tracker/profile/hooks/entry_counters.h"
#include "tracker/profile/hooks/map_near.h"
#include "tracker/profile/record/count_source.h"
#include "tracker/profile/record/data_units.h"
#include "tracker/profile/record/recording.h"

extern "C" {
// Defined in x86_64/entry_call.cc; a hook calls it with the hook's number on the stack.
void AllomonEntryCall();
}

namespace allomon::internal {
namespace {

struct State {
  const uintptr_t* starts = nullptr;
  uint32_t count = 0;
  const std::vector<size_t>* module_ends = nullptr;
  const std::vector<uintptr_t>* calls = nullptr;  // for each hook, where its kCallBytes of code are
  HookMode mode = HookMode::kNone;
};
State g_hooks;
bool g_use_hooks_of_host = false;

constexpr size_t kCallBytes = 24;

// The list is never destroyed: destructors of other static objects may still write a profile.
void ListHooks() {
  static const HooksFound& hooks = *new HooksFound(ScanForHooks());
  g_hooks.starts = hooks.starts.data();
  g_hooks.count = static_cast<uint32_t>(hooks.starts.size());
  g_hooks.module_ends = &hooks.module_ends;
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

// A listing of three entries, such as ". .. 1234", is one thread.
bool HasOneThreadNow() {
  DIR* const tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return false;
  int entries = 0;
  while (readdir(tasks) != nullptr) ++entries;
  closedir(tasks);
  return entries <= 3 + kOtherThreads;
}

// A joined thread is still listed for some microseconds.
bool HasOneThread() {
  constexpr timespec kPause = {0, 100'000};
  for (int i = 0; i < 100; ++i) {
    if (HasOneThreadNow()) return true;
    sys::Nanosleep(kPause);
  }
  return false;
}

// Code that is being composed, before it is stored.
struct Code {
  unsigned char bytes[kCallBytes];
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

// push $place; jmp *(%rip); the address of AllomonEntryCall, which may be in a library far
// from the executable.
void WriteCall(uintptr_t at, uint32_t place) {
  Code code;
  code.Add({0x68});
  code.AddWord(place);
  code.Add({0xff, 0x25, 0, 0, 0, 0});
  const uintptr_t target = reinterpret_cast<uintptr_t>(&AllomonEntryCall);
  code.AddWord(target);
  code.AddWord(target >> 32);
  StoreCode(code, at);
}

// Makes the calls of the hooks [begin, end), which belong to one module.  If it fails, the pages of
// earlier modules stay mapped, unused.
bool MakeCallsOfModule(size_t begin, size_t end, uintptr_t* calls, std::string* error) {
  const size_t size_bytes = (end - begin) * kCallBytes;
  const auto [first, last] = std::minmax_element(g_hooks.starts + begin, g_hooks.starts + end);
  void* const pages = MapNear(*first, *last + kHookBytes, size_bytes);
  if (pages == nullptr) return Fail("no address space near the code", error);
  for (size_t hook = begin; hook < end; ++hook) {
    calls[hook] = reinterpret_cast<uintptr_t>(pages) + (hook - begin) * kCallBytes;
    WriteCall(calls[hook], IndexOfHook(static_cast<uint32_t>(hook)));
  }
  if (mprotect(pages, size_bytes, PROT_READ | PROT_EXEC) == 0) return true;
  const int cause = errno;
  munmap(pages, size_bytes);
  return Fail(std::string("this system forbids new code: ") + strerror(cause), error);
}

bool MakeCalls(std::string* error) {
  if (g_hooks.calls != nullptr) return true;
  // Never destroyed, as the list is not.
  auto& calls = *new std::vector<uintptr_t>(g_hooks.count);
  size_t begin = 0;
  for (const size_t end : *g_hooks.module_ends) {
    if (!MakeCallsOfModule(begin, end, calls.data(), error)) return delete &calls, false;
    begin = end;
  }
  g_hooks.calls = &calls;
  return true;
}

// incq %gs:<place of the function's cell>
Code CountingCode(uint32_t place) {
  Code code;
  code.Add({0x65, 0x48, 0xff, 0x04, 0x25});
  code.AddWord(place * sizeof(FunctionCell) + offsetof(FunctionCell, current));
  return code;
}

// call <the hook's own code>; a no-op of four bytes
Code CallingCode(uint32_t hook) {
  Code code;
  code.AddJump(0xe8, g_hooks.starts[hook], (*g_hooks.calls)[hook]);
  code.Add({0x0f, 0x1f, 0x40, 0x00});
  return code;
}

void WriteHook(uint32_t hook, HookMode mode) {
  const Code code = mode == HookMode::kCount ? CountingCode(IndexOfHook(hook)) : CallingCode(hook);
  StoreCode(code, g_hooks.starts[hook]);
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
  if (kHasEntryHooks && (answers_for_itself.load() || g_use_hooks_of_host)) {
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
  if (mode == HookMode::kCall && !MakeCalls(error)) return false;
  // The register is set before the first hook counts: the hooked function may be one that the
  // profiler calls itself.
  if (mode == HookMode::kCount) SetEntryCounters(counts.cells);
  return WriteHooks(mode, error);
}

}  // namespace allomon::internal
