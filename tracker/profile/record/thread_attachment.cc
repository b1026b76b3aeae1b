#include "tracker/profile/record/thread_attachment.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <mutex>

#include "tracker/base/address_space.h"
#include "tracker/base/lazy_pages.h"
#include "tracker/base/page_size.h"
#include "tracker/base/sys/raw_calls.h"
#include "tracker/callstack/managed_functions.h"
#include "tracker/profile/record/busy_scope.h"
#include "tracker/profile/record/count_source.h"
#include "tracker/profile/record/data_units.h"
#include "tracker/profile/record/open_scopes.h"
#include "tracker/profile/record/thread_profile.h"

// The address of the first word that the kernel put onto the main thread's stack; ld.so exports it.
extern "C" void* __libc_stack_end __attribute__((weak));

namespace allomon::internal {
namespace {

// Deeper than any stack of ordinary size with frames of two words.  Pages that are not reached cost
// only address space.  Where address space is limited, a thread takes at most a thousandth of it,
// down to the fewest entries: a host may have hundreds of threads.
constexpr size_t kMostEntries = size_t{1} << 20;
constexpr size_t kFewestEntries = size_t{1} << 12;
constexpr size_t kAddressSpaceParts = 1000;
constexpr size_t kEntryBytes = sizeof(ShadowEntry) + sizeof(ScopeEntry);

// The lowest entry belongs to no function.  No frame is above its frame, so popping needs no other
// end condition.
constexpr ShadowEntry kBottom = {UINTPTR_MAX, 0, nullptr, kMainSource};

pthread_key_t g_exit_key;
std::once_flag g_exit_key_once;
bool g_has_exit_key = false;

// Stacks of the largest size that ended threads have left: a short thread would pay as much for a
// mapping of its own, and for its end, as for the rest of its life with us.  Their addresses are
// less than what 8 threads take.  Taken and given by an exchange, so a fork loses none but what is
// on its way.
constexpr size_t kMostSpares = 8;
std::atomic<void*> g_spares[kMostSpares];

void* TakeSpare() {
  for (std::atomic<void*>& spare : g_spares) {
    if (spare.load(std::memory_order_relaxed) == nullptr) continue;
    if (void* const pages = spare.exchange(nullptr, std::memory_order_acquire)) return pages;
  }
  return nullptr;
}

// A host with a limit of addresses gets them back.
bool GiveSpare(void* pages) {
  if (AddressSpacePartBytes(1) != SIZE_MAX) return false;
  for (std::atomic<void*>& spare : g_spares) {
    void* none = nullptr;
    if (spare.load(std::memory_order_relaxed) == nullptr &&
        spare.compare_exchange_strong(none, pages, std::memory_order_release,
                                      std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

void UseStacks(ThreadProfile& thread, void* pages, size_t entries) {
  thread.top = thread.bottom = static_cast<ShadowEntry*>(pages);
  thread.limit = thread.bottom + entries - 1;
  *thread.bottom = kBottom;
  open_scopes.first = open_scopes.top = reinterpret_cast<ScopeEntry*>(thread.limit + 1);
  open_scopes.end = open_scopes.first + entries;
}

// Maps the shadow stack, followed by room for as many scopes.
void MapStacks(ThreadProfile& thread) {
  if (void* const spare = TakeSpare()) return UseStacks(thread, spare, kMostEntries);
  const size_t allowed_bytes = AddressSpacePartBytes(kAddressSpaceParts);
  for (size_t entries = kMostEntries; entries >= kFewestEntries; entries /= 16) {
    if (entries > kFewestEntries && entries * kEntryBytes > allowed_bytes) continue;
    void* pages = MapLazyPages(nullptr, entries * kEntryBytes,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    if (sys::IsAddress(pages)) return UseStacks(thread, pages, entries);
  }
}

// What lies beyond the first page of each stack is given back, if the thread came as far.  The
// first page stays: its last entry is cleared, or short threads with that stack would all give back
// what is not there.
void GiveBackPages(ShadowEntry* bottom, size_t entries) {
  const size_t page_bytes = PageBytes();
  char* const scopes = reinterpret_cast<char*>(bottom + entries);
  ShadowEntry& last_of_page = bottom[page_bytes / sizeof(ShadowEntry) - 1];
  const ScopeEntry& first_scope = *reinterpret_cast<const ScopeEntry*>(scopes);
  char* const rest = reinterpret_cast<char*>(bottom) + page_bytes;
  char* const end = scopes + entries * sizeof(ScopeEntry);
  if (last_of_page.frame != 0 || first_scope.frame != 0) {
    sys::Madvise(rest, static_cast<size_t>(end - rest), MADV_DONTNEED);
    last_of_page.frame = 0;
  }
}

// Called after all functions have been left.  A scope that is opened later takes the slow path, and
// finds no room.
void UnmapStacks(ThreadProfile& thread) {
  if (thread.top == nullptr) return;
  ShadowEntry* const bottom = thread.bottom;
  const size_t entries = static_cast<size_t>(thread.limit - bottom) + 1;
  open_scopes.limit.store(nullptr, std::memory_order_relaxed);
  thread.top = thread.limit = thread.bottom = nullptr;
  open_scopes.first = open_scopes.top = open_scopes.end = nullptr;
  if (entries == kMostEntries) {
    GiveBackPages(bottom, entries);
    if (GiveSpare(bottom)) return;
  }
  ForgetLazyPages(bottom, entries * kEntryBytes);
  sys::Munmap(bottom, entries * kEntryBytes);
}

// The main thread's stack grows: its largest possible extent counts as its own.
void FindMainStack(ThreadProfile& thread) {
  constexpr uintptr_t kUnlimitedBytes = uintptr_t{1} << 30;
  const uintptr_t end =
      &__libc_stack_end == nullptr ? 0 : reinterpret_cast<uintptr_t>(__libc_stack_end);
  rlimit limit = {};
  getrlimit(RLIMIT_STACK, &limit);
  thread.stack.bytes = limit.rlim_cur < kUnlimitedBytes ? limit.rlim_cur : kUnlimitedBytes;
  thread.stack.low = end - thread.stack.bytes;
  // The words of main's arguments are above the end; no function returns there.
}

// The C library puts the thread's own data, to which pthread_self() points, at the stack's end.
void FindStack(ThreadProfile& thread, size_t stack_bytes) {
  if (stack_bytes != 0) {
    thread.stack.low = static_cast<uintptr_t>(pthread_self()) - stack_bytes;
    thread.stack.bytes = stack_bytes;
    return;
  }
  if (syscall(SYS_gettid) == syscall(SYS_getpid)) return FindMainStack(thread);
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* low = nullptr;
  size_t bytes = 0;
  pthread_attr_getstack(&attributes, &low, &bytes);
  pthread_attr_destroy(&attributes);
  thread.stack.low = reinterpret_cast<uintptr_t>(low);
  thread.stack.bytes = bytes;
}

void OnThreadExit(void*) {
  ThreadProfile& thread = thread_profile;
  ForEachCountSource([](const CountSource& source) { source.thread_ends(); });
  {
    const UnitsLock hold;
    LeaveAllFunctions(thread);
    ForgetThreadLocked(thread);
    thread.unit = nullptr;
    thread.ended = true;
  }
  const BusyScope busy;
  UnmapStacks(thread);
  // `attached` stays: key destructors that run later count in the common counts.
}

void MakeExitKey() { g_has_exit_key = pthread_key_create(&g_exit_key, OnThreadExit) == 0; }

}  // namespace

void AttachThread(size_t stack_bytes) {
  ThreadProfile& thread = thread_profile;
  if (thread.attached) return;
  const BusyScope busy;
  std::call_once(g_exit_key_once, MakeExitKey);
  // The key's destructor detaches the thread.  Without it the thread would stay in the registry as
  // a dangling pointer.
  if (!g_has_exit_key || pthread_setspecific(g_exit_key, &thread) != 0) return;
  thread.attached = true;
  thread.open = &open_scopes;
  thread.managed_calls = &managed_stack;
  FindStack(thread, stack_bytes);
  MapStacks(thread);
  const UnitsLock hold;
  RegisterThreadLocked(thread);
}

}  // namespace allomon::internal
