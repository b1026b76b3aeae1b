// Arbitrary profiles are shown and compared without a crash: numbers out of range, loops in tables,
// amounts that are not numbers, names of any bytes.
#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tools/heap/heap_profile.h"
#include "tools/report/table/outputs.h"
#include "tools/report/views/diff_view.h"
#include "tools/report/views/view.h"

namespace allomon::views {
namespace {

using Arguments = std::vector<std::string>;

class AnyProfile {
 public:
  explicit AnyProfile(uint64_t seed) : random_(seed) {}

  heap::HeapProfile Make() {
    heap::HeapProfile profile;
    profile.rate = Pick({0, 1e-4, 1, 0.5, 1e-300, 7, -1, std::nan("")});
    for (bool& has : profile.has) has = Below(4) != 0;
    profile.has_blocks = Below(8) != 0;
    profile.duration_seconds = Amount();
    profile.peak_seconds = Amount();
    profile.program = Text();
    for (size_t i = Below(6); i-- > 0;) {
      profile.functions.push_back({Text(), Text(), Text(), Number()});
      profile.mappings.push_back({Number(), Number(), Number(), Text(), Text()});
      profile.threads.push_back(
          {Text(), Number(), Amount(), Amount(), Amount(), {Amount(), Amount()}, {}});
      profile.timeline.push_back({Amount(), Amount(), Amount(), Amount()});
    }
    for (size_t i = Below(10); i-- > 0;) {
      heap::Location location = {Number(), Number(), {}};
      for (size_t line = Below(3); line-- > 0;) location.lines.push_back({Number(), Number()});
      profile.locations.push_back(location);
    }
    for (size_t i = Below(20); i-- > 0;) profile.samples.push_back(AnySample());
    if (Below(2) == 0) profile.contents = heap::Contents{Amount(), Amount(), Amount()};
    return profile;
  }

 private:
  size_t Below(size_t end) { return random_() % end; }
  double Pick(const std::vector<double>& values) { return values[Below(values.size())]; }

  double Amount() {
    return Pick({0, 1, 1, 100, 1e6, 1e6, 3e9, 1e18, 1e300, -5, 0.5,
                 std::numeric_limits<double>::infinity(), std::nan("")});
  }
  uint32_t Number() { return Below(8) == 0 ? UINT32_MAX - Below(2) : Below(10); }

  std::string Text() {
    const std::string texts[] = {"",
                                 "f",
                                 "g<a>(b)",
                                 "\033[2J",
                                 std::string("a\0b", 3),
                                 "\xff\xfe",
                                 "std::vector<int>::push_back(int&&)",
                                 "operator()",
                                 "<<(>",
                                 std::string(3000, 'x'),
                                 "/etc",
                                 "名前"};
    return texts[Below(std::size(texts))];
  }

  heap::AgeCell Cell() {
    return {static_cast<uint8_t>(random_()),
            static_cast<uint8_t>(random_()),
            Below(2) == 0,
            {Amount(), Amount()}};
  }

  heap::Sample AnySample() {
    heap::Sample sample;
    for (size_t i = Below(8); i-- > 0;) sample.stack.push_back(Number());
    sample.size_bytes = Below(4) == 0 ? random_() : Below(1000);
    sample.has_size = Below(2) == 0;
    sample.has_header = Below(2) == 0;
    sample.source = static_cast<heap::Source>(Below(heap::kSources));
    sample.thread = Number();
    for (heap::Amount& amount : sample.amounts) amount = {Amount(), Amount()};
    for (size_t i = Below(3); i-- > 0;) sample.deaths.push_back(Cell());
    for (size_t i = Below(3); i-- > 0;) sample.ages.push_back(Cell());
    for (size_t i = Below(3); i-- > 0;) {
      sample.sizes.push_back(
          {Below(4) == 0 ? random_() : Below(1000), {Amount(), Amount()}, Below(2) == 0});
    }
    for (size_t i = Below(3); i-- > 0;) {
      sample.uses.push_back({Amount(), Amount(), Amount(), Amount()});
    }
    return sample;
  }

  std::mt19937_64 random_;
};

void Show(const heap::HeapProfile& profile, const Arguments& args) {
  auto options = ParseOptions(args, Command::kReport);
  ASSERT_TRUE(options.ok()) << options.status();
  options->files = {"x"};
  TextStyle style;
  style.width = 80;
  for (const Format format : {Format::kTable, Format::kJson}) {
    options->format = format;
    const auto report = ReportOf(profile, *options, {10, 80, Charset::kUtf8});
    if (!report.ok()) continue;
    const std::string text = ToText(*report, style);
    EXPECT_EQ(text.find('\033'), std::string::npos);
    ToJson(*report);
    ToCsv(*report);
  }
}

TEST(ViewsFuzzTest, AnyProfileIsShown) {
  const std::vector<Arguments> all = {{},
                                      {"--view=tree"},
                                      {"--view=callers"},
                                      {"--view=lines"},
                                      {"--view=sizes"},
                                      {"--view=types"},
                                      {"--view=unused"},
                                      {"--by=type"},
                                      {"--by=source"},
                                      {"--by=source", "--view=tree"},
                                      {"--view=threads"},
                                      {"--view=modules"},
                                      {"--view=lifetimes"},
                                      {"--timeline"},
                                      {"--leaks"},
                                      {"--source=f"},
                                      {"--metric=alloc", "--blocks"},
                                      {"--focus=f", "--ignore=g", "--exclude=x+"}};
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const heap::HeapProfile profile = AnyProfile(seed).Make();
    SCOPED_TRACE(seed);
    for (const Arguments& args : all) Show(profile, args);
  }
}

TEST(ViewsFuzzTest, AnyPairIsCompared) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const heap::HeapProfile before = AnyProfile(seed).Make();
    const heap::HeapProfile after = AnyProfile(seed + 1000).Make();
    for (const char* view : {"functions", "tree", "callers", "lines"}) {
      auto options = ParseOptions({"--view", view, "a", "b"}, Command::kDiff);
      ASSERT_TRUE(options.ok());
      const auto difference = DifferenceOf(before, after, *options, {10, 80, Charset::kUtf8});
      if (difference.ok()) ToText(difference->report, {});
    }
  }
}

}  // namespace
}  // namespace allomon::views
