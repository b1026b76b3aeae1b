// Finds the object that holds a byte, next to blocks whose marks are not those of objects
// (inv.mark.fresh).
#include "runtime/internal/space/chunk.h"

#include <memory>

#include "gtest/gtest.h"
#include "runtime/internal/space/chunk_stock.h"

namespace allomon::gc::internal {
namespace {

constexpr size_t kBlockWords = kBlockBytes / kWordBytes;
constexpr uint32_t kMostWords = kMaxYoungBytes / kWordBytes;
constexpr size_t kBefore = 10, kBlock = 11, kBehind = 12;

// The blocks before and after kBlock are fresh, and empty except for what a test writes.
class ChunkTest : public ::testing::Test {
 protected:
  ChunkTest() {
    memset(chunk_->BlockAt(kBefore), 0, 3 * kBlockBytes);
    chunk_->ClearMarks();
    chunk_->FillMarksOf(kBefore, 0xff);
    chunk_->FillMarksOf(kBehind, 0xff);
  }

  Word* WordAt(size_t word) { return reinterpret_cast<Word*>(chunk_->BlockAt(kBlock)) + word; }
  Object* MarkedAt(size_t word) { return chunk_->MarkedAt(reinterpret_cast<char*>(WordAt(word))); }
  // The header is at the word.
  Object* MakeMarked(size_t word, const TypeInfo& type) {
    *WordAt(word) = reinterpret_cast<Word>(&type);
    Object* const object = reinterpret_cast<Object*>(WordAt(word + 1));
    chunk_->SetMarked(object);
    return object;
  }

  const std::unique_ptr<Chunk, void (*)(Chunk*)> chunk_{NewChunkMemory(ChunkPages::kLater),
                                                        FreeChunkMemory};
};

alignas(8) constexpr TypeInfo kSmall = {"Small", 0, nullptr, 0, 1, Kind::kFixed};
alignas(8) constexpr TypeInfo kLargest = {"Largest", 0, nullptr, 0, kMostWords, Kind::kFixed};

TEST_F(ChunkTest, NoObjectIsFoundInAFreshBlockBefore) {
  for (size_t word = 0; word < kBlockWords; ++word) {
    ASSERT_EQ(MarkedAt(word), nullptr) << word;
  }
}

// A slot in the last word may hold any reference; here it is not a header.
TEST_F(ChunkTest, NoObjectIsFoundInAFreshBlockBehind) {
  *WordAt(kBlockWords - 1) = 0;
  EXPECT_EQ(MarkedAt(kBlockWords - 1), nullptr);
  Object* const last = MakeMarked(kBlockWords - 2, kSmall);
  EXPECT_EQ(MarkedAt(kBlockWords - 1), last);
}

TEST_F(ChunkTest, ObjectsAtBothEndsOfABlockAreFoundByAllTheirWords) {
  Object* const first = MakeMarked(0, kLargest);
  Object* const last = MakeMarked(kBlockWords - 1 - kMostWords, kLargest);
  for (size_t word = 0; word <= kMostWords; ++word) {
    ASSERT_EQ(MarkedAt(word), first) << word;
    ASSERT_EQ(MarkedAt(kBlockWords - 1 - word), last) << word;
  }
  EXPECT_EQ(MarkedAt(kMostWords + 1), nullptr);
  EXPECT_EQ(MarkedAt(kBlockWords - 2 - kMostWords), nullptr);
}

}  // namespace
}  // namespace allomon::gc::internal
