// Programs compiled for profiling call monitor() by themselves.  This file calls it for the whole
// text, from before main to after main.  Link //tracker/profile:mon_auto, or use `-p` as with cc.
//
// A forked child writes no mon.out: the file is its parent's.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "tracker/formats/mon_layout.h"
#include "tracker/profile/mon/call_counts.h"
#include "tracker/profile/mon/mon_module.h"

namespace allomon::internal {
namespace {

pid_t g_process = 0;  // the process that runs the monitor

void StartWholeProgram() {
  MonModule module;
  if (!FindMonModule(reinterpret_cast<uintptr_t>(&StartWholeProgram), &module)) return;
  const uint32_t nfunc = CountableFunctions();
  const uint64_t bytes = FixedBytes(nfunc) + (module.code_high - module.code_low) / 2;
  void* const buffer =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (buffer == MAP_FAILED) return;
  monitor(reinterpret_cast<int (*)()>(module.code_low),
          reinterpret_cast<int (*)()>(module.code_high), static_cast<WORD*>(buffer),
          static_cast<int>(bytes / sizeof(WORD)), static_cast<int>(nfunc));
  if (monitor_error() == nullptr) g_process = getpid();
}

// Runs before other constructors.
__attribute__((constructor(102))) void Start() { StartWholeProgram(); }

__attribute__((destructor(102))) void Stop() {
  if (g_process == getpid()) monitor(nullptr, nullptr, nullptr, 0, 0);
}

}  // namespace
}  // namespace allomon::internal
