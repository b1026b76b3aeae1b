#include <gtest/gtest-spi.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/gates/keep.h"
#include "tracker/gates/gtest.h"

namespace allomon {
namespace {

using testing::HasSubstr;
using testing::Not;

// The failures that `code` adds, as one text each.
template <typename Code>
std::vector<std::string> FailuresOf(Code code) {
  testing::TestPartResultArray results;
  {
    testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
    code();
  }
  std::vector<std::string> failures;
  for (int i = 0; i < results.size(); ++i) {
    failures.push_back(results.GetTestPartResult(i).message());
  }
  return failures;
}

TEST(GtestGates, WithinTheLimitsNothingFails) {
  ALLOMON_EXPECT_ALLOCATIONS_LE(0) {}
  ALLOMON_EXPECT_ALLOCATIONS_LE(2) {
    Take(8);
    Take(8);
  }
  ALLOMON_EXPECT_BYTES_LE(16) { Take(16); }
  ALLOMON_EXPECT_PEAK_LE(16) {
    for (int i = 0; i < 10; ++i) Take(16);
  }
  ALLOMON_EXPECT_NO_LEAKS { Take(16); }
}

__attribute__((noinline)) void Within() { Take(8); }
__attribute__((noinline)) void Beyond() { Take(9); }

TEST(GtestGates, OneAllocationTooManyFailsAndNamesTheExcessOnly) {
  const auto failures = FailuresOf([] {
    ALLOMON_EXPECT_ALLOCATIONS_LE(1) {
      Within();
      Beyond();
    }
  });
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_THAT(failures[0], HasSubstr("2 allocations, expected at most 1"));
  EXPECT_THAT(failures[0], HasSubstr("Beyond "));
  EXPECT_THAT(failures[0], HasSubstr("gtest_gates_test.cc:"));
  EXPECT_THAT(failures[0], Not(HasSubstr("Within ")));
}

TEST(GtestGates, OneByteTooManyFails) {
  const auto failures = FailuresOf([] {
    ALLOMON_EXPECT_BYTES_LE(16) {
      Within();
      Take(9);
    }
  });
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_THAT(failures[0], HasSubstr("17 bytes allocated, expected at most 16"));
}

TEST(GtestGates, ExceededPeakNamesWhatLivedThen) {
  const auto failures = FailuresOf([] {
    ALLOMON_EXPECT_PEAK_LE(100) {
      Within();
      const Block a = Take(60), b = Take(60);
    }
  });
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_THAT(failures[0], HasSubstr("120 bytes at the peak, expected at most 100"));
  EXPECT_THAT(failures[0], HasSubstr("live when the limit was exceeded"));
  EXPECT_THAT(failures[0], Not(HasSubstr("Within ")));
}

TEST(GtestGates, LeakNamesTheBlockThatWasNotFreed) {
  Block leaked;
  const auto failures = FailuresOf([&leaked] {
    ALLOMON_EXPECT_NO_LEAKS {
      Within();
      leaked = Take(24);
    }
  });
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_THAT(failures[0], HasSubstr("1 block not freed, expected at most 0"));
  EXPECT_THAT(failures[0], HasSubstr("24 bytes"));
  EXPECT_THAT(failures[0], Not(HasSubstr("Within ")));
}

TEST(GtestGates, WhatOutlivesAScopeIsSaidWithItsName) {
  Block kept;
  const auto failures = FailuresOf([&kept] {
    for (const std::string path : {"/a", "/b"}) {
      ALLOMON_EXPECT_NOTHING_OUTLIVES("request " + path) {
        Take(8);
        if (path == "/b") kept = Take(24);
      }
    }
  });
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_THAT(failures[0], HasSubstr("request /b: 1 block not freed, expected at most 0"));
  EXPECT_THAT(failures[0], HasSubstr("24 bytes"));
}

TEST(GtestGates, ReturnBreakContinueAndExceptionsLeaveTheBlockJudged) {
  const auto too_much = [](int how) {
    for (int i = 0; i < 1; ++i) {
      ALLOMON_EXPECT_ALLOCATIONS_LE(0) {
        Take(8);
        if (how == 0) return;
        if (how == 1) break;
        if (how == 2) continue;
        if (how == 3) throw how;
      }
    }
  };
  for (int how = 0; how < 3; ++how) {
    EXPECT_EQ(FailuresOf([&] { too_much(how); }).size(), 1u) << how;
  }
  EXPECT_EQ(FailuresOf([&] { EXPECT_THROW(too_much(3), int); }).size(), 1u);
}

TEST(GtestGates, ExceptionInFlightIsNoLeak) {
  const auto code = [] {
    ALLOMON_EXPECT_NO_LEAKS { throw 1; }
  };
  EXPECT_EQ(FailuresOf([&] { EXPECT_THROW(code(), int); }).size(), 0u);
}

TEST(GtestGates, FailingExpectationInsideIsNotCounted) {
  const auto failures = FailuresOf([] {
    ALLOMON_EXPECT_ALLOCATIONS_LE(0) {
      EXPECT_EQ(1 + 1, 3) << "an explanation that is too long to fit into the string itself "
                          << 12345;
      EXPECT_THAT(std::string_view("a"), testing::StartsWith("b"));
      EXPECT_STREQ("a", "b");
      ADD_FAILURE() << "and one more, also longer than the string's own buffer of 15 bytes";
    }
  });
  EXPECT_EQ(failures.size(), 4u) << failures.back();
}

TEST(GtestGates, FailureOfTheInnerGateIsNotCountedByTheOuterOne) {
  const auto failures = FailuresOf([] {
    ALLOMON_EXPECT_ALLOCATIONS_LE(1) {
      ALLOMON_EXPECT_ALLOCATIONS_LE(0) { Take(8); }
    }
  });
  EXPECT_EQ(failures.size(), 1u);
}

TEST(GtestGates, OtherThreadsAllocationsAreNotJudged) {
  std::atomic<bool> done{false};
  std::atomic<int> rounds{0};
  std::thread other([&] {
    for (; !done; ++rounds) Take(64);
  });
  ALLOMON_EXPECT_ALLOCATIONS_LE(0) {
    const int before = rounds;
    while (rounds < before + 100) std::this_thread::yield();
  }
  done = true;
  other.join();
}

TEST(GtestGates, Matchers) {
  const AllocationReport report = AllocationsOf([] {
    const Block a = Take(10), b = Take(20);
    Take(30);
  });
  EXPECT_THAT(report, AllocationsLe(3));
  EXPECT_THAT(report, Not(AllocationsLe(2)));
  EXPECT_THAT(report, BytesLe(60));
  EXPECT_THAT(report, Not(BytesLe(59)));
  EXPECT_THAT(report, PeakBytesLe(60));
  EXPECT_THAT(report, Not(PeakBytesLe(59)));
  EXPECT_THAT(report, HasNoLeaks());
  const auto failures = FailuresOf([&report] { EXPECT_THAT(report, AllocationsLe(2)); });
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_THAT(failures[0], HasSubstr("has at most 2 allocations"));
  EXPECT_THAT(failures[0], HasSubstr("3 allocations, 60 bytes, 60 at the peak"));
  EXPECT_THAT(failures[0], HasSubstr("Take "));
}

TEST(GtestGates, OneIsNotMany) {
  const AllocationReport report = AllocationsOf([] { Take(1); });
  const auto failures = FailuresOf([&report] {
    EXPECT_THAT(report, AllocationsLe(0));
    EXPECT_THAT(report, Not(AllocationsLe(1)));
    EXPECT_THAT(report, BytesLe(0));
  });
  ASSERT_EQ(failures.size(), 3u);
  EXPECT_THAT(failures[0], HasSubstr("1 allocation, expected at most 0"));
  EXPECT_THAT(failures[0], HasSubstr("1 allocation, 1 byte, 1 at the peak, 0 blocks not freed"));
  EXPECT_THAT(failures[1], HasSubstr("has more than 1 allocation\n"));
  EXPECT_THAT(failures[2], HasSubstr("1 byte allocated, expected at most 0"));
}

// checks inv.gates.exact: a report with an error passes no gate.
TEST(GtestGates, InexactReportMatchesNothing) {
  AllocationReport report;
  report.error = "lost";
  EXPECT_THAT(report, Not(AllocationsLe(1000)));
}

}  // namespace
}  // namespace allomon
