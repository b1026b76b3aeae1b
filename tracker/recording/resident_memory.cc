#include "tracker/recording/resident_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include "tracker/base/sys/raw_calls.h"
#include "tracker/recording/host_filter.h"

namespace allomon::recording {
namespace {

namespace sys = internal::sys;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Reads a number, and the space behind it.
uint64_t TakeNumber(const char** at) {
  uint64_t number = 0;
  for (; IsDigit(**at) && number < uint64_t{1} << 40; ++*at) {
    number = number * 10 + static_cast<uint64_t>(**at - '0');
  }
  if (**at == ' ') ++*at;
  return number;
}

}  // namespace

// "pages resident shared ..."  The file of the process shows no memory once its first thread has
// ended.
ResidentBytes ReadResidentBytes() {
  const int fd = sys::Open("/proc/thread-self/statm", O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return {};
  char text[128];
  const ssize_t length = sys::Read(fd, text, sizeof(text) - 1);
  sys::Close(fd);
  if (length <= 0) return {};
  text[length] = '\0';
  const char* at = text;
  TakeNumber(&at);
  const auto page_bytes = static_cast<uint64_t>(getpagesize());
  ResidentBytes bytes;
  bytes.all = TakeNumber(&at) * page_bytes;
  bytes.of_files = TakeNumber(&at) * page_bytes;
  return bytes;
}

// Only one of the threads that come at once reads.
void ResidentMemory::Note(uint64_t nanos, uint64_t live_bytes,
                          const Written<ProcessRecord>& process) {
  uint64_t next = next_nanos_.load(std::memory_order_relaxed);
  if (nanos < next) return;
  if (HasFilter()) return last_bytes_.store(0, std::memory_order_relaxed);
  if (!next_nanos_.compare_exchange_strong(next, nanos + kGapNanos, std::memory_order_relaxed)) {
    return;
  }
  const uint64_t bytes = ReadResidentBytes().all;
  last_bytes_.store(bytes, std::memory_order_relaxed);
  if (bytes != 0) Set(nanos, bytes, live_bytes, process);
}

void ResidentMemory::Set(uint64_t nanos, uint64_t resident_bytes, uint64_t live_bytes,
                         const Written<ProcessRecord>& process) {
  if (resident_bytes > most_bytes_.load(std::memory_order_relaxed)) {
    most_bytes_.store(resident_bytes, std::memory_order_relaxed);
    process.In(&ProcessRecord::memory, &ProcessMemory::most_resident_bytes).Store(resident_bytes);
  }
  process.In(&ProcessRecord::memory, &ProcessMemory::resident_bytes).Store(resident_bytes);
  process.In(&ProcessRecord::memory, &ProcessMemory::live_bytes).Store(live_bytes);
  process.In(&ProcessRecord::memory, &ProcessMemory::nanos).Publish(nanos);
}

}  // namespace allomon::recording
