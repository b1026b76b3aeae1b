// Runs a part of a test in a process of its own.
#ifndef ALLOMON_TESTS_SUPPORT_IN_CHILD_H_
#define ALLOMON_TESTS_SUPPORT_IN_CHILD_H_

#include <sys/wait.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace allomon::testing {

// Runs `body` in a child of fork.  A failed expectation there, another exit status and a signal
// fail the test.  The child leaves by _exit: nothing of the test's process runs at its end.
template <typename Body>
void InChild(Body body) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    body();
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace allomon::testing

#endif  // ALLOMON_TESTS_SUPPORT_IN_CHILD_H_
