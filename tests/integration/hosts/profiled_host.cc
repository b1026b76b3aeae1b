// Ends in the ways of real programs, for profile_end_test.py.  The environment starts its profile;
// its argument selects the way.
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

#include "tracker/profile/profile.h"

namespace {

// Prints before any answer to mlprof.
struct Talkative {
  Talkative() { printf("a constructor talks\n"); }
  ~Talkative() { printf("a destructor talks\n"); }
} g_talkative;

void Work(int calls);
void Step() { ALLOMON_FUNCTION(); }
void Work(int calls) {
  ALLOMON_FUNCTION();
  for (int i = 0; i < calls; ++i) Step();
}

// Ends during a unit.  MLton does not survive this.
void ExitInUnit() {
  const allomon::ProfileData unit = allomon::Profile::Malloc().value();
  Work(100);
  allomon::Profile::WithData(unit, [] {
    Work(7);
    exit(3);
  }).IgnoreError();
}

void WaitForTermination() {
  Work(5);
  printf("waiting\n");
  fflush(stdout);
  for (;;) pause();
}

void Fork() {
  Work(10);
  const pid_t child = fork();
  if (child == 0) {
    Work(3);
    exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  exit(WEXITSTATUS(status));
}

// Takes all available memory; volatile, so that the compiler keeps the allocations.
void* volatile g_block;
void TakeAll() {
  Work(6);
  for (size_t bytes = size_t{1} << 24; bytes >= 16; bytes /= 2) {
    while ((g_block = malloc(bytes)) != nullptr) {
    }
  }
}

void Throw() {
  Work(2);
  throw std::runtime_error("nobody catches this");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "exit-in-unit") ExitInUnit();
  if (what == "wait") WaitForTermination();
  if (what == "fork") Fork();
  if (what == "throw") Throw();
  if (what == "thread-exits") std::thread([] { Work(4), exit(0); }).join();
  if (what == "take-all") TakeAll();
  if (what == "start-again") {
    const absl::Status status = allomon::Profile::Start();
    printf("%s\n", std::string(status.message()).c_str());
  }
  Work(1);
}
