// The library behind the stub headers.  In a file of its own, since the linker wraps calls from
// other files alone.
#include <benchmark/benchmark.h>

namespace benchmark {
namespace {

MemoryManager* g_manager = nullptr;

}  // namespace

void State::StartKeepRunning() {}
void State::FinishKeepRunning() {}
void State::PauseTiming() {}
void State::ResumeTiming() {}

void RegisterMemoryManager(MemoryManager* manager) { g_manager = manager; }
MemoryManager* RegisteredManager() { return g_manager; }

}  // namespace benchmark
