// Tests --view=pages on hand-written profiles, the weight of a block in place, and how objects of
// Python are told from other blocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/views/hand_made.h"
#include "tools/explain/in_place_blocks.h"
#include "tools/heap/held.h"
#include "tools/load/recording/profile_builder.h"
#include "tools/pages/object_types.h"

namespace allomon::views {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Object = nlohmann::json;

class Held : public HandMade {
 public:
  Held() {
    profile.rate = 1e-3;
    profile.pages.emplace();
    profile.pages->free_bytes = 1e6;
    profile.pages->live_bytes = 1e6;
    profile.pages->one_in = 16;
  }

  heap::Sample& AddHeld(const std::vector<std::string>& stack,
                        const std::vector<heap::HeldCell>& cells) {
    heap::Sample& sample = Add(stack, 64, 100, 100);
    sample.held = cells;
    profile.pages->in_place_blocks += static_cast<double>(cells.size());
    return sample;
  }

  Object Report(std::vector<std::string> options = {}) const {
    options.emplace_back("--view=pages");
    return Object::parse(Json(profile, options));
  }
};

constexpr heap::HeldCell Cell(double held_bytes, double age_seconds, double weight,
                              uint64_t size_bytes = 64) {
  return {size_bytes, 64, held_bytes, age_seconds, weight};
}

TEST(PagesViewTest, RowsAreSumsByLineTheMostFirst) {
  Held held;
  held.AddHeld({"Little@a.cc:3"}, {Cell(64, 1, 10)});
  held.AddHeld({"Much@a.cc:4"}, {Cell(576, 100, 10), Cell(64, 10, 20)});
  held.AddHeld({"Much@a.cc:4", "main"}, {Cell(192, 1, 1)});
  const Object report = held.Report();
  const Object rows = report.at("pages");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].at("function"), "Much");
  const double bytes = 5760 + 1280 + 192;
  EXPECT_EQ(rows[0].at("held"), bytes);
  EXPECT_EQ(rows[0].at("blocks_in_place"), 3);
  EXPECT_EQ(rows[0].at("live_bytes"), 31 * 64);
  EXPECT_NEAR(rows[0].at("occupancy_percent"), 100 * 31 * 64 / (31 * 64 + bytes), 1e-6);
  EXPECT_NEAR(rows[0].at("age_seconds"), (5760 * 100 + 1280 * 10 + 192) / bytes, 1e-6);
  EXPECT_EQ(rows[1].at("held"), 640);
  EXPECT_EQ(report.at("held"), bytes + 640);
}

// The variance is of independent blocks, of which one in `weight` is seen.
TEST(PagesViewTest, IntervalsAreOfTheBlocksInPlace) {
  Held held;
  held.AddHeld({"Few@a.cc:1"}, std::vector<heap::HeldCell>(400, Cell(100, 1, 1000)));
  held.AddHeld({"Exact@a.cc:2"}, {Cell(640, 1, 1)});
  const Object rows = held.Report().at("pages");
  const double bytes = 400 * 100 * 1000.0;
  const double deviation = 100 * std::sqrt(400 * 1000 * 999.0);
  EXPECT_NEAR(rows[0].at("held_high").get<double>() - rows[0].at("held_low").get<double>(),
              2 * 1.96 * deviation, 0.02 * deviation);
  EXPECT_LT(rows[0].at("held_low"), bytes);
  EXPECT_EQ(rows[1].at("held_low"), 640);
  EXPECT_EQ(rows[1].at("held_high"), 640);
}

TEST(PagesViewTest, LabelsPartRows) {
  Held held;
  held.AddHeld({"Make@a.cc:1"}, {Cell(100, 1, 1)}).labels = {{"tenant", "17"}};
  held.AddHeld({"Make@a.cc:1"}, {Cell(50, 1, 1)}).labels = {{"tenant", "18"}};
  held.AddHeld({"Other@a.cc:2"}, {Cell(25, 1, 1)}).labels = {{"tenant", "17"}};
  const Object by_line = held.Report().at("pages");
  ASSERT_EQ(by_line.size(), 3u);
  EXPECT_EQ(by_line[0].at("label"), "tenant=17");
  const Object by_tenant = held.Report({"--by=label:tenant"}).at("pages");
  ASSERT_EQ(by_tenant.size(), 2u);
  EXPECT_EQ(by_tenant[0].at("label"), "17");
  EXPECT_EQ(by_tenant[0].at("held"), 125);
  EXPECT_EQ(by_tenant[0].at("function"), "Make");
  EXPECT_EQ(held.Report({"--focus-label=tenant=18"}).at("held"), 50);
  EXPECT_EQ(held.Report({"--ignore=Make"}).at("held"), 25);
}

