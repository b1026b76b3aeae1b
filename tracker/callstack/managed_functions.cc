#include "tracker/callstack/managed_functions.h"

#include <pthread.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

namespace allomon {
namespace internal {

__thread ManagedStack managed_stack __attribute__((tls_model("initial-exec")));

}  // namespace internal

namespace {

constexpr size_t kMaxFunctions = size_t{1} << 20;
constexpr size_t kMaxTextBytes = size_t{64} << 20;
// A symbol is asked for by the byte before a return address: both are the function's.
constexpr uintptr_t kCodeBytes = 16;
constexpr uintptr_t kReturnOffset = 8;
constexpr size_t kMaxCalls = size_t{1} << 20;

// Complete once `text` is set.
struct Record {
  std::atomic<const char*> text;  // the name, then the file
  uint32_t name_bytes;
  uint32_t file_bytes;
  int line;
};
static_assert(sizeof(Record) <= 32);

// Reserved as one: addresses that stand for functions (never readable), records, text.
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

// Without a lock, so that a child of a fork never finds one held.  Who comes second drops
// its own.
Registry* GetRegistry() {
  Registry* registry = g_registry.load(std::memory_order_acquire);
  if (registry != nullptr) return registry;
  Registry* made = static_cast<Registry*>(Reserve(sizeof(Registry), PROT_NONE));
  if (made == nullptr) return nullptr;
  const bool writable =
      mprotect(made->records, sizeof(Registry) - sizeof(made->code), PROT_READ | PROT_WRITE) == 0;
  // Release: who sees the registry may write to it.
  if (writable && g_registry.compare_exchange_strong(registry, made, std::memory_order_acq_rel)) {
    return made;
  }
  munmap(made, sizeof(Registry));
  return registry;
}

// `size` of `limit` in a counter that only grows; false when there is no room.
bool Take(std::atomic<size_t>* counter, size_t size, size_t limit, size_t* start) {
  *start = counter->load(std::memory_order_relaxed);
  do {
    if (size > limit - *start) return false;
  } while (!counter->compare_exchange_weak(*start, *start + size, std::memory_order_relaxed));
  return true;
}

// Unmaps the thread's stack of calls when it ends.
void UnmapStack(void* base) {
  internal::ManagedStack& stack = internal::managed_stack;
  stack.top = stack.limit = nullptr;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  stack.base = nullptr;
  munmap(base, kMaxCalls * sizeof(internal::ManagedEntry));
}

// By the destructor of a key, not of a thread_local object: calls that destructors of the
// latter open would need a stack after theirs had gone, and nobody would unmap it.
bool UnmapAtThreadExit(void* base) {
  static pthread_key_t key;
  static const bool made = pthread_key_create(&key, UnmapStack) == 0;
  return made && pthread_setspecific(key, base) == 0;
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
  if (registry == nullptr) return false;
  const uintptr_t offset = address - reinterpret_cast<uintptr_t>(registry->code);
  if (offset >= sizeof(registry->code)) return false;
  const uintptr_t index = offset / kCodeBytes;
  const Record& record = registry->records[index];
  const char* text = record.text.load(std::memory_order_acquire);
  if (text == nullptr) return false;
  *name = {{text, record.name_bytes},
           {text + record.name_bytes, record.file_bytes},
           record.line,
           address - offset % kCodeBytes + kReturnOffset};
  return true;
}

namespace internal {

bool MakeManagedStackSlow() {
  ManagedStack& stack = managed_stack;
  if (stack.base != nullptr) return false;
  void* const start = Reserve(kMaxCalls * sizeof(ManagedEntry), PROT_READ | PROT_WRITE);
  if (start == nullptr) return false;
  if (!UnmapAtThreadExit(start)) {
    munmap(start, kMaxCalls * sizeof(ManagedEntry));
    return false;
  }
  stack.base = static_cast<ManagedEntry*>(start);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  stack.top = stack.base;
  stack.limit = stack.base + kMaxCalls;
  return true;
}

size_t MergeManagedFrames(const uintptr_t* frames, const uintptr_t* sps, size_t count,
                          uintptr_t* merged, size_t max_frames, bool* truncated) {
  const ManagedStack stack = managed_stack;
  const ManagedEntry* next = stack.top;  // [base, next) are further out than all written
  // What lies below the stack's end is gone: longjmp has left it here.
  while (next > stack.base && count != 0 && next[-1].frame < sps[0]) --next;
  size_t written = 0;
  for (size_t i = 0; i < count; ++i) {
    for (; next > stack.base && next[-1].frame < sps[i + 1]; --next) {
      if (written == max_frames) break;
      merged[written++] = next[-1].address;
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
