// For tests of invariants: a build with checks must stop when an invariant is broken, and name it.
#ifndef ALLOMON_TESTS_SUPPORT_EXPECT_STOPS_H_
#define ALLOMON_TESTS_SUPPORT_EXPECT_STOPS_H_

#include <sys/wait.h>

#include <csignal>
#include <cstdlib>

#include "gtest/gtest.h"
#include "tracker/base/check.h"

namespace allomon::testing {

inline bool EndedAsChecksSay(int status) {
  return internal::kDebugChecks ? WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT
                                : WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace allomon::testing

// Runs the statement in a child: with checks (no NDEBUG) it prints a line that names the invariant,
// and aborts.  Without checks it runs to its end, unharmed and silent.
#define EXPECT_STOPS(statement, invariant)                                     \
  EXPECT_EXIT(                                                                 \
      {                                                                        \
        statement;                                                             \
        _exit(0);                                                              \
      },                                                                       \
      ::allomon::testing::EndedAsChecksSay,                                    \
      ::allomon::internal::kDebugChecks ? "allomon: " invariant                \
                                          " does not hold: .* at [^ ]*:[0-9]+" \
                                        : "^$")

#endif  // ALLOMON_TESTS_SUPPORT_EXPECT_STOPS_H_