TEST(PagesViewTest, ASampledObjectOfPythonStandsForItselfAlone) {
  Held held;
  held.AddHeld({"_PyObject_New"}, {Cell(10, 1, 1000), Cell(10, 1, 1000, 513)});
  EXPECT_EQ(held.Report().at("held"), 20'000);
  heap::WeighArenas(&held.profile);
  EXPECT_EQ(held.Report().at("held"), 10'010);
}

TEST(PagesViewTest, TheHeadNamesWhoHoldsMost) {
  Held held;
  held.AddHeld({"Leftovers@a.cc:7"}, std::vector<heap::HeldCell>(100, Cell(1536, 2400, 4)));
  const std::string text = Shown(held.profile, {"--view=pages"});
  EXPECT_THAT(text, HasSubstr("free blocks in pages with live ones: 976.6 KiB by the allocator's "
                              "own walk, the pages are 50.0% full; 600.0 KiB ("));
  EXPECT_THAT(text, HasSubstr("beside blocks allocated at Leftovers (a.cc:7), 40 min 0 s old, in "
                              "pages that are 4.0% full\n"));
  EXPECT_THAT(text, HasSubstr("note: at least "));
  held.profile.pages->free_bytes = 100 * 1536 * 4;
  EXPECT_THAT(Shown(held.profile, {"--view=pages"}), Not(HasSubstr("note: at least ")));
  held.profile.pages->without_room = 3;
  EXPECT_THAT(Shown(held.profile, {"--view=pages"}), HasSubstr("note: 3 samples found no room"));
}

TEST(PagesViewTest, WhatItCannotShowIsOneLine) {
  Held held;
  EXPECT_THAT(Shown(held.profile, {"--view=pages"}), HasSubstr("note: no live block is in place"));
  held.profile.pages.reset();
  EXPECT_THAT(Failure(held.profile, {"--view=pages"}), HasSubstr("report --view=pages PID"));
}

// --- Python's types, in memory that a test writes.

constexpr uint64_t kTypeType = 0x10000, kNodeType = 0x20000, kBlock = 0x7f0000000000;
constexpr uint64_t kTypeSubclass = uint64_t{1} << 31;

class PythonTypesTest : public ::testing::Test {
 protected:
  PythonTypesTest() {
    AddType(kTypeType, "type", kTypeType, kTypeSubclass);
    AddType(kNodeType, "Node", kTypeType, 0);
  }

  void Word(uint64_t address, uint64_t word) { memcpy(At(address), &word, sizeof(word)); }
  void AddType(uint64_t address, const std::string& name, uint64_t metatype, uint64_t flags) {
    Word(address, 1);
    Word(address + 8, metatype);
    Word(address + 24, address + 0x200);
    Word(address + 168, flags);
    memcpy(At(address + 0x200), name.c_str(), name.size() + 1);
  }
  std::string TypeOf(const std::vector<uint64_t>& words, uint64_t size_bytes = 64) {
    for (size_t i = 0; i < 8; ++i) Word(kBlock + 8 * i, i < words.size() ? words[i] : 0);
    pages::PythonTypes types([this](uint64_t address, void* to, size_t bytes) {
      const auto page = pages_.find(address >> 12);
      if (page == pages_.end() || (address & 0xfff) + bytes > 4096) return false;
      memcpy(to, page->second.data() + (address & 0xfff), bytes);
      return true;
    });
    return types.Of(kBlock, size_bytes);
  }

 private:
  char* At(uint64_t address) { return pages_[address >> 12].data() + (address & 0xfff); }

  std::map<uint64_t, std::array<char, 4096>> pages_;
};

TEST_F(PythonTypesTest, ObjectsWithAndWithoutWordsBeforeThem) {
  constexpr uint64_t kOther = 0x7f0000001000;
  EXPECT_EQ(TypeOf({1, kNodeType}), "Node");
  EXPECT_EQ(TypeOf({1, kNodeType}, 16), "Node");
  EXPECT_EQ(TypeOf({kOther, kOther, 3, kNodeType}), "Node");
  EXPECT_EQ(TypeOf({0, kOther, 3, kNodeType}), "Node");
  EXPECT_EQ(TypeOf({0, kOther, kOther, kOther, 3, kNodeType}), "Node");
  EXPECT_EQ(TypeOf({0xffffffff, kNodeType}), "Node");             // immortal, 3.12
  EXPECT_EQ(TypeOf({0x7f00'c000'0001, kNodeType}), "");           // bits of an address
  EXPECT_EQ(TypeOf({0x4000'0000'c000'0000, kNodeType}), "Node");  // flags, 3.14
  EXPECT_EQ(TypeOf({kOther, kOther, 1, kTypeType}), "type");
}

TEST_F(PythonTypesTest, WhatIsNoObjectHasNoType) {
  constexpr uint64_t kObject = 0x7f0000002000;
  Word(kObject, 1);
  Word(kObject + 8, kNodeType);
  EXPECT_EQ(TypeOf({}), "");
  EXPECT_EQ(TypeOf({1, kObject}), "");                 // refers to an object, which is no type
  EXPECT_EQ(TypeOf({kObject, kObject, kObject}), "");  // items of a list
  EXPECT_EQ(TypeOf({kNodeType, kNodeType}), "");       // of a list of types
  EXPECT_EQ(TypeOf({0, kNodeType}), "");               // it is being freed
  EXPECT_EQ(TypeOf({1, kNodeType + 4}), "");
  EXPECT_EQ(TypeOf({1, 0x30000}), "");  // not mapped
  EXPECT_EQ(TypeOf({1, kNodeType}, 15), "");
  EXPECT_EQ(TypeOf({0, kObject, 3, kNodeType}, 31), "");
}

TEST_F(PythonTypesTest, DamagedTypesHaveNoName) {
  constexpr uint64_t kOther = 0x40000;
  AddType(kOther, "Other", kNodeType, 0);  // its type is none of types
  EXPECT_EQ(TypeOf({1, kOther}), "");
  AddType(kOther, "Other", kOther, kTypeSubclass);  // its own type, and not named "type"
  EXPECT_EQ(TypeOf({1, kOther}), "");
  AddType(kOther, "Other", 0x50000, 0);
  AddType(0x50000, "a", 0x60000, kTypeSubclass);  // a cycle
  AddType(0x60000, "b", 0x50000, kTypeSubclass);
  EXPECT_EQ(TypeOf({1, kOther}), "");
  for (const std::string& name :
       {std::string(), std::string("two words"), std::string("a\x01"), std::string(300, 'x')}) {
    AddType(kOther, name, kTypeType, 0);
    EXPECT_EQ(TypeOf({1, kOther}), "") << name;
  }
  AddType(kOther, std::string(200, 'x'), kTypeType, 0);
  EXPECT_EQ(TypeOf({1, kOther}), std::string(200, 'x'));
}

}  // namespace
}  // namespace allomon::views

namespace allomon::recording {
namespace {

heap::HeldCell CellOf(double rate, double one_in, uint64_t size_bytes) {
  Process process;
  process.record.rate = rate;
  process.record.last_nanos = 5'000'000'000;
  Process::Row row = {};
  row.source = 3;
  row.size_class = 1;
  process.rows.push_back(row);
  LiveBlock block = {};
  block.row = 1;
  block.size_bytes = size_bytes;
  block.birth_nanos = 2'000'000'000;
  return HeldCellOf(process, block, Held{64, 192, one_in});
}

// A page has no other blocks at rate 1.
TEST(HeldCellTest, SamplesThatDoNotStayAreOnNoPage) {
  EXPECT_EQ(CellOf(1, 1, 56).weight, 1);
  EXPECT_EQ(CellOf(1, 16, 56).weight, 1);
  const double p = 1 - std::pow(1 - 0.01, 8);
  EXPECT_NEAR(CellOf(0.01, 1, 56).weight, 1 / p, 1e-9);
  EXPECT_NEAR(CellOf(0.01, 16, 56).weight, (1 - p + p / 16) / (p / 16), 1e-9);
  EXPECT_EQ(CellOf(0.01, 16, 56).age_seconds, 3);
}

}  // namespace
}  // namespace allomon::recording

namespace allomon::explain {
namespace {

TEST(PageOfTest, OnlyPagesWithLiveBlocks) {
  std::vector<Area> areas(3);
  areas[0].begin = 0x10000;
  areas[0].end = 0x20000;
  areas[0].live_blocks = 3;
  areas[1] = areas[0];
  areas[1].begin = 0x20000;
  areas[1].end = 0x30000;
  areas[1].use = Use::kFreePages;
  areas[2].begin = 0x50000;
  areas[2].end = 0x60000;
  EXPECT_EQ(PageOf(areas, 0xfff8), nullptr);
  EXPECT_EQ(PageOf(areas, 0x10000), &areas[0]);
  EXPECT_EQ(PageOf(areas, 0x1fff8), &areas[0]);
  EXPECT_EQ(PageOf(areas, 0x20000), nullptr);
  EXPECT_EQ(PageOf(areas, 0x40000), nullptr);
  EXPECT_EQ(PageOf(areas, 0x50000), nullptr);
  EXPECT_EQ(PageOf({}, 0x10000), nullptr);
}

}  // namespace
}  // namespace allomon::explain
