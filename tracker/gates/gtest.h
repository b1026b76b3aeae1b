// Allocation gates in GoogleTest: the counts of allocation_scope.h as expectations.
//
//   ALLOMON_EXPECT_ALLOCATIONS_LE(0) { Parse(line, &reused); }
//   ALLOMON_EXPECT_BYTES_LE(4096) { ... }      // allocated, freed or not
//   ALLOMON_EXPECT_PEAK_LE(1 << 20) { ... }    // bytes alive at once
//   ALLOMON_EXPECT_NO_LEAKS { ... }            // all freed by the end, on any thread
//   ALLOMON_EXPECT_NOTHING_OUTLIVES("request") { ... }  // the same, and a failure has the name
//
// A failure is non-fatal, and lists the call stacks of the excess.  The block is an ordinary one:
// return, break, continue and exceptions leave it, and the allocations until then are judged.  An
// exception, itself a live block, is not judged for leaks.  Blocks nest, and do not see other
// threads.  Allocations of a failing EXPECT inside do not count.
//
//   EXPECT_THAT(allomon::AllocationsOf([&] { Parse(line); }), allomon::AllocationsLe(2));
//
// In a program whose malloc does not report all of them fail, with the remedy.
#ifndef ALLOMON_TRACKER_GATES_GTEST_H_
#define ALLOMON_TRACKER_GATES_GTEST_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "tracker/gates/allocation_report.h"
#include "tracker/gates/allocation_scope.h"

#define ALLOMON_EXPECT_ALLOCATIONS_LE(n) \
  ALLOMON_EXPECT_LIMIT_(::allomon::AllocationQuantity::kAllocations, n)
#define ALLOMON_EXPECT_BYTES_LE(n) ALLOMON_EXPECT_LIMIT_(::allomon::AllocationQuantity::kBytes, n)
#define ALLOMON_EXPECT_PEAK_LE(n) \
  ALLOMON_EXPECT_LIMIT_(::allomon::AllocationQuantity::kPeakBytes, n)
#define ALLOMON_EXPECT_NO_LEAKS \
  ALLOMON_EXPECT_LIMIT_(::allomon::AllocationQuantity::kLeakedBlocks, 0)
#define ALLOMON_EXPECT_NOTHING_OUTLIVES(scope) \
  ALLOMON_EXPECT_LIMIT_OF_(scope, ::allomon::AllocationQuantity::kLeakedBlocks, 0)

#define ALLOMON_EXPECT_LIMIT_(quantity, n) ALLOMON_EXPECT_LIMIT_OF_("", quantity, n)
// Not a loop, so that break and continue in the block refer to the user's loop.
#define ALLOMON_EXPECT_LIMIT_OF_(scope, quantity, n)                        \
  if (const ::allomon::internal::ExpectLimit allomon_expect_limit(          \
          scope, {quantity, static_cast<uint64_t>(n)}, __FILE__, __LINE__); \
      false) {                                                              \
  } else /* NOLINT */

namespace allomon {

// Matchers of an AllocationReport.
testing::Matcher<const AllocationReport&> AllocationsLe(uint64_t limit);
testing::Matcher<const AllocationReport&> BytesLe(uint64_t limit);
testing::Matcher<const AllocationReport&> PeakBytesLe(uint64_t limit);
testing::Matcher<const AllocationReport&> HasNoLeaks();

void PrintTo(const AllocationReport& report, std::ostream* out);

namespace internal {

// A scope that adds a failure at this source line if it exceeds its limit.  A name that is not
// empty stands before the failure.
class ExpectLimit {
 public:
  ExpectLimit(std::string_view name, AllocationLimit limit, const char* file, int line);
  ~ExpectLimit();
  ExpectLimit(const ExpectLimit&) = delete;
  ExpectLimit& operator=(const ExpectLimit&) = delete;

 private:
  const std::string name_;
  const AllocationLimit limit_;
  const char* const file_;
  const int line_;
  const int exceptions_before_;
  AllocationScope scope_;  // last, so that it begins after the other members are made
};

}  // namespace internal
}  // namespace allomon

#endif  // ALLOMON_TRACKER_GATES_GTEST_H_
