#include "tracker/profile/thread_profile.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mutex>

#include "tracker/internal/thread_state.h"
#include "tracker/profile/data_units.h"
#include "tracker/profile/recording.h"
#include "tracker/profile/source_table.h"
#include "tracker/profile/time_session.h"

// Where the kernel put the first word of the main thread's stack; ld.so exports it.
extern "C" void* __libc_stack_end __attribute__((weak));

namespace allomon::internal {

__thread ThreadProfile thread_profile;

namespace {

// Deeper than any stack of ordinary size with frames of two words; where the kernel
// refuses so much address space, a part of it.  Pages that are not reached cost nothing.
constexpr size_t kMostEntries = size_t{1} << 20;
constexpr size_t kFewestEntries = size_t{1} << 12;

// The lowest entry belongs to no function, and no frame is above it, so that popping
// needs no other end.
constexpr ShadowEntry kBottom = {UINTPTR_MAX, 0, nullptr, 0};

pthread_key_t g_exit_key;
std::once_flag g_exit_key_once;
bool g_has_exit_key = false;

void MapShadowStack(ThreadProfile& thread) {
  for (size_t entries = kMostEntries; entries >= kFewestEntries; entries /= 16) {
    void* pages = mmap(nullptr, entries * sizeof(ShadowEntry), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) continue;
    thread.top = static_cast<ShadowEntry*>(pages);
    thread.limit = thread.top + entries - 1;
    *thread.top = kBottom;
    return;
  }
}

void UnmapShadowStack(ThreadProfile& thread) {
  if (thread.top == nullptr) return;
  ShadowEntry* const bottom = thread.top;  // all functions have been left
  const size_t entries = static_cast<size_t>(thread.limit - bottom) + 1;
  thread.top = thread.limit = nullptr;
  munmap(bottom, entries * sizeof(ShadowEntry));
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
  {
    const UnitsLock hold;
    LeaveAllFunctions(thread);
    ForgetThreadLocked(thread);
    thread.unit = nullptr;
  }
  const BusyScope busy;
  UnmapShadowStack(thread);
  // `attached` stays: what destructors do after this one goes to the common counts.
}

void MakeExitKey() { g_has_exit_key = pthread_key_create(&g_exit_key, OnThreadExit) == 0; }

}  // namespace

BusyScope::BusyScope() : was_busy_(thread_profile.busy), was_tracker_busy_(CurrentThread().busy) {
  thread_profile.busy = true;
  CurrentThread().busy = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

BusyScope::~BusyScope() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  CurrentThread().busy = was_tracker_busy_;
  thread_profile.busy = was_busy_;
}

void AttachThread() {
  ThreadProfile& thread = thread_profile;
  if (thread.attached) return;
  const BusyScope busy;
  std::call_once(g_exit_key_once, MakeExitKey);
  // Without an end the thread would stay in the registry as a dangling pointer.
  if (!g_has_exit_key || pthread_setspecific(g_exit_key, &thread) != 0) return;
  thread.attached = true;
  FindStack(thread);
  MapShadowStack(thread);
  const UnitsLock hold;
  RegisterThreadLocked(thread);
}

void LeaveAllFunctions(ThreadProfile& thread) {
  while (thread.top != nullptr && thread.top->frame != UINTPTR_MAX) PopEntry(thread);
}

void PopDead(ThreadProfile& thread, uintptr_t sp) {
  if (!IsOnOwnStack(thread, sp)) return;
  while (thread.top->frame < sp || HasReturned(*thread.top)) PopEntry(thread);
}

uint32_t RunningFunction(ThreadProfile& thread, uintptr_t sp) {
  if (thread.top != nullptr) PopDead(thread, sp);
  if (thread.collecting != 0) return kGcSource;
  if (thread.top == nullptr) return kMainSource;
  return thread.top->frame == UINTPTR_MAX ? uint32_t{kMainSource}
                                          : PlaceInTable(thread.top->function);
}

}  // namespace allomon::internal
