// Runs the walker on structures of an imaginary Python: intact ones, and ones as crashes, other
// versions and other threads may leave.  Nothing faults, and each walk ends.
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tracker/cpython/code_names.h"
#include "tracker/cpython/frames.h"
#include "tracker/cpython/layout.h"

namespace allomon::cpython {
namespace {

using internal::InterpretedFrame;
using internal::InterpreterWalk;
using internal::kWalkEnd;
using internal::kWalkFrame;
using internal::kWalkLost;
using internal::PlaceDescription;

constexpr size_t kArenaBytes = 1 << 16;
constexpr int kMostFrames = 300;

uintptr_t g_thread;
uintptr_t Thread(const RunningPython&) { return g_thread; }
void WatchNothing() {}

// The properties of a version that its interpreter declares.
struct Version {
  uint32_t number;
  int32_t code_bytes;
  int32_t str_bytes;
  size_t thread_words;  // offset of the parts of the table of 3.13 and later; 0: no table
  size_t frame_words;
  size_t code_words;
};
constexpr Version kVersions[] = {
    {0x030b02f0, 184, 80, 0, 0, 0},
    {0x030c01f0, 192, 64, 0, 0, 0},
    {0x030d00f0, 200, 64, 19, 28, 34},
    {0x030e00f0, 208, 64, 22, 31, 39},
};

// Types and the table of offsets.
class FakePython {
 public:
  explicit FakePython(const Version& version) : version_(version.number) {
    SetSize(&code_type_, version.code_bytes);
    const int64_t two = 2;
    memcpy(code_type_.data() + kTypeItemSize, &two, sizeof(two));
    SetSize(&str_type_, version.str_bytes);
    SetSize(&bytes_type_, kBytesData + 1);
    if (version.thread_words != 0) FillTable(version);
  }

  void SetWord(size_t index, uint64_t word) {
    memcpy(runtime_.data() + index * sizeof(word), &word, sizeof(word));
  }
  void SetVersion(uint32_t version) { version_ = version; }
  void SetCodeBytes(int64_t bytes) { SetSize(&code_type_, bytes); }

  const char* Find(Layout* layout) const {
    return FindLayout(
        {version_, runtime_.data(), code_type_.data(), str_type_.data(), bytes_type_.data()},
        layout);
  }
  RunningPython Running() const {
    RunningPython python = {};
    EXPECT_EQ(Find(&python.layout), nullptr);
    python.code_type = reinterpret_cast<uintptr_t>(code_type_.data());
    python.str_type = reinterpret_cast<uintptr_t>(str_type_.data());
    python.bytes_type = reinterpret_cast<uintptr_t>(bytes_type_.data());
    python.current_thread = Thread;
    python.watch_code = WatchNothing;
    return python;
  }

 private:
  static void SetSize(std::vector<char>* type, int64_t bytes) {
    memcpy(type->data() + kTypeBasicSize, &bytes, sizeof(bytes));
  }
  void FillTable(const Version& version) {
    memcpy(runtime_.data(), "xdebugpy", 8);
    SetWord(1, version.number);
    const uint64_t thread[] = {300, 0, 8, 16, 72, 152, 160};
    const uint64_t frame[] = {80, 8, 0, 56, 72, 70};
    const uint64_t code[] = {300, 112, 120, 128, 136,
                             68,  0,   0,   0,   static_cast<uint64_t>(version.code_bytes)};
    SetWords(version.thread_words, thread);
    SetWords(version.frame_words, frame);
    SetWords(version.code_words, code);
  }
  template <size_t n>
  void SetWords(size_t index, const uint64_t (&words)[n]) {
    for (size_t i = 0; i < n; ++i) SetWord(index + i, words[i]);
  }

