// Finds a use after free in a program that runs as in production: one of a few hundred blocks is
// guarded, and the report names the request in which the block was allocated.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "allocator/guard.h"
#include "tracker/tracker.h"

thread_local int current_request = 0;
int open_sessions = 0;
int late_pages = 0;

// Keeps the number of the request with each sampled block, and describes the block by it.
struct RequestTracker {
  std::optional<int> alloc_major(const allomon::Allocation&) { return current_request; }
  std::string describe(const int& request) { return "request " + std::to_string(request); }
};

struct Session {
  char user[180];
  int pages_seen;
};

__attribute__((noinline)) Session* OpenSession() {
  Session* session = new Session();
  ++open_sessions;
  return session;
}

__attribute__((noinline)) void CloseSession(Session* session) {
  delete session;
  --open_sessions;
}

__attribute__((noinline)) void CountPage(Session* session) { ++session->pages_seen; }

__attribute__((noinline)) void HandleRequest() {
  Session* session = OpenSession();
  CountPage(session);
  CloseSession(session);
  if (current_request % 3 == 0) {
    CountPage(session);  // the session is freed already
    ++late_pages;
  }
}

int main() {
  allomon::StartOptions start;
  start.seed = 1;  // this example's output repeats; leave it out in production
  if (!allomon::Tracker::start(1e-3, RequestTracker{}, start).ok()) return 1;
  allomon::GuardOptions options;
  options.one_in = 10;
  options.seed = 1;
  const char* error = nullptr;
  if (!allomon::StartGuard(options, &error)) return fprintf(stderr, "%s\n", error), 1;
  for (current_request = 1; current_request <= 1000000; ++current_request) HandleRequest();
  printf("%d uses after free, and nobody noticed\n", late_pages);
}
