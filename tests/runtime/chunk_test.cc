// Finds the object that holds a byte, and gaps between objects, next to blocks with marks that are
// not those of objects (inv.mark.fresh).
#include "runtime/internal/space/chunk.h"

#include <memory>
#include <utility>

#include "gtest/gtest.h"
#include "runtime/internal/space/chunk_stock.h"

namespace allomon::gc::internal {
namespace {

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
  // Returns the words at which the next gap begins and ends, or {kBlockWords, 0}.
  std::pair<size_t, size_t> FindGap(size_t word, size_t words) {
    char* const at = reinterpret_cast<char*>(WordAt(word));
    const Chunk::Gap gap = chunk_->FindGap(at, words * kWordBytes);
    if (gap.begin == nullptr) return {kBlockWords, 0};
    return {WordOf(gap.begin), WordOf(gap.end)};
  }
  size_t WordOf(const char* at) {
    return static_cast<size_t>(at - chunk_->BlockAt(kBlock)) / kWordBytes;
  }
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

using Words = std::pair<size_t, size_t>;

TEST_F(ChunkTest, GapsLieBetweenMarkedObjects) {
  EXPECT_EQ(FindGap(0, 1), Words(0, kBlockWords));
  MakeMarked(10, kSmall);
  MakeMarked(12, kSmall);
  MakeMarked(63, kSmall);  // its mark is in the next word of marks
  MakeMarked(kBlockWords - 2 - kMostWords, kLargest);
  EXPECT_EQ(FindGap(0, 10), Words(0, 10));
  EXPECT_EQ(FindGap(0, 11), Words(14, 63));
  EXPECT_EQ(FindGap(10, 1), Words(14, 63));
  EXPECT_EQ(FindGap(14, 50), Words(65, kBlockWords - 2 - kMostWords));
  EXPECT_EQ(FindGap(kBlockWords - 2 - kMostWords, 1), Words(kBlockWords - 1, kBlockWords));
  EXPECT_EQ(FindGap(kBlockWords - 2 - kMostWords, 2), Words(kBlockWords, 0));
  EXPECT_EQ(FindGap(kBlockWords - 1, 1), Words(kBlockWords - 1, kBlockWords));
}

TEST_F(ChunkTest, NoGapIsFoundInAFullBlock) {
  for (size_t word = 0; word < kBlockWords; word += 2) MakeMarked(word, kSmall);
  EXPECT_EQ(FindGap(0, 1), Words(kBlockWords, 0));
}

TEST_F(ChunkTest, WhatIsPlacedInAGapIsFound) {
  MakeMarked(20, kSmall);
  for (const size_t word : {4, 6}) *WordAt(word) = reinterpret_cast<Word>(&kSmall);
  chunk_->MarkPlaced(reinterpret_cast<char*>(WordAt(4)), reinterpret_cast<char*>(WordAt(8)));
  for (const size_t word : {4, 6}) {
    EXPECT_EQ(MarkedAt(word), reinterpret_cast<Object*>(WordAt(word + 1)));
    EXPECT_EQ(MarkedAt(word + 1), reinterpret_cast<Object*>(WordAt(word + 1)));
  }
  EXPECT_EQ(MarkedAt(8), nullptr);
  EXPECT_EQ(FindGap(4, 1), Words(8, 20));
}

}  // namespace
}  // namespace allomon::gc::internal
