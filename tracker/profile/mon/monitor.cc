// The C interface: mon.h.
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tracker/base/check.h"
#include "tracker/base/uncancelled.h"
#include "tracker/formats/include/mon.h"
#include "tracker/formats/write_file.h"
#include "tracker/profile/mon/call_counts.h"
#include "tracker/profile/mon/mon_range.h"
#include "tracker/profile/sources/time_session.h"

namespace allomon::internal {
namespace {

// ---- The monitor of the process: its ranges, its start and its stop.
//
// One call at a time (monitor() takes a lock).

constexpr int kMostMonRanges = 16;

// Static data without destructor: programs stop their monitor at the very end.
struct MonitorState {
  MonSampledRange ranges[kMostMonRanges];
  // The number of ranges that signal handlers may read.  Release and acquire: the handlers see the
  // stores of Prepare().
  std::atomic<int> visible{0};
  // The number of handlers that are reading ranges.  Stores to `visible` and additions to `looking`
  // have one order for all threads.  So a thread that stores 0 to `visible` and then reads 0 from
  // `looking` sees the stores of the last handler.
  std::atomic<int> looking{0};
  std::atomic<uint64_t> used_ns{0};
  std::atomic<uint64_t> other_ticks{0};
  uint64_t tick_ns = 0;
  int count = 0;  // 0: not running
  CallCounts* calls = nullptr;
};
MonitorState g_monitor;

bool Fail(std::string what, std::string* error) {
  *error = std::move(what);
  return false;
}

// Returns the whole ticks in `ns`; the remainder counts for the next call.
uint64_t TicksOf(uint64_t ns) {
  ALLOMON_DCHECK_NE("inv.mon.runs", g_monitor.tick_ns, 0u);
  const uint64_t before = g_monitor.used_ns.fetch_add(ns, std::memory_order_relaxed);
  return (before + ns) / g_monitor.tick_ns - before / g_monitor.tick_ns;
}

void Charge(uintptr_t pc, uint64_t ticks, int visible) {
  for (int i = 0; i < visible; ++i) {
    if (g_monitor.ranges[i].Add(pc, ticks)) return;
  }
  g_monitor.other_ticks.fetch_add(ticks, std::memory_order_relaxed);
}

// Async-signal-safe: this is the sink of the timers.
void OnTime(uintptr_t pc, uint64_t ns) {
  g_monitor.looking.fetch_add(1, std::memory_order_seq_cst);
  const int visible = g_monitor.visible.load(std::memory_order_seq_cst);
  if (visible > 0) {
    const uint64_t ticks = TicksOf(ns);
    if (ticks > 0) Charge(pc, ticks, visible);
  }
  g_monitor.looking.fetch_sub(1, std::memory_order_release);
}

void HideRanges() {
  g_monitor.visible.store(0, std::memory_order_seq_cst);
  while (g_monitor.looking.load(std::memory_order_seq_cst) != 0) sched_yield();
}

bool InitRange(const MonRequest& request, std::string* error) {
  if (g_monitor.count == kMostMonRanges) {
    return Fail("there are " + std::to_string(kMostMonRanges) + " ranges already", error);
  }
  MonSampledRange& range = g_monitor.ranges[g_monitor.count];
  if (!range.Plan(request, error)) return false;
  for (int i = 0; i < g_monitor.count; ++i) {
    if (g_monitor.ranges[i].Overlaps(range.low(), range.high())) {
      return Fail("the range overlaps another one", error);
    }
  }
  range.Prepare();
  ++g_monitor.count;
  return true;
}

// A forked child has neither the timers nor the threads whose handlers were reading.
void AfterForkInChild() {
  g_monitor.looking.store(0, std::memory_order_relaxed);
  RestartTimersAfterFork();
}

void InstallForkHandler() {
  static const int installed = pthread_atfork(nullptr, nullptr, AfterForkInChild);
  static_cast<void>(installed);
}

bool StartClocks(const MonRequest& request, std::string* error) {
  InstallForkHandler();
  g_monitor.tick_ns = 1'000'000'000 / request.hz;
  g_monitor.used_ns.store(0, std::memory_order_relaxed);
  g_monitor.other_ticks.store(0, std::memory_order_relaxed);
  return StartTimers(request.hz, OnTime, error);
}

std::string ImageOf(int i, std::vector<CalledFunction> called) {
  MonSampledRange& range = g_monitor.ranges[i];
  const bool lost = KeepMostCalled(range.low(), range.high(), range.count_room(), &called);
  for (uint32_t k = 0; k < called.size(); ++k) {
    range.SetCount(k, called[k].address, called[k].calls);
  }
  const uint64_t other = g_monitor.other_ticks.load(std::memory_order_relaxed);
  range.FinishHeader(i == 0 ? other : 0, lost);
  return std::string(range.image(), range.image_bytes());
}

// System V's variable for the directory of the file.  One that is empty turns monitors off.
const char* ProfDir() { return secure_getenv("PROFDIR"); }

bool IsTurnedOff() {
  const char* const folder = ProfDir();
  return folder != nullptr && *folder == '\0';
}

std::string OutputPath() {
  const char* const folder = ProfDir();
  if (folder == nullptr) return MON_OUT;
  return std::string(folder) + "/" + std::to_string(getpid()) + "." + program_invocation_short_name;
}

bool MonitorRuns() { return g_monitor.count > 0; }

// Each function returns false on failure, with one line in *error, and has then changed nothing.
bool StartMonitor(const MonRequest& request, std::string* error) {
  if (MonitorRuns()) return Fail("one runs already: stop it by monitor(0, 0, 0, 0, 0)", error);
  auto calls = std::make_unique<CallCounts>();
  if (!InitRange(request, error)) return false;
  g_monitor.visible.store(1, std::memory_order_seq_cst);
  if (calls->Begin(error)) {
    if (StartClocks(request, error)) {
      g_monitor.calls = calls.release();
      return true;
    }
    calls->End();
  }
  HideRanges();
  g_monitor.count = 0;
  return false;
}

bool AddMonitorRange(const MonRequest& request, std::string* error) {
  if (IsTurnedOff() && !MonitorRuns()) return true;
  if (!MonitorRuns()) return Fail("none runs: start it by monitor()", error);
  if (!InitRange(request, error)) return false;
  ALLOMON_DCHECK_EQ("inv.mon.runs", g_monitor.visible.load() + 1, g_monitor.count);
  g_monitor.visible.store(g_monitor.count, std::memory_order_seq_cst);
  return true;
}

// Ends sampling, then writes the file.  Afterwards the buffers belong to the caller again, also if
// it could not be written.
bool StopMonitor(std::string* error) {
  if (!MonitorRuns()) return Fail("none runs", error);
  StopTimers();
  HideRanges();
  const std::unique_ptr<CallCounts> calls(std::exchange(g_monitor.calls, nullptr));
  ALLOMON_DCHECK_NE("inv.mon.runs", calls.get(), nullptr);
  const std::vector<CalledFunction> called = calls->End();
  std::string file;
  for (int i = 0; i < g_monitor.count; ++i) file += ImageOf(i, called);
  g_monitor.count = 0;
  return IsTurnedOff() || WriteFileAtomically(OutputPath(), file, 0644, error);
}

std::mutex& Lock() {
  static auto* mutex = new std::mutex;  // never destroyed: programs stop their monitor at the end
  return *mutex;
}

uint32_t g_hz = kDefaultHz;
std::string* g_error = nullptr;  // of the last call; null: no error

void SetError(const char* function, const std::string& error) {
  delete g_error;
  g_error = new std::string(std::string(function) + ": " + error);
  const std::string line = *g_error + "\n";
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;  // nowhere to report this error
}

void ClearError() {
  delete g_error;
  g_error = nullptr;
}

using Function = int (*)();

MonRequest RequestOf(Function low, Function high, WORD* buffer, int words, int nfunc) {
  MonRequest request;
  request.low = reinterpret_cast<uintptr_t>(low);
  request.high = reinterpret_cast<uintptr_t>(high);
  request.buffer = buffer;
  request.words = words;
  request.nfunc = nfunc;
  request.hz = g_hz;
  return request;
}

bool Monitor(const MonRequest& request, std::string* error) {
  if (IsTurnedOff() && !MonitorRuns()) return true;
  if (request.low != 0) return StartMonitor(request, error);
  if (request.high == 0 && request.buffer == nullptr && request.words == 0 && request.nfunc == 0) {
    return StopMonitor(error);
  }
  *error = "lowpc is 0: that stops, with all other arguments 0; the lowest address is 4";
  return false;
}

template <typename Call>
void Run(const char* function, Call call) {
  const Uncancelled uncancelled;
  const std::lock_guard<std::mutex> hold(Lock());
  ClearError();
  std::string error;
  if (!call(&error)) SetError(function, error);
}

}  // namespace

}  // namespace allomon::internal

