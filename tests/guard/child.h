// Runs code in a forked child, which may die, and keeps the child's output.
#ifndef ALLOMON_TESTS_GUARD_CHILD_H_
#define ALLOMON_TESTS_GUARD_CHILD_H_

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "gtest/gtest.h"

namespace allomon::testing {

struct ChildEnd {
  int signal = 0;    // the signal that killed the child, or 0
  int status = -1;   // the child's exit status, or -1
  std::string said;  // the child's standard error
};

inline std::string ReadAll(int fd) {
  std::string text;
  char piece[4096];
  for (ssize_t got; (got = read(fd, piece, sizeof(piece))) > 0;) text.append(piece, got);
  return text;
}

// The child exits with status 0 when `body` returns, and with 99 after a failed expectation.
template <typename Body>
ChildEnd RunChild(Body body) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    const rlimit no_core = {};
    setrlimit(RLIMIT_CORE, &no_core);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    body();
    _exit(::testing::Test::HasFailure() ? 99 : 0);
  }
  close(ends[1]);
  ChildEnd end;
  end.said = ReadAll(ends[0]);
  close(ends[0]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  if (WIFEXITED(status)) end.status = WEXITSTATUS(status);
  return end;
}

inline void ExpectHas(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "no \"" << part << "\" in:\n" << text;
}

inline void ExpectLacks(const std::string& text, const std::string& part) {
  EXPECT_EQ(text.find(part), std::string::npos) << "\"" << part << "\" in:\n" << text;
}

}  // namespace allomon::testing

#endif  // ALLOMON_TESTS_GUARD_CHILD_H_
