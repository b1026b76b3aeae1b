// A server with fifty tenants, one of which leaks one request in a hundred: it is at the top of the
// report, and no other tenant can be suspected.
#include <array>
#include <chrono>
#include <deque>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "allocator/allocator.h"
#include "allomon/labels.h"
#include "tests/recording/recorded.h"
#include "tools/load/recording/recording_profile.h"
#include "tools/report/table/outputs.h"
#include "tools/report/views/view.h"

namespace allomon {
namespace {

using testing::Recorded;
using testing::ScratchPath;

constexpr int kTenants = 50;
constexpr int kLeaking = 17;
constexpr int kThreads = 2;
constexpr int kRequests = 400'000;  // per thread
constexpr auto kLeastTime = std::chrono::milliseconds(1500);
constexpr size_t kCached = 16;  // answers that a tenant's cache has

std::string NameOf(int tenant) { return "tenant-" + std::to_string(tenant); }

// The blocks that one thread keeps for each tenant.
struct Answers {
  std::array<std::deque<void*>, kTenants> caches;
  std::vector<void*> leaked;
};

__attribute__((noinline)) void* Answer(size_t size_bytes) {
  void* const block = SamplingMalloc(size_bytes);
  asm volatile("" ::: "memory");
  return block;
}

void Serve(int request, Answers* answers) {
  const int tenant = request % kTenants;
  const std::string name = NameOf(tenant);
  const ScopedLabel label("tenant", name);
  SamplingFree(Answer(1000));
  std::deque<void*>& cache = answers->caches[static_cast<size_t>(tenant)];
  cache.push_back(Answer(4000));
  if (cache.size() > kCached) {
    SamplingFree(cache.front());
    cache.pop_front();
  }
  if (tenant == kLeaking && request / kTenants % 100 == 0) answers->leaked.push_back(Answer(4000));
}

void Work(Answers* answers) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kRequests; ++i) {
    Serve(i, answers);
    const auto due = begin + kLeastTime * (i / 4000) / (kRequests / 4000);
    if (i % 4000 == 0) std::this_thread::sleep_until(due);
  }
}

void Free(Answers* answers) {
  for (std::deque<void*>& cache : answers->caches) {
    for (void* const block : cache) SamplingFree(block);
  }
  for (void* const block : answers->leaked) SamplingFree(block);
}

nlohmann::json Report(const std::string& path, std::vector<std::string> args) {
  recording::RecordingOptions by_address;
  by_address.names = false;
  const auto profiles = recording::ReadRecordingProfiles(path, by_address);
  EXPECT_TRUE(profiles.ok()) << profiles.status();
  args.insert(args.end(), {"--format=json", path});
  const auto options = views::ParseOptions(args, views::Command::kReport);
  EXPECT_TRUE(options.ok()) << options.status();
  const auto report = views::ReportOf(profiles->front(), *options, {});
  EXPECT_TRUE(report.ok()) << report.status();
  return nlohmann::json::parse(views::ToJson(*report));
}

TEST(TenantsTest, LeakingTenantIsOnTop) {
  RecordingOptions options;
  options.path = ScratchPath("tenants");
  options.rate = 1e-3;
  options.seed = 3;
  const Recorded recorded(options);
  std::array<Answers, kThreads> answers;
  std::vector<std::thread> threads;
  for (Answers& each : answers) threads.emplace_back(Work, &each);
  for (std::thread& thread : threads) thread.join();

  const nlohmann::json leaks = Report(recorded.path(), {"--leaks", "--by=label:tenant"})["leaks"];
  ASSERT_GE(leaks.size(), 2u);
  EXPECT_EQ(leaks[0]["value"], NameOf(kLeaking));
  EXPECT_EQ(leaks[0]["verdict"], "grows");
  EXPECT_GT(leaks[0]["live_low"], leaks[1]["live_high"]);
  const double leaked = 4000.0 * kRequests / kTenants / 100 * kThreads;
  EXPECT_GT(leaks[0]["live"], leaked / 2);

  const nlohmann::json all = Report(recorded.path(), {"--by=label:tenant"})["labels"];
  EXPECT_GE(all.size(), static_cast<size_t>(kTenants));
  EXPECT_EQ(all[0]["value"], NameOf(kLeaking));
  double allocated = 0;
  for (const nlohmann::json& row : all) allocated += row["alloc"].get<double>();
  EXPECT_NEAR(allocated, 5000.0 * kRequests * kThreads, 0.02 * 5000.0 * kRequests * kThreads);
  for (Answers& each : answers) Free(&each);
}

}  // namespace
}  // namespace allomon
