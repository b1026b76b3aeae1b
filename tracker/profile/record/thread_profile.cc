#include "tracker/profile/record/thread_profile.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mutex>

#include "tracker/formats/source_table.h"
#include "tracker/profile/record/busy_scope.h"
#include "tracker/profile/record/data_units.h"
#include "tracker/profile/record/recording.h"
#include "tracker/profile/sources/clock_charging.h"
#include "tracker/profile/sources/managed_calls.h"
#include "tracker/profile/sources/time_session.h"

// Where the kernel put the first word of the main thread's stack; ld.so exports it.
extern "C" void* __libc_stack_end __attribute__((weak));

namespace allomon::internal {

__thread ThreadProfile thread_profile;

namespace {

// Deeper than any stack of ordinary size with frames of two words; where the kernel
// refuses so much address space, a part of it.  Pages that are not reached cost nothing.
constexpr size_t kMostEntries = size_t{1} << 20;
constexpr size_t kFewestEntries = size_t{1} << 12;
constexpr size_t kEntryBytes = sizeof(ShadowEntry) + sizeof(ScopeEntry);

// The lowest entry belongs to no function, and no frame is above it, so that popping
// needs no other end.
constexpr ShadowEntry kBottom = {UINTPTR_MAX, 0, nullptr, kMainSource};

pthread_key_t g_exit_key;
std::once_flag g_exit_key_once;
bool g_has_exit_key = false;

// The shadow stack, and behind it as many scopes.
void MapStacks(ThreadProfile& thread) {
  for (size_t entries = kMostEntries; entries >= kFewestEntries; entries /= 16) {
    void* pages = mmap(nullptr, entries * kEntryBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) continue;
    thread.top = thread.bottom = static_cast<ShadowEntry*>(pages);
    thread.limit = thread.bottom + entries - 1;
    *thread.bottom = kBottom;
    thread.scopes = thread.scope_top = reinterpret_cast<ScopeEntry*>(thread.limit + 1);
    thread.scope_end = thread.scopes + entries;
    return;
  }
}

// All functions have been left.  What still opens a scope takes the slow path, in vain.
void UnmapStacks(ThreadProfile& thread) {
  if (thread.top == nullptr) return;
  ShadowEntry* const bottom = thread.bottom;
  const size_t entries = static_cast<size_t>(thread.limit - bottom) + 1;
  thread.scope_limit.store(nullptr, std::memory_order_relaxed);
  thread.top = thread.limit = thread.bottom = nullptr;
  thread.scopes = thread.scope_top = thread.scope_end = nullptr;
  munmap(bottom, entries * kEntryBytes);
}

// The main thread's stack grows: what it may become counts as its own.
void FindMainStack(ThreadProfile& thread) {
  constexpr uintptr_t kUnlimitedBytes = uintptr_t{1} << 30;
  const uintptr_t end =
      &__libc_stack_end == nullptr ? 0 : reinterpret_cast<uintptr_t>(__libc_stack_end);
  rlimit limit = {};
  getrlimit(RLIMIT_STACK, &limit);
  thread.stack_bytes = limit.rlim_cur < kUnlimitedBytes ? limit.rlim_cur : kUnlimitedBytes;
  thread.stack_low = end - thread.stack_bytes;
  // The words of main's arguments are above; no function returns there.
}

void FindStack(ThreadProfile& thread) {
  if (syscall(SYS_gettid) == syscall(SYS_getpid)) return FindMainStack(thread);
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* low = nullptr;
  size_t bytes = 0;
  pthread_attr_getstack(&attributes, &low, &bytes);
  pthread_attr_destroy(&attributes);
  thread.stack_low = reinterpret_cast<uintptr_t>(low);
  thread.stack_bytes = bytes;
}

void OnThreadExit(void*) {
  ThreadProfile& thread = thread_profile;
  EndThreadTimer();
  ForgetThreadClock();
  {
    const UnitsLock hold;
    LeaveAllFunctions(thread);
    ForgetThreadLocked(thread);
    thread.unit = nullptr;
  }
  const BusyScope busy;
  UnmapStacks(thread);
  // `attached` stays: what destructors do after this one goes to the common counts.
}

void MakeExitKey() { g_has_exit_key = pthread_key_create(&g_exit_key, OnThreadExit) == 0; }

}  // namespace

namespace {

// Scopes of one frame, of functions inlined into another, lie at the same address and
// close in order: only what is strictly below has returned.
void PopBelow(ThreadProfile& thread, uintptr_t frame) {
  while (thread.top->frame < frame || HasReturned(*thread.top)) PopEntry(thread);
}

// The stack time of a function starts before its own entry is counted, so the entry is
// part of it.
void CountEntry(ThreadProfile& thread, uint32_t function) {
  const uint64_t step = thread.step.load(std::memory_order_relaxed);
  if (step != 0) CountsOf(thread).Charge(function, step);
}

}  // namespace

void NoteRunning(ThreadProfile& thread) {
  const uint32_t function = TopFunction(thread);
  thread.running.store(function, std::memory_order_relaxed);
  DoNotWatchCallsOf(function);
}

void AttachThread() {
  ThreadProfile& thread = thread_profile;
  if (thread.attached) return;
  const BusyScope busy;
  std::call_once(g_exit_key_once, MakeExitKey);
  // Without an end the thread would stay in the registry as a dangling pointer.
  if (!g_has_exit_key || pthread_setspecific(g_exit_key, &thread) != 0) return;
  thread.attached = true;
  thread.managed_calls = &managed_stack;
  FindStack(thread);
  MapStacks(thread);
  const UnitsLock hold;
  RegisterThreadLocked(thread);
}

void LeaveAllFunctions(ThreadProfile& thread) {
  while (thread.top != thread.bottom) PopEntry(thread);
}

ThreadCounts& CountsOf(const ThreadProfile& thread) {
  return thread.counts != nullptr ? *thread.counts : *UnitOf(thread).common;
}

void EnterFunction(ThreadProfile& thread, uintptr_t frame, uint32_t function) {
  if (thread.top != nullptr && IsOnOwnStack(thread, frame)) {
    PopBelow(thread, frame);
    if (thread.top < thread.limit) PushEntry(thread, frame, 0, function);
  }
  CountEntry(thread, function);
  NoteRunning(thread);
}

void LeaveFunction(ThreadProfile& thread, uintptr_t frame, uint32_t function) {
  if (thread.top == nullptr) return;
  while (thread.top->frame < frame) PopEntry(thread);
  if (thread.top->frame == frame && thread.top->function == function) PopEntry(thread);
  NoteRunning(thread);
}

void PopDead(ThreadProfile& thread, uintptr_t sp) {
  if (!IsOnOwnStack(thread, sp)) return;
  if (thread.top->frame >= sp && !HasReturned(*thread.top)) return;
  while (thread.top->frame < sp || HasReturned(*thread.top)) PopEntry(thread);
  NoteRunning(thread);
}

void AddToStackTimesSlow(ThreadProfile& thread, uintptr_t sp, uint64_t amount) {
  CatchUp(thread);
  PopDead(thread, sp);
  thread.counts->total.fetch_add(amount, std::memory_order_relaxed);
}

uint32_t RunningFunction(ThreadProfile& thread, uintptr_t sp) {
  CatchUp(thread);
  if (thread.top != nullptr) PopDead(thread, sp);
  return thread.collecting != 0 ? uint32_t{kGcSource} : TopFunction(thread);
}

}  // namespace allomon::internal
