// Work for malloc and free alone.  The program knows no allocator; compare.py preloads one.
//
//   malloc_workloads pair|batch|random SIZE PAIRS
//   malloc_workloads seconds SIZE SECONDS          a line each second: nanoseconds per pair
//   malloc_workloads larson|xmalloc PAIRS          two threads
//   malloc_workloads start TIMES [NAME=VALUE...]   runs /bin/true in this environment
//
// A pair is one malloc and its free.  Every block is written to once.
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <thread>

namespace {

constexpr int kBatch = 1000;

using Blocks = std::array<char*, kBatch>;

char* NewBlock(size_t size_bytes) {
  auto* block = static_cast<char*>(malloc(size_bytes));
  if (block == nullptr) abort();
  *static_cast<volatile char*>(block) = 1;
  return block;
}

// A program that frees each block at once, repeatedly.
void Pairs(size_t size_bytes, long pairs) {
  for (long i = 0; i < pairs; ++i) free(NewBlock(size_bytes));
}

// Somebody may attach to the process, or ask it something, between two seconds.
void PairsBySeconds(size_t size_bytes, long seconds) {
  using Clock = std::chrono::steady_clock;
  for (long i = 0; i < seconds; ++i) {
    const Clock::time_point begin = Clock::now();
    std::chrono::duration<double, std::nano> time(0);
    double pairs = 0;
    for (; time < std::chrono::seconds(1); time = Clock::now() - begin) {
      Pairs(size_bytes, kBatch);
      pairs += kBatch;
    }
    printf("%.3f\n", time.count() / pairs);
    fflush(stdout);
  }
}

// Allocates whole batches, and frees each in the given order.
void Batches(size_t size_bytes, long pairs, const std::array<int, kBatch>& order) {
  static Blocks blocks;
  for (long i = 0; i < pairs; i += kBatch) {
    for (char*& block : blocks) block = NewBlock(size_bytes);
    for (int index : order) free(blocks[index]);
  }
}

std::array<int, kBatch> InOrder() {
  std::array<int, kBatch> order;
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::array<int, kBatch> InRandomOrder() {
  std::array<int, kBatch> order = InOrder();
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  return order;
}

// One thread's part of Larson and Krishnan's server (ISMM 1998): replaces blocks at random.
void Replace(Blocks& blocks, long pairs, uint32_t seed) {
  uint32_t random = seed;
  for (long i = 0; i < pairs; ++i) {
    random = random * 1664525 + 1013904223;  // Knuth, TAOCP 3.3.4; the upper bits are good
    char*& block = blocks[(random >> 16) % kBatch];
    free(block);
    block = NewBlock(16 + (random >> 8) % 500);
  }
}

// Larson's server.  Each generation of two threads inherits the blocks of the one before,
// crosswise.
void Larson(long pairs) {
  constexpr int kGenerations = 10;
  static Blocks blocks[2];
  for (int generation = 0; generation < kGenerations; ++generation) {
    const long share = pairs / (2 * kGenerations);
    std::thread other(Replace, std::ref(blocks[generation % 2]), share, 2 * generation + 1);
    std::thread third(Replace, std::ref(blocks[1 - generation % 2]), share, 2 * generation + 2);
    other.join();
    third.join();
  }
}

// A queue of whole batches.  It costs little beside the blocks in a batch.
class BatchQueue {
 public:
  void Push(const Blocks& batch) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return pushed_ - popped_ < kCapacity; });
    batches_[pushed_++ % kCapacity] = batch;
    changed_.notify_one();
  }
  Blocks Pop() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return pushed_ != popped_; });
    const Blocks batch = batches_[popped_++ % kCapacity];
    changed_.notify_one();
    return batch;
  }

 private:
  static constexpr long kCapacity = 8;
  std::mutex mutex_;
  std::condition_variable changed_;
  Blocks batches_[kCapacity];
  long pushed_ = 0, popped_ = 0;
};

// One thread allocates and the other frees, as in Lever and Boreham's xmalloc (2000).
void ProducerConsumer(long pairs) {
  static BatchQueue queue;
  std::thread consumer([pairs] {
    for (long i = 0; i < pairs; i += kBatch) {
      for (char* block : queue.Pop()) free(block);
    }
  });
  static Blocks batch;
  for (long i = 0; i < pairs; i += kBatch) {
    for (char*& block : batch) block = NewBlock(64);
    queue.Push(batch);
  }
  consumer.join();
}

bool RunTrue(char** environment) {
  char name[] = "/bin/true";
  char* argv[] = {name, nullptr};
  pid_t child;
  int status = 0;
  return posix_spawn(&child, name, nullptr, nullptr, argv, environment) == 0 &&
         waitpid(child, &status, 0) == child && status == 0;
}

int Start(long times, char** environment) {
  for (long i = 0; i < times; ++i) {
    if (!RunTrue(environment)) return fputs("malloc_workloads: /bin/true failed\n", stderr), 1;
  }
  return 0;
}

bool OneThread(const std::string& work, size_t size_bytes, long pairs) {
  if (work == "pair") return Pairs(size_bytes, pairs), true;
  if (work == "seconds") return PairsBySeconds(size_bytes, pairs), true;
  if (work == "batch") return Batches(size_bytes, pairs, InOrder()), true;
  if (work == "random") return Batches(size_bytes, pairs, InRandomOrder()), true;
  return false;
}

bool TwoThreads(const std::string& work, long pairs) {
  if (work == "larson") return Larson(pairs), true;
  if (work == "xmalloc") return ProducerConsumer(pairs), true;
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc >= 3 && strcmp(argv[1], "start") == 0) return Start(atol(argv[2]), argv + 3);
  if (argc == 4 && OneThread(argv[1], strtoul(argv[2], nullptr, 10), atol(argv[3]))) return 0;
  if (argc == 3 && TwoThreads(argv[1], atol(argv[2]))) return 0;
  fputs("usage: malloc_workloads pair|batch|random|seconds SIZE COUNT, or larson|xmalloc PAIRS\n",
        stderr);
  return 1;
}
