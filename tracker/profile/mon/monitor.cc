// The C interface: mon.h.
#include <unistd.h>

#include <cstdint>
#include <mutex>
#include <string>

#include "tracker/base/uncancelled.h"
#include "tracker/formats/include/mon.h"
#include "tracker/profile/mon/monitor_state.h"
#include "tracker/profile/sources/time_session.h"

namespace allomon::internal {
namespace {

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
  if (request.low != 0) return StartMonitor(request, error);
  if (request.high == 0 && request.buffer == nullptr && request.words == 0 && request.nfunc == 0) {
    return StopMonitor(MON_OUT, error);
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
