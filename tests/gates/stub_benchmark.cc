// The library of the stub headers.  It is in its own file, since the linker wraps only calls from
// other files.
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