using allomon::internal::Run;

extern "C" {

void monitor(int (*lowpc)(), int (*highpc)(), WORD* buffer, int bufsize, int nfunc) {
  Run("monitor", [=](std::string* error) {
    return allomon::internal::Monitor(
        allomon::internal::RequestOf(lowpc, highpc, buffer, bufsize, nfunc), error);
  });
}

void monitor_range(int (*lowpc)(), int (*highpc)(), WORD* buffer, int bufsize, int nfunc) {
  Run("monitor_range", [=](std::string* error) {
    return allomon::internal::AddMonitorRange(
        allomon::internal::RequestOf(lowpc, highpc, buffer, bufsize, nfunc), error);
  });
}

void monitor_hz(int hz) {
  Run("monitor_hz", [=](std::string* error) {
    if (hz < 1 || hz > static_cast<int>(allomon::internal::kMostHz)) {
      *error = std::to_string(hz) + " ticks a second: expected 1 to 10000";
      return false;
    }
    allomon::internal::g_hz = static_cast<uint32_t>(hz);
    return true;
  });
}

const char* monitor_error() {
  const std::lock_guard<std::mutex> hold(allomon::internal::Lock());
  return allomon::internal::g_error == nullptr ? nullptr : allomon::internal::g_error->c_str();
}

}  // extern "C"
