// The scopes that live blocks have outlived, against a search through all scopes; and scopes of
// damaged recordings.
#include "tools/load/recording/ended_scopes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace allomon::recording {
namespace {

constexpr uint64_t kNow = 1000;
constexpr heap::Amount kOne = {1, 100};

// A process with texts of labels.
class Made {
 public:
  Made() { process_.record.last_nanos = kNow; }

  TextRef Text(const std::string& text) {
    const auto offset = static_cast<uint32_t>(process_.text.size());
    process_.text += text;
    return {offset, static_cast<uint32_t>(text.size())};
  }
  void Add(uint32_t thread, const std::string& key, const std::string& value, uint64_t begin,
           uint64_t end) {
    process_.scopes.push_back({thread, 0, Text(key + '\0' + value + '\0'), begin, end});
  }
  Process& process() { return process_; }

  // The labels that a block of this thread and birth has outlived, with the time since, and a star
  // for the innermost one.
  std::vector<std::string> Outlived(uint32_t thread, uint64_t birth,
                                    std::vector<heap::Label> labels) const {
    heap::Sample sample;
    sample.labels = std::move(labels);
    const LiveBlock block = {1, thread, 100, birth, 0};
    EndedScopes(process_).AddCells(block, kOne, &sample);
    std::vector<std::string> told;
    for (const heap::OutlivedCell& cell : sample.outlived) {
      EXPECT_EQ(cell.since_end.amount.bytes, kOne.bytes);
      const heap::Label& label = sample.labels[cell.label];
      told.push_back(label.key + "=" + label.value + " " +
                     std::to_string(cell.since_end.log2_nanos) + (cell.is_innermost ? "*" : ""));
    }
    return told;
  }

 private:
  Process process_;
};

using Told = std::vector<std::string>;

TEST(EndedScopesTest, BlocksBelongToScopesOfTheirThreadAndTime) {
  Made made;
  made.Add(1, "request", "a", 100, 200);
  made.Add(1, "request", "b", 201, 0);
  made.Add(2, "request", "a", 100, 996);
  const std::vector<heap::Label> a = {{"request", "a"}}, b = {{"request", "b"}};
  EXPECT_EQ(made.Outlived(1, 99, a), Told());
  EXPECT_EQ(made.Outlived(1, 100, a), Told({"request=a 9*"}));
  EXPECT_EQ(made.Outlived(1, 200, a), Told({"request=a 9*"}));
  EXPECT_EQ(made.Outlived(1, 250, b), Told());
  EXPECT_EQ(made.Outlived(2, 250, a), Told({"request=a 2*"}));
  EXPECT_EQ(made.Outlived(3, 150, a), Told());
  // A block with other labels was allocated in a scope that has exactly those.
  EXPECT_EQ(made.Outlived(1, 150, b), Told());
  EXPECT_EQ(made.Outlived(1, 150, {}), Told());
  EXPECT_EQ(made.Outlived(1, 150, {{"request", "(other)"}}), Told({"request=(other) 9*"}));
}

TEST(EndedScopesTest, ScopesWithOneBeginAreNestedByTheirEnds) {
  Made made;
  made.Add(1, "request", "r", 100, 200);
  made.Add(1, "session", "s", 100, 300);
  made.Add(1, "tenant", "t", 100, 0);
  const std::vector<heap::Label> all = {{"request", "r"}, {"session", "s"}, {"tenant", "t"}};
  EXPECT_EQ(made.Outlived(1, 150, all), Told({"request=r 9*", "session=s 9"}));
  EXPECT_EQ(made.Outlived(1, 250, all), Told({"session=s 9*"}));
}

TEST(EndedScopesTest, LabelsEndForAllThreads) {
  Made made;
  made.Add(kEveryThread, "job", "7", 0, 500);
  made.Add(1, "request", "r", 100, 200);
  EXPECT_EQ(made.Outlived(1, 500, {{"job", "7"}}), Told({"job=7 8*"}));
  EXPECT_EQ(made.Outlived(1, 501, {{"job", "7"}}), Told());
  EXPECT_EQ(made.Outlived(1, 400, {{"job", "8"}}), Told());
  EXPECT_EQ(made.Outlived(1, 150, {{"job", "7"}, {"request", "r"}}),
            Told({"request=r 9*", "job=7 8"}));
}

// Opens and closes scopes at random.  Sorted as recordings are not.
TEST(EndedScopesTest, AnyNestingIsThatOfASearch) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    Made made;
    struct Span {
      std::string key;
      uint64_t begin, end;
    };
    std::vector<Span> spans;
    std::vector<size_t> open;
    for (uint64_t now = 2; now < kNow; now += 1 + random() % 5) {
      if (open.size() < 5 && random() % 2 == 0) {
        open.push_back(spans.size());
        spans.push_back({"k" + std::to_string(open.size()), now, 0});
      } else if (!open.empty()) {
        spans[open.back()].end = now++;
        open.pop_back();
      }
    }
    std::vector<Span> mixed = spans;
    std::shuffle(mixed.begin(), mixed.end(), random);
    for (const Span& span : mixed) made.Add(1, span.key, "v", span.begin, span.end);
    for (int i = 0; i < 100; ++i) {
      const uint64_t birth = random() % kNow;
      std::vector<heap::Label> labels;
      for (int k = 1; k <= 5; ++k) labels.push_back({"k" + std::to_string(k), "v"});
      std::map<uint64_t, std::string, std::greater<uint64_t>> expected;  // by begin
      for (const Span& span : spans) {
        if (span.end != 0 && span.begin <= birth && birth <= span.end) {
          expected[span.begin] = span.key;
        }
      }
      const Told told = made.Outlived(1, birth, labels);
      ASSERT_EQ(told.size(), expected.size()) << round << " " << birth;
      size_t at = 0;
      for (const auto& [begin, key] : expected) {
        ASSERT_EQ(told[at].substr(0, key.size()), key);
        ASSERT_EQ(told[at].back() == '*', at == 0);
        ++at;
      }
    }
  }
}

