#include "tracker/gates/benchmark_memory_manager.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tracker/gates/timed_loop.h"

namespace allomon {
namespace {

using internal::CurrentTimedLoop;
using internal::Ledger;

// The first allocation of a pass is the probe, outside of any loop.
struct LedgerOfLoop {
  std::shared_ptr<Ledger> ledger;

  std::shared_ptr<Ledger> operator()(const Allocation& allocation) const {
    if (!ledger->open()) ledger->Open(allocation.callstack);
    return CurrentTimedLoop().running ? ledger : nullptr;
  }
};

}  // namespace

BenchmarkMemoryManager::BenchmarkMemoryManager() { benchmark::RegisterMemoryManager(this); }

BenchmarkMemoryManager::~BenchmarkMemoryManager() {
  benchmark::RegisterMemoryManager(nullptr);
  const char* path = std::getenv("ALLOMON_GATE_PROFILE");
  if (path == nullptr || *path == '\0' || profile_.Write(path)) return;
  std::fprintf(stderr, "allomon: cannot write ALLOMON_GATE_PROFILE %s: %s\n", path,
               std::strerror(errno));
}

void BenchmarkMemoryManager::Start() {
  error_.clear();
  CurrentTimedLoop().running = false;
  CurrentTimedLoop().begun = 0;
  ledger_ = std::make_shared<Ledger>(AllocationLimit(), nullptr);
  const auto tracker = internal::StartExactCounter(LedgerOfLoop{ledger_});
  if (!tracker.ok()) {
    error_ = std::string(tracker.status().message());
    return;
  }
  tracker_ = *tracker;
  internal::AllocateProbe();
  if (!ledger_->open()) error_ = internal::kNothingReports;
}

AllocationReport BenchmarkMemoryManager::EndPass() {
  CurrentTimedLoop().running = false;
  const AllocationReport report = ledger_->Read();
  if (error_.empty()) error_ = DescribeLosses({}, internal::LossesOf(tracker_));
  if (error_.empty() && CurrentTimedLoop().begun == 0) error_ = "its timed loop never began";
  (void)Tracker::stop(tracker_);
  tracker_ = {};
  return report;
}

void BenchmarkMemoryManager::Fill(Result* result) {
  const AllocationReport report = EndPass();
  if (!error_.empty()) {
    std::fprintf(stderr, "allomon: a benchmark's allocations were not counted: %s\n",
                 error_.c_str());
    result->num_allocs = -1;
    return;
  }
  result->num_allocs = static_cast<int64_t>(report.allocations);
  result->max_bytes_used = static_cast<int64_t>(report.peak_bytes);
  result->total_allocated_bytes = static_cast<int64_t>(report.bytes);
  result->net_heap_growth = static_cast<int64_t>(report.live_bytes);
  profile_.AddPass(report);
}

}  // namespace allomon
