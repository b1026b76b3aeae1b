// Managed objects: born in the nursery, promoted, dead while young, and the functions of an
// interpreter.
#include <map>
#include <string>

#include "runtime/heap.h"
#include "tests/recording/recorded.h"
#include "tracker/callstack/managed_functions.h"

namespace allomon {
namespace {

using recording::EventKind;
using recording::Node;
using recording::Process;
using testing::EveryBlock;
using testing::Recorded;

struct Cell {
  long value;
  gc::Field<Cell> next;
};

uint64_t SamplesOf(const Process& process, EventKind kind) {
  uint64_t samples = 0;
  for (const Process::Event& event : process.events) {
    if (event.kind == static_cast<uint8_t>(kind)) samples += event.sum.samples;
  }
  return samples;
}

// The sampled blocks of managed objects, which are born in the nursery.
recording::Sum YoungOf(const Process& process, bool live) {
  recording::Sum sum = {};
  for (const Process::Row& row : process.rows) {
    if (row.source != 0 || !row.young) continue;
    sum.samples += live ? row.live.samples : row.allocated.samples;
    sum.bytes += live ? row.live.bytes : row.allocated.bytes;
  }
  return sum;
}

TEST(ManagedTest, NurseryPromotedAndDiedYoung) {
  const Recorded recorded(EveryBlock("managed"));
  const auto heap = gc::Heap::Create();
  ASSERT_TRUE(heap.ok());
  const gc::Mutator mutator(**heap);
  gc::Root<Cell> list;
  for (int i = 0; i < 100; ++i) {
    gc::make<Cell>(i, nullptr);  // dies young
    list = gc::make<Cell>(i, list);
  }
  (*heap)->CollectFromTop(gc::CollectionKind::kMinor);
  Process process = recorded.ReadProcess();
  EXPECT_EQ(YoungOf(process, false).samples, 200u);
  EXPECT_EQ(YoungOf(process, false).bytes, 200u * 24);  // with the header
  EXPECT_EQ(YoungOf(process, true).samples, 100u);
  EXPECT_EQ(SamplesOf(process, EventKind::kDiedYoung), 100u);
  EXPECT_EQ(SamplesOf(process, EventKind::kPromoted), 100u);
  list = nullptr;
  (*heap)->CollectFromTop(gc::CollectionKind::kMajor);
  process = recorded.ReadProcess();
  EXPECT_EQ(YoungOf(process, true).samples, 0u);
  EXPECT_EQ(SamplesOf(process, EventKind::kFreed), 100u);
}

struct Declared {
  static constexpr const char* kTypeName = "a declared one";
  long number;
};

// Returns the number of sampled blocks by the type that their rows tell.
std::map<std::string, uint64_t> TypesOf(const Process& process) {
  std::map<std::string, uint64_t> types;
  for (const Process::Row& row : process.rows) {
    if (row.size_class == 0 || row.source != 0) continue;
    const Node& node = process.nodes[row.node - 1];
    const bool is_type = node.kind == static_cast<uint8_t>(recording::NodeKind::kType);
    EXPECT_NE(node.parent, 0u);
    types[is_type ? std::string(process.NameOf(node)) : ""] += row.allocated.samples;
  }
  return types;
}

TEST(ManagedTest, RowsTellTheTypesOfTheirBlocks) {
  const Recorded recorded(EveryBlock("types"));
  const auto heap = gc::Heap::Create();
  ASSERT_TRUE(heap.ok());
  const gc::Mutator mutator(**heap);
  for (int i = 0; i < 30; ++i) {
    gc::make<Cell>(i, nullptr);
    if (i % 3 == 0) gc::make<Declared>(i);
  }
  const Process process = recorded.ReadProcess();
  EXPECT_EQ(TypesOf(process),
            (std::map<std::string, uint64_t>{{"a declared one", 10}, {"allomon::Cell", 30}}));
  for (const Node& node : process.nodes) {
    if (node.parent == 0) continue;
    EXPECT_NE(process.nodes[node.parent - 1].kind,
              static_cast<uint8_t>(recording::NodeKind::kType));
  }
}

// Each attachment has a sampler of its own, whose words begin at 0.
TEST(ManagedTest, AThreadThatAttachesAgainKeepsItsWords) {
  constexpr uint64_t kCells = 1000, kWordsOfCell = 3;  // with the header
  const Recorded recorded(EveryBlock("attached_again"));
  const auto heap = gc::Heap::Create();
  ASSERT_TRUE(heap.ok());
  for (const uint64_t attachments : {1, 2, 3}) {
    const gc::Mutator mutator(**heap);
    for (uint64_t i = 0; i < kCells; ++i) gc::make<Cell>(0, nullptr);
    const Process process = recorded.ReadProcess();
    ASSERT_EQ(process.threads.size(), 1u);
    const Process::Thread& thread = process.threads[0];
    EXPECT_GE(thread.exact_words, attachments * kCells * kWordsOfCell);
    EXPECT_EQ(static_cast<double>(thread.exact_words), thread.estimated_words);
  }
}

TEST(ManagedTest, FunctionsOfAnInterpreterHaveTheirNames) {
  const Recorded recorded(EveryBlock("named"));
  const auto heap = gc::Heap::Create();
  ASSERT_TRUE(heap.ok());
  const gc::Mutator mutator(**heap);
  const ManagedFunction fold = RegisterManagedFunction("fold", "list.ml", 12);
  {
    const ManagedCall call(fold);
    gc::make<Cell>(1, nullptr);
    gc::make<Cell>(2, nullptr);
  }
  const Process process = recorded.ReadProcess();
  int named = 0;
  for (const Node& node : process.nodes) {
    if (node.kind != static_cast<uint8_t>(recording::NodeKind::kNamed)) continue;
    EXPECT_EQ(process.NameOf(node), "fold\tlist.ml\t12");
    ++named;
  }
  EXPECT_GT(named, 0);
}

}  // namespace
}  // namespace allomon
