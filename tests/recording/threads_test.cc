// Sums of a thread that are as large as after a year.
#include "tracker/recording/threads.h"

#include <sys/mman.h>

#include "tests/recording/recorded.h"
#include "tracker/recording/recorder_lock.h"

namespace allomon::recording {
namespace {

constexpr uint64_t kFileBytes = uint64_t{1} << 20;
// The fractions of 2^31 samples at once.
constexpr Wide kMany = {1, uint64_t{1} << 63};

// A fraction's word is full after 2^32 samples of nearly 1: a day of a busy server.
TEST(ThreadTableTest, FractionsAreCarried) {
  const testing::MemoryFile memory(kFileBytes);
  FilePath path = {};
  strncpy(path.text, memory.path().c_str(), sizeof(path.text) - 1);
  SegmentFile file;
  ASSERT_EQ(file.Open(path, kFileBytes), nullptr);
  SegmentSource source;
  source.Begin(&file, 1);
  uint32_t count = 0;
  Missing missing;
  ProcessRecord process = {};
  missing.Begin(Written<ProcessRecord>(reinterpret_cast<char*>(&process)));
  ThreadTable threads;
  threads.Begin(&source, WrittenField<uint32_t>(&count), {});
  uint32_t number = 0;
  {
    const RecorderHold hold;
    number = threads.Enter(1, &missing);
  }
  ASSERT_EQ(number, 1u);
  for (int i = 0; i < 5; ++i) {
    threads.AddSample(number, {kMany, kMany, 1, 1, 1, 1});
    threads.RemoveBlock(number, kMany, kMany);
  }
  Thread record;
  ASSERT_EQ(pread(memory.fd(), &record, sizeof(record), kSegmentBytes + sizeof(SegmentHeader)),
            static_cast<ssize_t>(sizeof(record)));
  constexpr uint64_t kExpected = 5 + 5 * (uint64_t{1} << 31);
  for (const Wide& sum : {record.blocks, record.bytes, record.freed_blocks, record.freed_bytes}) {
    EXPECT_EQ(sum.whole, kExpected);
    EXPECT_EQ(sum.fraction, 0u);
  }
  threads.Clear();
  file.Close();
}

}  // namespace
}  // namespace allomon::recording
