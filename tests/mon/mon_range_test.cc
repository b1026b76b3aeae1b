#include "tracker/profile/mon/mon_range.h"

#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tracker/formats/mon_file.h"

namespace allomon::internal {
namespace {

extern "C" char etext[];

// Some code of this program, of a few hundred bytes.
__attribute__((noinline)) int Code(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += i * n ^ (sum << 3);
  return sum;
}

uintptr_t CodeStart() { return reinterpret_cast<uintptr_t>(&Code); }

MonRequest Request(std::vector<WORD>* buffer, uintptr_t bytes, int64_t nfunc) {
  MonRequest request;
  request.low = CodeStart();
  request.high = CodeStart() + bytes;
  request.buffer = buffer->data();
  request.words = static_cast<int64_t>(buffer->size());
  request.nfunc = nfunc;
  request.hz = 100;
  return request;
}

size_t WordsFor(size_t nfunc, size_t cells) { return FixedBytes(nfunc) / 2 + cells; }

bool Init(MonSampledRange* range, const MonRequest& request, std::string* error) {
  if (!range->Plan(request, error)) return false;
  range->Prepare();
  return true;
}

MonRange Read(const MonSampledRange& range) {
  std::vector<MonRange> ranges;
  std::string error;
  EXPECT_TRUE(ParseMon({range.image(), range.image_bytes()}, &ranges, &error)) << error;
  return ranges.at(0);
}

TEST(MonRangeTest, TicksGoToTheirCells) {
  std::vector<WORD> buffer(WordsFor(2, 16), 0xffff);
  MonSampledRange range;
  std::string error;
  ASSERT_TRUE(Init(&range, Request(&buffer, 64, 2), &error)) << error;
  EXPECT_TRUE(range.Add(CodeStart(), 1));
  EXPECT_TRUE(range.Add(CodeStart() + 3, 1));
  EXPECT_TRUE(range.Add(CodeStart() + 4, 5));
  EXPECT_TRUE(range.Add(CodeStart() + 63, 2));
  EXPECT_FALSE(range.Add(CodeStart() + 64, 1));
  EXPECT_FALSE(range.Add(CodeStart() - 1, 1));
  range.SetCount(0, CodeStart(), 77);
  range.FinishHeader(9, false);
  const MonRange read = Read(range);
  EXPECT_EQ(read.cells, (std::vector<uint16_t>{2, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}));
  EXPECT_EQ(read.ticks, 9u);
  EXPECT_EQ(read.other_ticks, 9u);
  ASSERT_EQ(read.counts.size(), 1u);
  EXPECT_EQ(read.counts[0].address, CodeStart());
  EXPECT_EQ(read.counts[0].calls, 77u);
  EXPECT_FALSE(read.saturated);
}

// A modern program computes its bufsize from the lower half of etext's address: anything up to 4
// GB.
TEST(MonRangeTest, OnlyTheBeginningOfALargeBufferIsUsed) {
  std::vector<WORD> buffer(WordsFor(0, 100000), 0xabcd);
  MonSampledRange range;
  std::string error;
  ASSERT_TRUE(Init(&range, Request(&buffer, 62, 0), &error)) << error;
  EXPECT_EQ(range.image_bytes(), FixedBytes(0) + 16 * 2);
  EXPECT_EQ(buffer[WordsFor(0, 16)], 0xabcd);
  EXPECT_TRUE(range.Add(CodeStart() + 61, 1));
  range.FinishHeader(0, false);
  EXPECT_EQ(Read(range).cells.back(), 1);
}

// System V's cells wrapped.
TEST(MonRangeTest, FullCellStaysFullAndSaysSo) {
  std::vector<WORD> buffer(WordsFor(0, 1));
  MonSampledRange range;
  std::string error;
  ASSERT_TRUE(Init(&range, Request(&buffer, 64, 0), &error)) << error;
  range.Add(CodeStart(), 65535);
  range.FinishHeader(0, false);
  EXPECT_FALSE(Read(range).saturated);
  range.Add(CodeStart(), 1);
  range.FinishHeader(0, false);
  EXPECT_TRUE(Read(range).saturated);
  EXPECT_EQ(Read(range).cells[0], 65535);
  EXPECT_EQ(Read(range).ticks, 65536u);
}

TEST(MonRangeTest, ThreadsLoseNoTick) {
  std::vector<WORD> buffer(WordsFor(0, 1));
  MonSampledRange range;
  std::string error;
  ASSERT_TRUE(Init(&range, Request(&buffer, 4, 0), &error)) << error;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10000; ++i) range.Add(CodeStart(), 1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  range.FinishHeader(0, false);
  EXPECT_EQ(Read(range).cells[0], 40000);
}

// The manual page's whole program: from 4, where a modern program has no code, to etext.
TEST(MonRangeTest, RangeIsCutToTheCodeThatThereIs) {
  std::vector<WORD> buffer(WordsFor(0, 1000));
  MonRequest request = Request(&buffer, 64, 0);
  request.low = 4;
  request.high = reinterpret_cast<uintptr_t>(etext);
  MonSampledRange range;
  std::string error;
  ASSERT_TRUE(Init(&range, request, &error)) << error;
  EXPECT_GT(range.low(), 4u);
  EXPECT_EQ(range.high(), request.high);
  EXPECT_TRUE(range.Add(CodeStart(), 1));
}

TEST(MonRangeTest, BadRequestsAreNamedAndTouchNothing) {
  std::vector<WORD> buffer(WordsFor(1, 8), 0xabcd);
  const std::vector<WORD> before = buffer;
  const auto error_of = [&](auto change) {
    MonRequest request = Request(&buffer, 64, 1);
    change(&request);
    MonSampledRange range;
    std::string error;
    EXPECT_FALSE(Init(&range, request, &error));
    return error;
  };
  EXPECT_EQ(error_of([](MonRequest* r) { r->high = r->low; }), "highpc must be above lowpc");
  EXPECT_EQ(error_of([](MonRequest* r) { r->nfunc = -1; }),
            "nfunc is negative: use 0 for no call counts");
  EXPECT_EQ(error_of([](MonRequest* r) { r->buffer = nullptr; }), "the buffer is null");
  EXPECT_EQ(error_of([](MonRequest* r) { r->words = 55; }),
            "the buffer has 55 WORDs, its header and 1 call counts need 56");
  EXPECT_EQ(error_of([](MonRequest* r) { r->words = -1; }),
            "the buffer has -1 WORDs, its header and 1 call counts need 56");
  EXPECT_EQ(error_of([](MonRequest* r) {
              r->low = 16;
              r->high = 64;
            }),
            "there is no code between lowpc and highpc");
  EXPECT_EQ(buffer, before);
}

}  // namespace
}  // namespace allomon::internal