  uint32_t version_;
  std::vector<char> runtime_ = std::vector<char>(1024);
  std::vector<char> code_type_ = std::vector<char>(128);
  std::vector<char> str_type_ = std::vector<char>(128);
  std::vector<char> bytes_type_ = std::vector<char>(128);
};

// A thread with frames, in its own memory.
class Memory {
 public:
  explicit Memory(const RunningPython& python) : python_(python) {
    g_thread = Take(512);
    const Layout& layout = python.layout;
    loop_ = layout.has_loops ? Take(64) : 0;
    if (layout.has_loops) Set(g_thread + layout.current_frame, loop_);
    // The native loop's own frame, which is the outermost.
    if (layout.is_entry == 0) {
      outermost_ = Take(96);
      Set<uint8_t>(outermost_ + layout.owner, 3);
    }
    SetCurrent(outermost_);
  }

  uintptr_t Take(size_t bytes) {
    const uintptr_t start = reinterpret_cast<uintptr_t>(arena_.data()) + used_;
    used_ += (bytes + 15) / 16 * 16;
    return start;
  }
  template <typename T>
  void Set(uintptr_t address, T value) {
    memcpy(reinterpret_cast<void*>(address), &value, sizeof(value));
  }
  void SetCurrent(uintptr_t frame) {
    const Layout& layout = python_.layout;
    Set(layout.has_loops ? loop_ + layout.loop_frame : g_thread + layout.current_frame, frame);
    current_ = frame;
  }

  uintptr_t Str(const std::string& text) {
    const uintptr_t str = Take(python_.layout.ascii_bytes + text.size() + 1);
    Set(str + kObjectType, python_.str_type);
    Set<int64_t>(str + kStrLength, static_cast<int64_t>(text.size()));
    const uint32_t ascii_compact_of_bytes = 1 | 1 << 3 | 1 << 4;
    Set<uint32_t>(str + kStrState, ascii_compact_of_bytes << python_.layout.kind_shift);
    memcpy(reinterpret_cast<void*>(str + python_.layout.ascii_bytes), text.data(), text.size());
    return str;
  }

  uintptr_t Code(const std::string& name, const std::vector<uint8_t>& lines) {
    const Layout& layout = python_.layout;
    const uintptr_t table = Take(kBytesData + lines.size() + 1);
    Set(table + kObjectType, python_.bytes_type);
    Set<int64_t>(table + kObjectSize, static_cast<int64_t>(lines.size()));
    memcpy(reinterpret_cast<void*>(table + kBytesData), lines.data(), lines.size());
    const uintptr_t code = Take(layout.instructions + 32);
    Set(code + kObjectType, python_.code_type);
    Set<int64_t>(code + kObjectSize, 16);
    Set(code + layout.name, Str(name));
    Set(code + layout.file, Str("app.py"));
    Set(code + layout.lines, table);
    Set<int32_t>(code + layout.first_line, 10);
    return code;
  }

  uintptr_t Push(uintptr_t code, int unit) {
    const Layout& layout = python_.layout;
    const uintptr_t frame = Take(96);
    Set(frame + layout.code, code);
    Set(frame + layout.caller, current_);
    Set(frame + layout.instruction, code + layout.instructions + 2 * static_cast<uintptr_t>(unit));
    if (layout.is_entry != 0 && current_ == 0) Set<uint8_t>(frame + layout.is_entry, 1);
    SetCurrent(frame);
    return frame;
  }

  std::vector<char>& arena() { return arena_; }
  size_t used() const { return used_; }
  // Returns the address that marks the native loop.
  uintptr_t loop() const { return python_.layout.is_entry != 0 ? loop_ : outermost_; }

