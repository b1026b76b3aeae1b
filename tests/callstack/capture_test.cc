#include "tracker/callstack/capture.h"

#include <gtest/gtest.h>

#include <mutex>
#include <random>
#include <thread>

#include "tests/callstack/capturing.h"
#include "tests/callstack/frames.h"
#include "tracker/callstack/stack_window.h"

namespace allomon {
namespace {

using testing::Both;
using testing::CaptureBoth;
using testing::Captured;
using testing::CaptureHere;
using testing::ExpectSameStacks;

TEST(Capture, PlainFunctionWithoutFramePointer) {
  Both both;
  testing::CallPlainly(CaptureBoth, &both);
  ExpectSameStacks(both, 5);
  EXPECT_TRUE(testing::IsIn(both.ours.frames[1], testing::AddressOfPlain()));
}

TEST(Capture, LargeFrame) {
  Both both;
  testing::CallWithLargeFrame(CaptureBoth, &both);
  ExpectSameStacks(both, 5);
}

TEST(Capture, Alloca) {
  Both both;
  testing::CallWithAlloca(5000, CaptureBoth, &both);
  ExpectSameStacks(both, 5);
}

TEST(Capture, RealignedStack) {
  Both both;
  testing::CallRealigned(CaptureBoth, &both);
  ExpectSameStacks(both, 5);
}

TEST(Capture, ThroughLibcsQsort) {
  Both both;
  testing::CallFromComparison(CaptureBoth, &both);
  ExpectSameStacks(both, 7);
}

TEST(Capture, ThroughAllKindsTwiceHotAndCold) {
  for (int i = 0; i < 2; ++i) {
    Both both;
    testing::CallThroughAll(CaptureBoth, &both);
    ExpectSameStacks(both, 12);
  }
}

TEST(Capture, ThroughCallOnce) {
  Both both;
  std::once_flag once;
  std::call_once(once, [&] { testing::CallPlainly(CaptureBoth, &both); });
  ExpectSameStacks(both, 7);
}

TEST(Capture, FromThreadStart) {
  Both both;
  std::thread([&] { testing::CallThroughAll(CaptureBoth, &both); }).join();
  ExpectSameStacks(both, 12);
}

struct Limited {
  size_t max_frames;
  Captured captured;
};

void CaptureLimited(void* argument) {
  auto& limited = *static_cast<Limited*>(argument);
  limited.captured = CaptureHere(limited.max_frames);
}

TEST(Capture, DeepRecursionIsTruncated) {
  Limited limited = {1000, {}};
  testing::CallAtDepth(10000, CaptureLimited, &limited);
  EXPECT_EQ(limited.captured.frames.size(), 1000u);
  EXPECT_TRUE(limited.captured.truncated);
}

TEST(Capture, DeepRecursionIsCompleteWithRoom) {
  Both both;
  testing::CallAtDepth(10000, CaptureBoth, &both);
  ExpectSameStacks(both, 10000);
}

TEST(Capture, ExactRoomIsNotTruncated) {
  Limited limited = {20000, {}};
  testing::CallAtDepth(3, CaptureLimited, &limited);
  limited.max_frames = limited.captured.frames.size();
  testing::CallAtDepth(3, CaptureLimited, &limited);
  EXPECT_EQ(limited.captured.frames.size(), limited.max_frames);
  EXPECT_FALSE(limited.captured.truncated);
  --limited.max_frames;
  testing::CallAtDepth(3, CaptureLimited, &limited);
  EXPECT_EQ(limited.captured.frames.size(), limited.max_frames);
  EXPECT_TRUE(limited.captured.truncated);
}

TEST(Capture, RoomForNoFrames) {
  Limited limited = {0, {}};
  testing::CallAtDepth(1, CaptureLimited, &limited);
  EXPECT_TRUE(limited.captured.frames.empty());
  EXPECT_TRUE(limited.captured.truncated);
}

TEST(Capture, AfterForgettingCode) {
  ForgetUnloadedCode();
  Both both;
  testing::CallThroughAll(CaptureBoth, &both);
  ExpectSameStacks(both, 12);
}

__attribute__((noinline)) FrameState Here() { return ALLOMON_CALLER_FRAME(); }

// Registers as random as possible without being hopeless at once: near the true ones, at page ends,
// anywhere in memory, unaligned.
class BogusFrames {
 public:
  explicit BogusFrames(FrameState truth) : truth_(truth) {}

  FrameState Next() { return {Any(truth_.pc), Any(truth_.sp), Any(truth_.bp)}; }

 private:
  uintptr_t Any(uintptr_t truth) {
    switch (random_() % 8) {
      case 0:
        return random_();
      case 1:
        return random_() >> 17;
      case 2:
        return truth + random_() % 65536;
      case 3:
        return truth - random_() % 65536;
      case 4:
        return ((truth + random_() % (1 << 20)) | 4095) - random_() % 16;
      case 5:
        return random_() % 4096;
      case 6:
        return truth + (random_() % 512) * 8;
      default:
        return truth;
    }
  }

  std::mt19937_64 random_{20240607};
  const FrameState truth_;
};

// checks inv.walk.safe for an invented state.
TEST(Capture, BogusRegistersNeverFault) {
  BogusFrames bogus(Here());
  for (int i = 0; i < 200000; ++i) {
    uintptr_t frames[64];
    bool truncated;
    const FrameState start = bogus.Next();
    const size_t count = CaptureCallstack(start, frames, 64, &truncated);
    ASSERT_LE(count, 64u);
    if (start.pc != 0) {
      ASSERT_EQ(frames[0], start.pc);
    }
  }
}

// checks inv.walk.safe: applies the rules of every pc in a megabyte of text, most of which are no
// valid positions, to a state that does not belong to them.
TEST(Capture, EveryPcOfThisProgramNeverFaults) {
  const FrameState here = Here();
  for (uintptr_t pc = here.pc - 300000; pc < here.pc + 700000; pc += 3) {
    uintptr_t frames[64];
    bool truncated;
    CaptureCallstack({pc, here.sp, here.bp}, frames, 64, &truncated);
  }
}

TEST(Capture, LeavesErrnoAlone) {
  errno = 1234;
  uintptr_t frames[64];
  bool truncated;
  CaptureCallstack({1, 8, 8}, frames, 64, &truncated);
  CaptureCallstack(Here(), frames, 64, &truncated);
  EXPECT_EQ(errno, 1234);
}

}  // namespace
}  // namespace allomon
