#include "tracker/callstack/managed_functions.h"

#include <pthread.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "tracker/base/check.h"
#include "tracker/callstack/interpreted_code.h"

namespace allomon {
namespace internal {

__thread ManagedStack managed_stack __attribute__((tls_model("initial-exec")));
std::atomic<const ManagedCallWatcher*> managed_call_watcher{nullptr};

}  // namespace internal

namespace {

constexpr size_t kMaxFunctions = size_t{1} << 20;
constexpr size_t kMaxTextBytes = size_t{64} << 20;
// A symbol is looked up by the byte before a return address, so both bytes belong to the function.
constexpr uintptr_t kCodeBytes = 16;
constexpr uintptr_t kReturnOffset = 8;
constexpr size_t kMaxCalls = size_t{1} << 20;
constexpr size_t kStackBytes = (kMaxCalls + 2) * sizeof(internal::ManagedEntry);

// Complete once `text` is set.
struct Record {
  std::atomic<const char*> text;  // the name, then the file
  uint32_t name_bytes;
  uint32_t file_bytes;
  int line;
};
static_assert(sizeof(Record) <= 32);

// Reserved as one mapping: addresses of functions (never readable), records, text.
struct Registry {
  char code[kMaxFunctions * kCodeBytes];
  Record records[kMaxFunctions];
  char text[kMaxTextBytes];
};

std::atomic<Registry*> g_registry{nullptr};
std::atomic<size_t> g_functions{0};
std::atomic<size_t> g_text_bytes{0};

void* Reserve(size_t size_bytes, int protection) {
  const int saved_errno = errno;
  void* start =
      mmap(nullptr, size_bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  errno = saved_errno;
  return start == MAP_FAILED ? nullptr : start;
}

// Takes no lock, so that a child of a fork never finds one held.  A thread that comes second unmaps
// its own registry.
Registry* GetRegistry() {
  Registry* registry = g_registry.load(std::memory_order_acquire);
  if (registry != nullptr) return registry;
  Registry* made = static_cast<Registry*>(Reserve(sizeof(Registry), PROT_NONE));
  if (made == nullptr) return nullptr;
  const bool writable =
      mprotect(made->records, sizeof(Registry) - sizeof(made->code), PROT_READ | PROT_WRITE) == 0;
  // Release: a thread that sees the registry may write to it.
  if (writable && g_registry.compare_exchange_strong(registry, made, std::memory_order_acq_rel)) {
    return made;
  }
  munmap(made, sizeof(Registry));
  return registry;
}

// Takes `size` of `limit` from a counter that only grows; false when there is no room.
bool Take(std::atomic<size_t>* counter, size_t size, size_t limit, size_t* start) {
  *start = counter->load(std::memory_order_relaxed);
  do {
    if (size > limit - *start) return false;
  } while (!counter->compare_exchange_weak(*start, *start + size, std::memory_order_relaxed));
  return true;
}

// Unmaps the thread's array of calls when the thread ends.
void UnmapStack(void* start) {
  internal::ManagedStack& stack = internal::managed_stack;
  stack.top = stack.limit = nullptr;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  stack.base = nullptr;
  munmap(start, kStackBytes);
}

// Uses the destructor of a key, not of a thread_local object: destructors of thread_local objects
// may open calls after such an object is gone.  Their calls would map a new array, which nothing
// would unmap.
bool UnmapAtThreadExit(void* start) {
  static pthread_key_t key;
  static const bool made = pthread_key_create(&key, UnmapStack) == 0;
  return made && pthread_setspecific(key, start) == 0;
}

}  // namespace

ManagedFunction RegisterManagedFunction(std::string_view name, std::string_view file, int line) {
  Registry* registry = GetRegistry();
  size_t index = 0;
  size_t text = 0;
  const size_t text_bytes = name.size() + file.size();
  if (registry == nullptr || text_bytes > kMaxTextBytes ||
      !Take(&g_text_bytes, text_bytes, kMaxTextBytes, &text) ||
      !Take(&g_functions, 1, kMaxFunctions, &index)) {
    return ManagedFunction();
  }
  ALLOMON_DCHECK("inv.managed.number", index < kMaxFunctions);
  ALLOMON_DCHECK_LE("inv.managed.text", text + text_bytes, kMaxTextBytes);
  char* to = registry->text + text;
  if (!name.empty()) memcpy(to, name.data(), name.size());
  if (!file.empty()) memcpy(to + name.size(), file.data(), file.size());
  Record& record = registry->records[index];
  record.name_bytes = static_cast<uint32_t>(name.size());
  record.file_bytes = static_cast<uint32_t>(file.size());
  record.line = line;
  // Pairs with the acquire in FindManagedFunction().
  record.text.store(to, std::memory_order_release);
  return ManagedFunction(reinterpret_cast<uintptr_t>(registry->code) + index * kCodeBytes +
                         kReturnOffset);
}

bool FindManagedFunction(uintptr_t address, ManagedFunctionName* name) {
  Registry* registry = g_registry.load(std::memory_order_acquire);
  if (registry == nullptr) return internal::FindInterpretedLine(address, name);
  const uintptr_t offset = address - reinterpret_cast<uintptr_t>(registry->code);
  if (offset >= sizeof(registry->code)) return internal::FindInterpretedLine(address, name);
  return internal::ManagedFunctionAt(static_cast<uint32_t>(offset / kCodeBytes), name);
}

namespace internal {

uint32_t ManagedFunctionCount() {
  // A function that is counted may still lack its text, which pairs for itself.
  return static_cast<uint32_t>(g_functions.load(std::memory_order_acquire));
}

uintptr_t ManagedFunctionAddress(uint32_t number) {
  const Registry* registry = g_registry.load(std::memory_order_relaxed);
  return reinterpret_cast<uintptr_t>(registry->code) + number * kCodeBytes + kReturnOffset;
}

uint32_t ManagedFunctionNumber(uintptr_t address) {
  const Registry* registry = g_registry.load(std::memory_order_relaxed);
  return static_cast<uint32_t>((address - reinterpret_cast<uintptr_t>(registry->code)) /
                               kCodeBytes);
}

uint32_t ManagedNameNumber(uintptr_t address) {
  if (!IsInterpretedLine(address)) return ManagedFunctionNumber(address);
  return static_cast<uint32_t>(kMaxFunctions) + InterpretedLineNumber(address);
}

bool ManagedFunctionAt(uint32_t number, ManagedFunctionName* name) {
  // Pairs with the release in GetRegistry().
  Registry* registry = g_registry.load(std::memory_order_acquire);
  if (registry == nullptr) return false;
  ALLOMON_DCHECK_LT("inv.managed.number", number, kMaxFunctions);
  const Record& record = registry->records[number];
  // Pairs with the release in RegisterManagedFunction(): lengths and line are there.
  const char* text = record.text.load(std::memory_order_acquire);
  if (text == nullptr) return false;
  *name = {{text, record.name_bytes},
           {text + record.name_bytes, record.file_bytes},
           record.line,
           ManagedFunctionAddress(number),
           ManagedFunctionAddress(number)};
  return true;
}

namespace {

// Top, base and limit are the same: no call has room.
bool HaveNoRoom() {
  static ManagedEntry nothing[2] = {{UINTPTR_MAX, 0}, {0, 0}};
  managed_stack.base = managed_stack.top = managed_stack.limit = &nothing[1];
  return false;
}

}  // namespace

bool MakeRoomForCallSlow(uintptr_t frame) {
  ManagedStack& stack = managed_stack;
  if (stack.base != nullptr) return DropCallsBelowSlow(frame) != stack.limit;
  void* const start = Reserve(kStackBytes, PROT_READ | PROT_WRITE);
  if (start == nullptr) return HaveNoRoom();
  if (!UnmapAtThreadExit(start)) {
    munmap(start, kStackBytes);
    return HaveNoRoom();
  }
  ManagedEntry* const bottom = static_cast<ManagedEntry*>(start);
  *bottom = {UINTPTR_MAX, 0};
  stack.base = bottom + 1;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  stack.top = stack.base;
  stack.limit = stack.base + kMaxCalls;
  ALLOMON_DCHECK_LE("inv.managed.take", stack.limit + 1, bottom + kStackBytes / sizeof(*bottom));
  return true;
}

ManagedEntry* DropCallsBelowSlow(uintptr_t frame) {
  ManagedEntry* top = managed_stack.top;
  while (top[-1].frame < frame) --top;
  EndWatchedCallsSlow(top);
  managed_stack.top = top;
  ALLOMON_DCHECK_LE("inv.managed.order", frame, top[-1].frame);
  return top;
}

void EndWatchedCallsSlow(const ManagedEntry* from) {
  // Pairs with the release by which a profile sets its watcher.
  const ManagedCallWatcher* const watcher = managed_call_watcher.load(std::memory_order_acquire);
  if (watcher != nullptr && from < managed_stack.top) watcher->end(from);
}

size_t MergeManagedFrames(const uintptr_t* frames, const uintptr_t* sps, size_t count,
                          uintptr_t* merged, size_t max_frames, bool* truncated) {
  const ManagedStack& stack = managed_stack;
  const ManagedEntry* next = stack.top;  // [base, next) are callers of all frames written
  // Entries whose frames lie below the stack's end are stale: longjmp has skipped their ends.
  while (next > stack.base && count != 0 && next[-1].frame < sps[0]) --next;
  size_t written = 0;
  for (size_t i = 0; i < count; ++i) {
    for (; next > stack.base && next[-1].frame < sps[i + 1]; --next) {
      ALLOMON_DCHECK_LE("inv.managed.order", next[-1].frame, next[-2].frame);
      if (written == max_frames) break;
      merged[written++] = next[-1].address & ~kWatched;
    }
    if (written == max_frames) {
      *truncated = true;
      return written;
    }
    merged[written++] = frames[i];
  }
  return written;
}

}  // namespace internal
}  // namespace allomon