 private:
  const RunningPython& python_;
  std::vector<char> arena_ = std::vector<char>(kArenaBytes);
  size_t used_ = 0;
  uintptr_t loop_ = 0;
  uintptr_t outermost_ = 0;
  uintptr_t current_ = 0;
};

// Each frame as "name file:line", and the result of the walk.
struct Walked {
  std::vector<std::string> frames;
  std::vector<uintptr_t> native;
  int end = kWalkEnd;
};

Walked Walk(RunningPython python) {
  Walked walked;
  InterpreterWalk walk = {sizeof(walk), {}};
  walked.end = BeginWalk(&python, &walk);
  while (walked.end == kWalkFrame && walked.frames.size() < kMostFrames) {
    InterpretedFrame frame = {sizeof(frame), 0, 0, 0, {}};
    walked.end = NextFrame(&python, &walk, &frame);
    if (walked.end != kWalkFrame) break;
    char room[3072];
    PlaceDescription what = {sizeof(what), "", 0, "", 0, 0, 0, room, sizeof(room)};
    const int described = DescribeCode(&python, &frame, &what);
    walked.frames.push_back(described == kWalkFrame
                                ? std::string(what.name, what.name_bytes) + " " +
                                      std::string(what.file, what.file_bytes) + ":" +
                                      std::to_string(what.line)
                                : std::to_string(described));
    walked.native.push_back(frame.native_frame);
  }
  return walked;
}

using Frames = std::vector<std::string>;
const std::vector<uint8_t> kLines = {0x80 | 11 << 3 | 3, 1, 2, 0x80 | 12 << 3 | 7, 1, 2};

class BrokenDataTest : public ::testing::TestWithParam<Version> {
 protected:
  FakePython fake_{GetParam()};
  RunningPython python_ = fake_.Running();
  Memory memory_{python_};
};

TEST_P(BrokenDataTest, WholeData) {
  const uintptr_t code = memory_.Code("f", kLines);
  memory_.Push(memory_.Code("<module>", kLines), 5);
  memory_.Push(code, 2);
  memory_.Push(code, 6);
  const Walked walked = Walk(python_);
  EXPECT_EQ(walked.frames, (Frames{"f app.py:13", "f app.py:11", "<module> app.py:13"}));
  EXPECT_EQ(walked.end, kWalkEnd);
  for (const uintptr_t native : walked.native) EXPECT_EQ(native, memory_.loop());
}

TEST_P(BrokenDataTest, AThreadThatRunsNothing) {
  EXPECT_TRUE(Walk(python_).frames.empty());
  g_thread = 0;
  EXPECT_EQ(Walk(python_).end, kWalkEnd);
}

TEST_P(BrokenDataTest, PointersToNowhere) {
  void* const page = mmap(nullptr, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const uintptr_t no_page = reinterpret_cast<uintptr_t>(page);
  const Layout& layout = python_.layout;
  for (const uintptr_t nowhere :
       {no_page, no_page + 4088, uintptr_t{9}, uintptr_t{8}, UINTPTR_MAX, UINTPTR_MAX - 7,
        uintptr_t{1} << 47, uintptr_t{1} << 63, uintptr_t{0xdddddddddddddddd}}) {
    Memory memory(python_);
    const uintptr_t frame = memory.Push(memory.Code("f", kLines), 2);
    memory.Set(frame + layout.caller, nowhere);
    EXPECT_EQ(Walk(python_).end, kWalkLost) << std::hex << nowhere;
    EXPECT_EQ(Walk(python_).frames, Frames{"f app.py:11"});
    memory.Set(frame + layout.code, nowhere);
    EXPECT_EQ(Walk(python_).end, kWalkLost);
    memory.SetCurrent(nowhere);
    EXPECT_EQ(Walk(python_).end, kWalkLost);
    g_thread = nowhere;
    EXPECT_EQ(Walk(python_).end, kWalkLost);
  }
  munmap(page, 8192);
}

TEST_P(BrokenDataTest, AChainWithoutEnd) {
  const uintptr_t code = memory_.Code("f", kLines);
  memory_.Push(code, 2);
  const uintptr_t frame = memory_.Push(code, 2);
  memory_.Set(frame + python_.layout.caller, frame);
  EXPECT_EQ(Walk(python_).frames.size(), static_cast<size_t>(kMostFrames));
}

// All walks end and read only existing memory, whatever bytes they meet.
TEST_P(BrokenDataTest, FlippedBytes) {
  const uintptr_t code = memory_.Code("f", kLines);
  for (int i = 0; i < 20; ++i) memory_.Push(i % 3 == 0 ? memory_.Code("g", kLines) : code, i % 8);
  const std::vector<char> whole = memory_.arena();
  std::mt19937_64 random(GetParam().number);
  size_t lost = 0;
  for (int round = 0; round < 3000; ++round) {
    memcpy(memory_.arena().data(), whole.data(), whole.size());
    for (uint64_t i = 0; i <= random() % 8; ++i) {
      memory_.arena()[random() % memory_.used()] = static_cast<char>(random());
    }
    lost += Walk(python_).end == kWalkLost;
  }
  EXPECT_GT(lost, 20u);
}

TEST_P(BrokenDataTest, OtherBuildsAreGivenUp) {
  Layout layout;
  fake_.SetCodeBytes(GetParam().code_bytes + 16);
  EXPECT_STREQ(fake_.Find(&layout), "this build has other structures than its version's release");
  for (const uint32_t version : {0x030a0000u, 0x030f0000u, 0x020712f0u, 0x040000f0u}) {
    FakePython other(GetParam());
    other.SetVersion(version);
    EXPECT_STREQ(other.Find(&layout), "only versions 3.11 to 3.14 are known");
  }
}

TEST_P(BrokenDataTest, BuildsWithoutAGlobalLockAreLeftOut) {
  if (GetParam().thread_words == 0) return;
  Layout layout;
  fake_.SetWord(2, 1);
  EXPECT_STREQ(fake_.Find(&layout),
               "interpreters without a global lock (free-threaded builds) are left out");
  fake_.SetWord(2, 0);
  fake_.SetWord(GetParam().frame_words + 3, 5000);
  EXPECT_NE(fake_.Find(&layout), nullptr);
  fake_.SetWord(0, 0);
  EXPECT_NE(fake_.Find(&layout), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Versions, BrokenDataTest, ::testing::ValuesIn(kVersions),
                         [](const auto& info) {
                           return "Python3" + std::to_string(info.param.number >> 16 & 0xff);
                         });

// Python's line tables, intact and damaged.

using Bytes = std::vector<uint8_t>;

uint32_t LineOf(const Bytes& table, int first_line, int unit) {
  return LineOfUnit(table.data(), table.size(), first_line, unit);
}

// A row's first byte.
uint8_t Head(int kind, int units) { return static_cast<uint8_t>(0x80 | kind << 3 | (units - 1)); }

TEST(LineTableTest, RowsOfAllKinds) {
  const Bytes table = {
      Head(3, 2),  0x15,                          // the same line, short columns
      Head(11, 1), 4,    9,                       // one line further
      Head(13, 3), 0x05,                          // two lines back: -2
      Head(14, 1), 0x49, 0x01, 0x02, 0x03, 0x04,  // long: -36
      Head(15, 2),                                // no line
      Head(12, 8), 1,    2,                       // two further
  };
  const uint32_t expected[] = {100, 100, 101, 99, 99, 99, 63, 0, 0, 65};
  for (int unit = 0; unit < 10; ++unit) EXPECT_EQ(LineOf(table, 100, unit), expected[unit]) << unit;
  EXPECT_EQ(LineOf(table, 100, 16), 65u);
  EXPECT_EQ(LineOf(table, 100, 17), 0u);
}

TEST(LineTableTest, AFrameThatIsNewIsAtTheFirstLine) {
  EXPECT_EQ(LineOf({}, 7, -1), 7u);
  EXPECT_EQ(LineOf({}, -3, -1), 0u);
}

TEST(LineTableTest, WhatIsNoRowHasNoLine) {
  EXPECT_EQ(LineOf({0x05, 0x05}, 7, 0), 0u);
  EXPECT_EQ(LineOf({}, 7, 0), 0u);
}

// Each table ends where its memory ends, so that the address sanitizer detects reads past it.
TEST(LineTableTest, DamagedTablesAreReadToTheirEndAtMost) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    const size_t size = random() % 24;
    uint8_t* const table = static_cast<uint8_t*>(malloc(size));
    for (size_t i = 0; i < size; ++i) table[i] = static_cast<uint8_t>(random());
    for (int unit = -1; unit < 40; ++unit) LineOfUnit(table, size, 10, unit);
    free(table);
  }
}

}  // namespace
}  // namespace allomon::cpython
