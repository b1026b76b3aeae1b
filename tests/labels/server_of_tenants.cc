// A server of fifty tenants, for server_of_tenants_test.py.  Requests begin and end on four
// threads; some run through a job of another thread.  Tenant 17 keeps the sessions of one request
// in a hundred, all tenants have a cache that is meant to outlive its requests, and jobs keep one
// result in a hundred.
//
//   server_of_tenants REQUESTS       prints the bytes of kept sessions and of kept results
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "allomon/labels.h"

namespace {

using allomon::ScopedLabel;

constexpr int kTenants = 50;
constexpr int kKeeping = 17;
constexpr int kThreads = 4;
constexpr size_t kSessionBytes = 4000, kAnswerBytes = 3000, kEntryBytes = 2000, kResultBytes = 1000;

std::mutex mutex;
std::map<int, void*> registry;
void* volatile caches[kTenants][64];
std::vector<void*> results;
std::atomic<size_t> kept_sessions{0};

}  // namespace

// Each function allocates in its own frame, and writes to the block.
extern "C" {
__attribute__((noinline)) void* OpenSession(int request) {
  void* const session = malloc(kSessionBytes);
  memset(session, request, kSessionBytes);
  return session;
}
__attribute__((noinline)) void Answer(int request) {
  void* volatile answer = malloc(kAnswerBytes);
  memset(answer, request, kAnswerBytes);
  free(answer);
}
__attribute__((noinline)) void FillCache(int tenant, int request) {
  const allomon::WithLabels of_nobody{allomon::Labels()};
  void* volatile& place = caches[tenant][request % 64];
  if (place == nullptr) place = malloc(kEntryBytes);
}
__attribute__((noinline)) void* ComputeResult() { return malloc(kResultBytes); }
}

namespace {

void Serve(int request) {
  const int tenant = request % kTenants;
  const std::string name = "tenant-" + std::to_string(tenant);
  const ScopedLabel of_tenant("tenant", name);
  const ScopedLabel of_request("request", tenant % 2 == 0 ? "GET" : "PUT", allomon::kEnds);
  void* const session = OpenSession(request);
  Answer(request);
  FillCache(tenant, request / kTenants);
  if (tenant == kKeeping && request / kTenants % 100 == 0) {
    const std::lock_guard<std::mutex> lock(mutex);
    registry[request] = session;
    ++kept_sessions;
    return;
  }
  free(session);
}

// A job's labels go with it; it ends on another thread.
void RunJob(int job) {
  allomon::Labels labels;
  {
    const ScopedLabel of_job("job", "nightly");
    labels = allomon::CurrentLabels();
  }
  std::thread([&] {
    const allomon::WithLabels with(labels);
    for (int i = 0; i < 1000; ++i) {
      void* const result = ComputeResult();
      if ((job * 1000 + i) % 100 == 0) {
        results.push_back(result);
      } else {
        free(result);
      }
    }
  }).join();
  allomon::EndLabel("job", "nightly");
}

}  // namespace

int main(int argc, char** argv) {
  const int requests = argc > 1 ? atoi(argv[1]) : 1'000'000;
  std::atomic<int> next{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int request; (request = next++) < requests;) Serve(request);
    });
  }
  for (int job = 0; job < requests / 10'000; ++job) RunJob(job);
  for (std::thread& thread : threads) thread.join();
  printf("%zu %zu\n", kept_sessions.load() * kSessionBytes, results.size() * kResultBytes);
  return 0;
}
