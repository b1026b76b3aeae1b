// Finds a leak: a value is kept with every sampled block for as long as it lives, so what
// is left at the end was never freed.
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>

#include "tracker/callstack/symbols.h"
#include "tracker/tracker.h"

std::mutex mutex;
std::map<uintptr_t, double> live_bytes;  // by the caller of operator new, estimated

struct LeakFinder {
  struct Block {
    uintptr_t caller;
    double bytes;
  };
  std::optional<Block> alloc_major(const allomon::Allocation& allocation) {
    allomon::HeapEstimate estimate;
    estimate.Add(allocation);
    const Block block = {allocation.callstack[0], estimate.bytes.value};
    std::lock_guard<std::mutex> hold(mutex);
    live_bytes[block.caller] += block.bytes;
    return block;
  }
  void dealloc_major(Block block) {
    std::lock_guard<std::mutex> hold(mutex);
    live_bytes[block.caller] -= block.bytes;
  }
};

__attribute__((noinline)) char* Leak() { return new char[100]; }
__attribute__((noinline)) char* Borrow() { return new char[100]; }

int main() {
  const auto started = allomon::Tracker::start(1e-2, LeakFinder{});
  if (!started.ok()) return fprintf(stderr, "%s\n", started.status().ToString().c_str()), 1;
  for (int i = 0; i < 100000; ++i) {
    if (i % 10 == 0) Leak()[0] = 1;
    delete[] Borrow();
  }
  const auto symbols = allomon::ProcessSymbols::Load();
  for (const auto& [caller, bytes] : live_bytes) {
    if (bytes < 1) continue;
    printf("%s never freed about %.0f bytes\n", symbols->Resolve(caller - 1).name.c_str(), bytes);
  }
  printf("(in truth, Leak() never freed 1000000 bytes)\n");
}
