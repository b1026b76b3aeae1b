#include "tracker/gates/benchmark_memory_manager.h"

#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tracker/gates/benchmark_profile.h"

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

// A benchmark may change the program's folder.
std::string PathFromRoot(const char* path) {
  char folder[PATH_MAX];
  if (*path == '\0' || *path == '/' || getcwd(folder, sizeof(folder)) == nullptr) return path;
  return std::string(folder) + "/" + path;
}

}  // namespace

BenchmarkMemoryManager::BenchmarkMemoryManager() {
  const char* const path = std::getenv("ALLOMON_GATE_PROFILE");
  if (path != nullptr) profile_path_ = PathFromRoot(path);
  benchmark::RegisterMemoryManager(this);
}

BenchmarkMemoryManager::~BenchmarkMemoryManager() {
  benchmark::RegisterMemoryManager(nullptr);
  if (profile_path_.empty() || profile_.Write(profile_path_.c_str())) return;
  std::fprintf(stderr, "allomon: cannot write ALLOMON_GATE_PROFILE %s: %s\n", profile_path_.c_str(),
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
