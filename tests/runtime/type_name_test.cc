// Trackers receive the types of managed blocks, and sum up live blocks by type and call stack.
#include <map>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "runtime/custom.h"
#include "runtime/heap.h"
#include "runtime/marshal.h"
#include "runtime/weak.h"
#include "tracker/core/type_names.h"
#include "tracker/tracker.h"

namespace allomon::gc {
namespace {

struct Cell {
  long head;
  Field<Cell> tail;
};

struct Named {
  static constexpr const char* kTypeName = "a named one";
  long number;
};

// The names of types that were reported, and how often.
std::map<std::string, int> g_told;

struct Listener {
  std::optional<char> alloc_minor(const Allocation& allocation) { return Note(allocation); }
  std::optional<char> alloc_major(const Allocation& allocation) { return Note(allocation); }
  std::optional<char> promote(char value) { return value; }

 private:
  static char Note(const Allocation& allocation) {
    ++g_told[allocation.type_name == nullptr ? "none" : allocation.type_name];
    return 0;
  }
};

class TypeNameTest : public ::testing::Test {
 protected:
  TypeNameTest() { g_told.clear(); }
  ~TypeNameTest() override { Tracker::stop().IgnoreError(); }

  static TrackerId Start() {
    StartOptions options;
    options.seed = 1;
    return Tracker::start(1, Listener{}, options).value();
  }

  std::unique_ptr<Heap> heap_ = Heap::Create().value();
  Mutator mutator_{*heap_};
};

TEST_F(TypeNameTest, EveryKindOfBlockHasItsType) {
  MarshalTypes types;
  types.Add<Cell>("cell").Add<Bytes>("bytes");
  const auto cell_bytes = *marshal<Cell>(make<Cell>(1, nullptr), types);
  const auto large_bytes = *marshal<Bytes>(make_bytes(20000), types);
  Start();
  const Root<Cell> cell = make<Cell>(1, nullptr);
  Local<Named> made;
  made.emplace(5);
  const Root<Named> named = made;
  make_array<Cell>(3);
  make_array<Cell>(3000);
  make_bytes(5);
  make_bytes(50000);
  make_weak<Cell>(cell);
  make_custom(nullptr, 100, [](void*) {});
  EXPECT_TRUE(unmarshal<Cell>(cell_bytes, types).ok());
  EXPECT_TRUE(unmarshal<Bytes>(large_bytes, types).ok());
  const std::map<std::string, int> expected = {
      {"Cell", 2},  {"a named one", 1}, {"Array<Cell>", 2}, {"Ephemeron<Cell, void>", 1},
      {"Bytes", 3}, {"CustomBlock", 2},  // the block, and its bytes
  };
  EXPECT_EQ(g_told, expected);
}

__attribute__((noinline)) Local<Cell> MakeHere(Handle<Cell> tail) { return make<Cell>(1, tail); }
__attribute__((noinline)) Local<Cell> MakeThere(Handle<Cell> tail) { return make<Cell>(2, tail); }

TEST_F(TypeNameTest, LiveBlocksAreSummedByTypeAndStack) {
  const TrackerId id = Start();
  Root<Cell> list;
  volatile int here = 10, there = 5;  // clang would otherwise make a call site of each round
  for (int i = 0; i < here; ++i) list = MakeHere(list);
  for (int i = 0; i < there; ++i) list = MakeThere(list);
  const Root<Bytes> bytes = make_bytes(1000);
  for (int i = 0; i < 7; ++i) make<Named>(1);  // garbage
  heap_->CollectFromTop(CollectionKind::kMajor);
  const std::vector<LiveTypeStack> live = Tracker::snapshot_by_types(id);
  ASSERT_EQ(live.size(), 3u);
  EXPECT_STREQ(live[0].type_name, "Bytes");
  EXPECT_EQ(live[0].estimate.bytes.value, 1000 + 8);  // with the length
  EXPECT_STREQ(live[1].type_name, "Cell");
  EXPECT_EQ(live[1].sampled_blocks, 10u);
  EXPECT_STREQ(live[2].type_name, "Cell");
  EXPECT_EQ(live[2].sampled_blocks, 5u);
  EXPECT_NE(live[1].callstack.id(), live[2].callstack.id());
  EXPECT_TRUE(Tracker::snapshot_by_types({id.value + 1}).empty());
}

// If there are more types than an entry can distinguish, the others have no name, and nothing else
// fails.
TEST(TypeNames, AFullTableHasNoMoreNames) {
  using ::allomon::internal::TypeNames;
  static TypeNames names;
  static char text[TypeNames::kCapacity + 10];
  std::map<int, const char*> ids;
  for (const char& c : text) {
    const auto id = names.IdOf(&c);
    if (&c - text < static_cast<long>(TypeNames::kCapacity)) {
      EXPECT_TRUE(ids.emplace(id, &c).second);
      EXPECT_EQ(names.At(id), &c);
    } else {
      EXPECT_EQ(id, 0);
    }
  }
  EXPECT_EQ(names.At(names.IdOf(&text[77])), &text[77]);
  EXPECT_EQ(names.IdOf(nullptr), 0);
  EXPECT_EQ(names.At(0), nullptr);
}

}  // namespace
}  // namespace allomon::gc
