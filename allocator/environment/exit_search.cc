#include "allocator/environment/exit_search.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "allocator/environment/auto_profile_say.h"
#include "tracker/base/clock.h"
#include "tracker/base/sys/raw_calls.h"
#include "tracker/base/thread_id.h"
#include "tracker/formats/recording_layout.h"

namespace allomon::internal {
namespace {

using recording::ExitDesk;

// Longer pauses of `allomon run` between two beats mean that it has ended.
constexpr uint64_t kMostSilentNanos = 2'000'000'000;
// A look that comes later than this was held up: the process was stopped, and `allomon run` with
// it.
constexpr uint64_t kMostLookNanos = 50'000'000;

ExitDesk* desk = nullptr;

// Registers that a function need not keep may still have addresses of lost blocks.
inline void PauseWithoutStaleRegisters() {
#if defined(__x86_64__)
  asm volatile(
      "pxor %%xmm0, %%xmm0\n\tpxor %%xmm1, %%xmm1\n\tpxor %%xmm2, %%xmm2\n\t"
      "pxor %%xmm3, %%xmm3\n\tpxor %%xmm4, %%xmm4\n\tpxor %%xmm5, %%xmm5\n\t"
      "pxor %%xmm6, %%xmm6\n\tpxor %%xmm7, %%xmm7\n\tpxor %%xmm8, %%xmm8\n\t"
      "pxor %%xmm9, %%xmm9\n\tpxor %%xmm10, %%xmm10\n\tpxor %%xmm11, %%xmm11\n\t"
      "pxor %%xmm12, %%xmm12\n\tpxor %%xmm13, %%xmm13\n\tpxor %%xmm14, %%xmm14\n\t"
      "pxor %%xmm15, %%xmm15\n\txor %%r8d, %%r8d\n\txor %%r9d, %%r9d\n\t"
      "xor %%r10d, %%r10d\n\txor %%r11d, %%r11d\n\tpause"
      :
      :
      : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
        "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "r8", "r9", "r10", "r11", "cc", "memory");
#else
  asm volatile("yield" : : : "memory");
#endif
}

// Tells for how long nobody has attended to the desk.
class Silence {
 public:
  uint64_t LookNanos() {
    const uint64_t beats = __atomic_load_n(&desk->beats, __ATOMIC_RELAXED),
                   now = ClockNanos(CLOCK_MONOTONIC);
    silent_nanos_ = beats == beats_ ? silent_nanos_ + std::min(now - look_, kMostLookNanos) : 0;
    beats_ = beats;
    look_ = now;
    return silent_nanos_;
  }

 private:
  uint64_t beats_ = __atomic_load_n(&desk->beats, __ATOMIC_RELAXED);
  uint64_t look_ = ClockNanos(CLOCK_MONOTONIC);
  uint64_t silent_nanos_ = 0;
};

// `record_only` of 0: every process records.
bool IsRecorded(uint64_t record_only) {
  return record_only == 0 || record_only == static_cast<uint64_t>(sys::Getpid());
}

// A child of fork inherits the call, though it may not be recorded.
void Wait(int, void* record_only) {
  constexpr int kPausesBetweenLooks = 100;
  if (!IsRecorded(reinterpret_cast<uintptr_t>(record_only))) return;
  const uint32_t own = OwnThreadId();
  Silence silence;
  bool has_asked = false;
  while (__atomic_load_n(&desk->is_open, __ATOMIC_RELAXED) == 1) {
    uint32_t asking = __atomic_load_n(&desk->asking, __ATOMIC_ACQUIRE);
    if (has_asked && asking != own) return;
    if (!has_asked && asking == 0) {
      has_asked = __atomic_compare_exchange_n(&desk->asking, &asking, own, false, __ATOMIC_ACQ_REL,
                                              __ATOMIC_RELAXED);
    }
    for (int i = 0; i < kPausesBetweenLooks; ++i) PauseWithoutStaleRegisters();
    if (silence.LookNanos() > kMostSilentNanos) break;
  }
  uint32_t mine = own;
  __atomic_compare_exchange_n(&desk->asking, &mine, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

ExitDesk* MapDesk(const EnvironmentOptions& options) {
  const int fd = sys::Open(options.record.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return nullptr;
  struct stat status = {};
  void* page = nullptr;
  if (sys::Fstat(fd, &status) == 0 && status.st_ino == options.record_inode &&
      status.st_dev == options.record_device &&
      static_cast<uint64_t>(status.st_size) >= recording::kSegmentBytes) {
    page = sys::Mmap(nullptr, recording::kExitDeskOffset, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                     recording::kExitDeskOffset);
  }
  sys::Close(fd);
  return page != nullptr && sys::IsAddress(page) ? static_cast<ExitDesk*>(page) : nullptr;
}

// Yama's first level lets only ancestors trace a process, unless it names another tracer, which
// stands for its children, too.
void AllowTracer(const std::string& record) {
  constexpr char kFolder[] = "/proc/";
  const int fd = sys::Open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  char scope = '0';
  const bool is_limited = sys::Read(fd, &scope, 1) == 1 && scope == '1';
  sys::Close(fd);
  if (!is_limited || record.compare(0, sizeof(kFolder) - 1, kFolder) != 0) return;
  const unsigned long owner = strtoul(record.c_str() + sizeof(kFolder) - 1, nullptr, 10);
  if (owner != 0) sys::SystemCall(SYS_prctl, PR_SET_PTRACER, owner, 0, 0, 0);
}

}  // namespace

void WaitAtExitIfWanted(const EnvironmentOptions& options) {
  if (!options.leaks) return;
  if (options.record_inode == 0) {
    return Say(
        "ALLOMON_LEAKS=exit: allomon run --leaks=error sets it, and searches; nobody else "
        "does, so nothing is searched at exit");
  }
  if (!IsRecorded(options.record_only)) return;
  desk = MapDesk(options);
  if (desk == nullptr || __atomic_load_n(&desk->is_open, __ATOMIC_RELAXED) != 1) return;
  AllowTracer(options.record);
  // Functions of on_exit belong to no library, so they are called after the destructors of all that
  // is loaded later.
  const bool waits = on_exit(Wait, reinterpret_cast<void*>(options.record_only)) == 0;
  if (!waits) Say("ALLOMON_LEAKS=exit: there is no memory to wait at exit");
}

}  // namespace allomon::internal
