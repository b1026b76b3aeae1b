#include <sys/wait.h>

#include <cerrno>

#include "tests/stress/crossing/rows.h"

namespace crossing {

std::atomic<uint64_t> counted{0};
thread_local volatile int in_malloc = 0;

__attribute__((noinline)) uint64_t Counted(uint64_t value) {
  counted.fetch_add(1, std::memory_order_relaxed);
  return value * 0x9e3779b97f4a7c15;
}

namespace {

using Allocating = uint64_t (*)(unsigned);

// The call is not a tail call, so each level is on the stack.
__attribute__((noinline)) uint64_t Descend(unsigned seed, unsigned depth, Allocating allocate) {
  if (depth != 0) return Counted(depth) % 16 + Descend(seed, depth - 1, allocate);
  const InMalloc unsafe;
  return allocate(seed);
}

}  // namespace

uint64_t Work(unsigned seed) { return Descend(seed, 1 + seed % 24, Allocate); }

uint64_t WorkByMalloc(unsigned seed) { return Descend(seed, 1 + seed % 24, AllocateByMalloc); }

uint64_t WorkOnThread(unsigned seed, int times) {
  uint64_t sum = 0;
  for (int i = 0; i < times; ++i) sum += Work(seed + static_cast<unsigned>(i));
  return sum;
}

__attribute__((noinline)) uint64_t Compute(unsigned seed) {
  uint64_t sum = seed;
  for (int i = 0; i < 300; ++i) sum = Counted(sum + 1);
  return sum;
}

Busy::Busy(int threads) {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this, i] {
      const OnThread here;
      for (unsigned n = 0; !done_; ++n) Work(n + static_cast<unsigned>(i));
    });
  }
}

Busy::~Busy() {
  done_ = true;
  Join(threads_);
}

void Join(std::thread& thread) {
  const Waiting waiting;
  thread.join();
}

void Join(std::vector<std::thread>& threads) {
  for (std::thread& thread : threads) Join(thread);
}

int StatusOf(int process) {
  const Waiting waiting;
  int status = -1;
  while (waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

}  // namespace crossing
