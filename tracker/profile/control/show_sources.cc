// Answers `program @MLton show-sources`, for executables that this file is linked into, as a
// program that MLton compiled for profiling does.  So mlprof can be given such an executable.
//
// Standard output must contain the answer and nothing else.  Constructors of other code may print,
// so standard output is set aside before the first of them runs (in the executable's own
// pre-initialisation).  It is restored for the answer after all constructors have run, including
// those that register functions.  Then the process ends, before main.
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "tracker/profile/control/snapshot.h"
#include "tracker/profile/record/recording.h"
#include "tracker/profile/write/attribution.h"

// The linker's names for the two ends of the executable's list of constructors.
extern "C" {
using Constructor = void (*)(int, char**, char**);
extern Constructor __init_array_start[] __attribute__((visibility("hidden")));
extern Constructor __init_array_end[] __attribute__((visibility("hidden")));
}

namespace allomon {
namespace {

int g_answer_fd = -1;

// Whether the arguments are `@MLton` and, before an optional `--`, show-sources.
bool AsksForSources(int argc, char** argv) {
  if (argc < 3 || strcmp(argv[1], "@MLton") != 0) return false;
  for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; ++i) {
    if (strcmp(argv[i], "show-sources") == 0) return true;
  }
  return false;
}

// Runs before any constructor, including those of shared libraries.
void SetStandardOutputAside(int argc, char** argv, char**) {
  if (!AsksForSources(argc, argv)) return;
  g_answer_fd = dup(STDOUT_FILENO);
  const int nowhere = open("/dev/null", O_WRONLY);
  if (nowhere < 0) return;
  dup2(nowhere, STDOUT_FILENO);
  close(nowhere);
}

void WriteAll(int fd, const std::string& text) {
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t n = write(fd, text.data() + written, text.size() - written);
    if (n <= 0) _exit(1);
    written += static_cast<size_t>(n);
  }
}

// Calls the constructors after `self` in the list, as the start-up code would.
void RunConstructorsAfter(Constructor self, int argc, char** argv, char** environment) {
  Constructor* next = __init_array_start;
  while (next != __init_array_end && *next != self) ++next;
  while (next != __init_array_end && ++next != __init_array_end) {
    (*next)(argc, argv, environment);
  }
}

__attribute__((constructor(101))) void SayThatItAnswers() {
  internal::answers_for_itself.store(true, std::memory_order_relaxed);
}

// g++ does not honour the priority of FunctionRegistrar's constructors, so this reader of the whole
// table has to run last.
__attribute__((constructor(102))) void AnswerIfAsked(int argc, char** argv, char** environment) {
  if (g_answer_fd < 0) return;
  RunConstructorsAfter(AnswerIfAsked, argc, argv, environment);
  WriteAll(g_answer_fd, FormatSources(SourceTableOf(internal::FunctionsOfProgram())));
  _exit(0);
}

__attribute__((section(".preinit_array"),
               used)) void (*const g_preinit)(int, char**, char**) = SetStandardOutputAside;

}  // namespace
}  // namespace allomon
