// Finds a leak.  Each sampled block keeps a value for as long as it lives, so the values that are
// left at the end belong to blocks that were never freed.
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>

#include "tracker/symbols/symbols.h"
#include "tracker/tracker.h"

std::mutex mutex;
std::map<uintptr_t, double> live_bytes;  // estimated, by the caller of operator new

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

__attribute__((noinline)) char* NewBuffer() {
  char* buffer = new char[100];
  buffer[0] = 0;  // prevents a tail call, after which this function would not be on the call stack
  return buffer;
}

__attribute__((noinline)) char* NewSession() {
  char* session = new char[100];
  session[0] = 0;
  return session;
}

int main() {
  const auto started = allomon::Tracker::start(1e-2, LeakFinder{});
  if (!started.ok()) return fprintf(stderr, "%s\n", started.status().ToString().c_str()), 1;
  for (int i = 0; i < 100000; ++i) {
    delete[] NewBuffer();
    if (i % 10 == 0) NewSession();  // never deleted
  }
  if (!allomon::Tracker::stop().ok()) return 1;
  const auto symbols = allomon::ProcessSymbols::Load();
  for (const auto& [caller, bytes] : live_bytes) {
    if (bytes < 1) continue;
    const allomon::Symbol function = symbols->Resolve(caller - 1);
    printf("%s (%s): about %.0f bytes were never freed\n", function.name.c_str(),
           function.position.c_str(), bytes);
  }
  printf("In truth: NewSession(), 1000000 bytes.\n");
}
