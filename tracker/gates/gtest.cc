#include "tracker/gates/gtest.h"

#include <exception>
#include <ostream>
#include <string>

namespace allomon {
namespace {

std::string Count(uint64_t number, const char* noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

// "1 allocation", "2 blocks not freed".
std::string Counted(uint64_t number, AllocationQuantity quantity) {
  switch (quantity) {
    case AllocationQuantity::kAllocations:
      return Count(number, "allocation");
    case AllocationQuantity::kBytes:
      return Count(number, "byte") + " allocated";
    case AllocationQuantity::kPeakBytes:
      return Count(number, "byte") + " at the peak";
    case AllocationQuantity::kLeakedBlocks:
      return Count(number, "block") + " not freed";
  }
  return "";
}

bool Exceeds(const AllocationReport& report, AllocationLimit limit) {
  return !report.error.empty() || report.Of(limit.quantity) > limit.value;
}

std::string Explain(const AllocationReport& report, AllocationLimit limit) {
  if (!report.error.empty()) return "not counted: " + report.error;
  return Counted(report.Of(limit.quantity), limit.quantity) + ", expected at most " +
         std::to_string(limit.value) + "\n" + report.DescribeSites(limit.quantity);
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
    *out << "has at most " << Counted(limit_.value, limit_.quantity);
  }
  void DescribeNegationTo(std::ostream* out) const override {
    *out << "has more than " << Counted(limit_.value, limit_.quantity);
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
  *out << Count(report.allocations, "allocation") << ", " << Count(report.bytes, "byte") << ", "
       << report.peak_bytes << " at the peak, " << Count(report.live_blocks, "block")
       << " not freed";
}

namespace internal {

ExpectLimit::ExpectLimit(std::string_view name, AllocationLimit limit, const char* file, int line)
    : name_(name),
      limit_(limit),
      file_(file),
      line_(line),
      exceptions_before_(std::uncaught_exceptions()),
      scope_(limit) {}

ExpectLimit::~ExpectLimit() {
  const AllocationReport report = scope_.Stop();
  const UncountedRegion own_work;
  const bool thrown = std::uncaught_exceptions() > exceptions_before_;
  if (thrown && limit_.quantity == AllocationQuantity::kLeakedBlocks) return;
  if (!Exceeds(report, limit_)) return;
  ADD_FAILURE_AT(file_, line_) << name_ << (name_.empty() ? "" : ": ") << Explain(report, limit_);
}

}  // namespace internal
}  // namespace allomon