// Scopes that overlap, texts that are no labels, places beyond them.
TEST(EndedScopesTest, AnyScopesAreRead) {
  std::mt19937 random(2);
  const std::string texts[] = {"",
                               "a",
                               std::string("a\0b\0", 4),
                               std::string("\0\0", 2),
                               std::string("a\0b\0c\0d\0", 8),
                               std::string("a\0b", 3)};
  for (int round = 0; round < 2000; ++round) {
    Made made;
    for (int i = 0; i < 30; ++i) {
      const TextRef text = made.Text(texts[random() % std::size(texts)]);
      const uint32_t thread = random() % 4 == 0 ? kEveryThread : random() % 3;
      const uint64_t begin = random() % 8, end = random() % 3 == 0 ? 0 : begin + random() % 8;
      made.process().scopes.push_back(
          {thread, static_cast<uint32_t>(random() % 3), text, begin, end});
    }
    for (uint64_t birth = 0; birth < 16; ++birth) {
      const Told told = made.Outlived(1, birth, {{"a", "b"}, {"c", "d"}});
      ASSERT_LE(told.size(), 2u);
      size_t innermost = 0;
      for (const std::string& label : told) innermost += label.back() == '*';
      ASSERT_EQ(innermost, told.empty() ? 0u : 1u);
    }
  }
}

TEST(EndedScopesTest, CellsOfOneTimeAreMerged) {
  std::vector<heap::OutlivedCell> cells;
  for (const uint32_t label : {1u, 0u, 1u, 0u}) {
    for (const bool is_innermost : {true, false}) {
      cells.push_back({label, is_innermost, {255, 7, false, kOne, 3}});
    }
  }
  Merge(&cells);
  ASSERT_EQ(cells.size(), 4u);
  for (const heap::OutlivedCell& cell : cells) EXPECT_EQ(cell.since_end.amount.bytes, 200);
}

}  // namespace
}  // namespace allomon::recording
