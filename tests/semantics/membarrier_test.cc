// A host forbids membarrier, before the tracker starts or while it runs: sessions still start and
// stop, and each client is destroyed once, after its last callback.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <thread>
#include <vector>

#include "allocator/allocator.h"
#include "gtest/gtest.h"
#include "tracker/core/barrier.h"
#include "tracker/tracker.h"

namespace allomon {
namespace {

// Makes membarrier fail with EPERM from now on, in all threads.
bool ForbidMembarrier() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0 &&
         syscall(SYS_membarrier, 0, 0, 0) == -1;
}

struct Lives {
  std::atomic<int> clients{0};
  std::atomic<int> in_callback{0};
  std::atomic<int> died_in_callback{0};
  std::atomic<int64_t> values{0};
  std::atomic<int64_t> reports{0};
};

struct Value {
  explicit Value(Lives* l) : lives(l) { ++lives->values; }
  Value(Value&& other) noexcept : lives(other.lives) { other.lives = nullptr; }
  ~Value() {
    if (lives != nullptr) --lives->values;
  }
  Lives* lives;
};

// Each session has its own counters, which outlive it.
class LifeTracker {
 public:
  explicit LifeTracker(Lives* lives) : lives_(lives) { ++lives_->clients; }
  LifeTracker(LifeTracker&& other) noexcept : lives_(other.lives_) { other.lives_ = nullptr; }
  ~LifeTracker() {
    if (lives_ == nullptr) return;
    lives_->died_in_callback += lives_->in_callback;
    --lives_->clients;
  }
  std::optional<Value> alloc_major(const Allocation&) {
    ++lives_->in_callback;
    ++lives_->reports;
    Value value(lives_);
    --lives_->in_callback;
    return value;
  }
  void dealloc_major(Value) {}

 private:
  Lives* lives_;
};

// Starts and stops sessions while threads allocate; membarrier is forbidden before round
// `forbid_at`.
bool ManySessions(int forbid_at) {
  std::vector<Lives> lives(20);
  std::atomic<bool> done{false};
  std::thread workers[2];
  for (std::thread& worker : workers) {
    worker = std::thread([&done] {
      while (!done) SamplingFree(SamplingMalloc(24));
    });
  }
  bool good = true;
  for (int round = 0; round < static_cast<int>(lives.size()); ++round) {
    if (round == forbid_at) good &= ForbidMembarrier();
    Lives& mine = lives[static_cast<size_t>(round)];
    good &= Tracker::start(1, LifeTracker(&mine)).ok();
    while (mine.reports < 10) std::this_thread::yield();
    good &= Tracker::stop().ok();
  }
  done = true;
  for (std::thread& worker : workers) worker.join();
  for (const Lives& mine : lives) {
    good &= mine.clients == 0 && mine.died_in_callback == 0 && mine.values == 0;
  }
  return good;
}

// Runs in a child, since a filter cannot be removed.
template <typename Body>
void ExpectGoodInChild(Body body) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    _exit(body() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(MembarrierTest, ForbiddenBeforeTheFirstStart) {
  ExpectGoodInChild([] { return ManySessions(0); });
}
TEST(MembarrierTest, ForbiddenWhileThreadsSample) {
  ExpectGoodInChild([] { return ManySessions(10); });
}
TEST(MembarrierTest, NotForbidden) {
  ExpectGoodInChild([] { return ManySessions(-1); });
}

// Each start and stop requests the barrier.  If one of them revoked the refusal, even for a moment,
// a pin made in that moment would lack its fence.
TEST(MembarrierTest, RefusalIsNotTakenBackByALaterStart) {
  ExpectGoodInChild([] {
    internal::RegisterForBarriersOnce();
    const bool had_barrier = internal::has_asymmetric_barrier;
    if (!ForbidMembarrier()) return false;
    internal::HeavyBarrier();
    const bool noticed = !internal::has_asymmetric_barrier;
    internal::RegisterForBarriersOnce();
    return had_barrier && noticed && !internal::has_asymmetric_barrier;
  });
}

}  // namespace
}  // namespace allomon
