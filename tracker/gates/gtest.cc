#include "tracker/gates/gtest.h"

#include <exception>
#include <ostream>
#include <string>

namespace allomon {
namespace {

const char* NameOf(AllocationQuantity quantity) {
  switch (quantity) {
    case AllocationQuantity::kAllocations:
      return "allocations";
    case AllocationQuantity::kBytes:
      return "bytes allocated";
    case AllocationQuantity::kPeakBytes:
      return "bytes at the peak";
    case AllocationQuantity::kLeakedBlocks:
      return "blocks not freed";
  }
  return "";
}

bool Exceeds(const AllocationReport& report, AllocationLimit limit) {
  return !report.error.empty() || report.Of(limit.quantity) > limit.value;
}

std::string Explain(const AllocationReport& report, AllocationLimit limit) {
  if (!report.error.empty()) return "not counted: " + report.error;
  return std::to_string(report.Of(limit.quantity)) + " " + NameOf(limit.quantity) +
         ", expected at most " + std::to_string(limit.value) + "\n" +
         report.DescribeSites(limit.quantity);
}

class LimitMatcher : public testing::MatcherInterface<const AllocationReport&> {
 public:
  explicit LimitMatcher(AllocationLimit limit) : limit_(limit) {}

  bool MatchAndExplain(const AllocationReport& report,
                       testing::MatchResultListener* listener) const override {
    const UncountedRegion own_work;
    const bool matches = !Exceeds(report, limit_);
    if (!matches && listener->IsInterested()) *listener << Explain(report, limit_);
    return matches;
  }
  void DescribeTo(std::ostream* out) const override {
    *out << "has at most " << limit_.value << " " << NameOf(limit_.quantity);
  }
  void DescribeNegationTo(std::ostream* out) const override {
    *out << "has more than " << limit_.value << " " << NameOf(limit_.quantity);
  }

 private:
  const AllocationLimit limit_;
};

testing::Matcher<const AllocationReport&> Le(AllocationQuantity quantity, uint64_t limit) {
  return testing::MakeMatcher(new LimitMatcher({quantity, limit}));
}

}  // namespace

testing::Matcher<const AllocationReport&> AllocationsLe(uint64_t limit) {
  return Le(AllocationQuantity::kAllocations, limit);
}
testing::Matcher<const AllocationReport&> BytesLe(uint64_t limit) {
  return Le(AllocationQuantity::kBytes, limit);
}
testing::Matcher<const AllocationReport&> PeakBytesLe(uint64_t limit) {
  return Le(AllocationQuantity::kPeakBytes, limit);
}
testing::Matcher<const AllocationReport&> HasNoLeaks() {
  return Le(AllocationQuantity::kLeakedBlocks, 0);
}

void PrintTo(const AllocationReport& report, std::ostream* out) {
  if (!report.error.empty()) *out << report.error << "; ";
  *out << report.allocations << " allocations, " << report.bytes << " bytes, " << report.peak_bytes
       << " at the peak, " << report.live_blocks << " blocks not freed";
}

namespace internal {

ExpectLimit::ExpectLimit(AllocationLimit limit, const char* file, int line)
    : limit_(limit),
      file_(file),
      line_(line),
      exceptions_before_(std::uncaught_exceptions()),
      scope_(limit) {}

ExpectLimit::~ExpectLimit() {
  const AllocationReport report = scope_.Stop();
  const UncountedRegion own_work;
  const bool thrown = std::uncaught_exceptions() > exceptions_before_;
  if (thrown && limit_.quantity == AllocationQuantity::kLeakedBlocks) return;
  if (Exceeds(report, limit_)) ADD_FAILURE_AT(file_, line_) << Explain(report, limit_);
}

}  // namespace internal
}  // namespace allomon
