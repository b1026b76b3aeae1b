// Copies of a recording of this process, at rate 1, where every block is recorded.
#include "tracker/triggers/saver.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "allocator/allocator.h"
#include "tests/recording/recorded.h"
#include "tests/support/sanitizers.h"
#include "tracker/base/memory_limit.h"
#include "tracker/recording/start.h"
#include "tracker/triggers/recording_copy.h"

namespace allomon::triggers {
namespace {

namespace fs = std::filesystem;

std::string& Said() {
  static std::string& said = *new std::string;
  return said;
}

void Say(const char* line, size_t bytes) { Said().append(line, bytes); }

// A saver lives as long as its process.
Saver* NewSaver(const char* text, bool says_copies = false) {
  Settings settings;
  std::string_view wrong;
  EXPECT_TRUE(ParseSettings(text, &settings, &wrong)) << text;
  static std::vector<Saver*>& all = *new std::vector<Saver*>;
  all.push_back(new Saver(settings, Say, says_copies));
  return all.back();
}

double LiveBytesOf(const recording::Process& process, uint64_t size_bytes) {
  double bytes = 0;
  for (const recording::Process::Row& row : process.rows) {
    if (row.size_class == recording::SizeClassOf(size_bytes) + 1) bytes += row.live.bytes;
  }
  return bytes;
}

class SaverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "/saver.XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    Said().clear();
  }
  void TearDown() override {
    if (session_ != 0) recording::StopRecorder(session_);
    for (void* const block : kept_) SamplingFree(block);
    fs::remove_all(directory_);
  }

  void Start(Saver* saver, double rate = 1, uint64_t seed = 0) {
    const std::string path = Path("x.rec");
    recording::StartOptions options;
    options.path = path.c_str();
    options.rate = rate;
    options.seed = seed;
    options.watcher = saver;
    const recording::Started started = recording::StartRecorder(options);
    ASSERT_EQ(started.error, nullptr);
    session_ = started.session;
  }
  void Leak(size_t mib) {
    for (size_t i = 0; i < mib * 64; ++i) kept_.push_back(SamplingMalloc(16384));
  }
  void Stop() {
    EXPECT_TRUE(recording::StopRecorder(session_));
    session_ = 0;
  }
  void ChurnFor(int milliseconds) {
    for (int i = 0; i < milliseconds; ++i) {
      SamplingFree(SamplingMalloc(16));
      usleep(1000);
    }
  }
  std::string Path(const std::string& name) const { return directory_ + "/" + name; }
  std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory_)) {
      names.insert(entry.path().filename());
    }
    return names;
  }
  recording::Process ReadCopy(const std::string& name) const {
    const recording::Recording read = testing::ReadFile(Path(name));
    EXPECT_EQ(read.processes.size(), 1u);
    return read.processes.empty() ? recording::Process{} : read.processes[0];
  }

  std::string directory_;
  internal::SessionId session_ = 0;
  std::vector<void*> kept_;
};

TEST_F(SaverTest, CopyIsWhatTheRecordingWasWhenItWasMade) {
  Start(NewSaver("every=1s,keep=1"));
  Leak(2);
  ChurnFor(1100);
  const recording::Process copy = ReadCopy("x.every.1.rec");
  Leak(8);
  EXPECT_EQ(copy.damaged, 0u);
  EXPECT_EQ(LiveBytesOf(copy, 16384), uint64_t{2} << 20);
  EXPECT_EQ(LiveBytesOf(ReadCopy("x.rec"), 16384), uint64_t{10} << 20);
  EXPECT_EQ(Names(), (std::set<std::string>{"x.rec", "x.every.1.rec"}));
  EXPECT_EQ(Said(), "");
}

TEST_F(SaverTest, PeakThatWasOverBeforeALookIsInItsCopy) {
  Start(NewSaver("peak+10%"));
  // One block, since a copy made between two would keep the peak until then.
  SamplingFree(SamplingMalloc(uint64_t{21} << 20));
  ChurnFor(100);
  const recording::Process copy = ReadCopy("x.peak.1.rec");
  EXPECT_GE(copy.record.peak.bytes, uint64_t{21} << 20);
}

// noise_test.cc tests more of this, without a saver.
TEST_F(SaverTest, NoiseOfTheEstimateIsNoNewPeak) {
  constexpr size_t kBlocks = 10'000;
  const uint64_t seeds = testing::kHasThreadSanitizer ? 1 : 5;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    Start(NewSaver("peak+1%,keep=99"), 1e-4, seed);
    std::vector<void*> blocks(kBlocks);
    for (void*& block : blocks) block = SamplingMalloc(1024);
    ChurnFor(30);
    const size_t before = Names().size();
    for (size_t i = 0; i < 200 * kBlocks; ++i) {
      void*& block = blocks[i % kBlocks];
      SamplingFree(block);
      block = SamplingMalloc(1024);
      if (i % kBlocks == 0) usleep(1000);
    }
    // The growth before the first of these is partly real: the last copy may be from the beginning.
    EXPECT_LE(Names().size(), before + 1) << seed;
    Stop();
    for (void* const block : blocks) SamplingFree(block);
    for (const std::string& name : Names()) unlink(Path(name).c_str());
  }
}

TEST_F(SaverTest, AgeOfOneBlockAmongManyThatDie) {
  Start(NewSaver("age=1s"));
  void* const old = SamplingMalloc(12345);
  for (int i = 0; i < 1300; ++i) {
    void* young[64];
    for (void*& block : young) block = SamplingMalloc(64);
    for (void* const block : young) SamplingFree(block);
    usleep(1000);
  }
  const recording::Process copy = ReadCopy("x.age.1.rec");
  EXPECT_EQ(testing::RowOfSize(copy, 12345).live.samples, 1u);
  EXPECT_GE(copy.record.last_nanos, 1'000'000'000u);
  EXPECT_EQ(Names().count("x.age.2.rec"), 0u);
  SamplingFree(old);
}

TEST_F(SaverTest, NoOldBlockIsNoCopy) {
  Start(NewSaver("age=1s"));
  ChurnFor(1500);
  EXPECT_EQ(Names(), std::set<std::string>{"x.rec"});
}

TEST_F(SaverTest, CopiesAreWholeWhileOtherThreadsAllocate) {
  Start(NewSaver("peak+1%,keep=99"));
  std::atomic<bool> ends{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&ends, t] {
      std::vector<void*> own;
      while (!ends.load()) {
        for (size_t i = 0; i < 500; ++i) own.push_back(SamplingMalloc(100 * (t + 1) + i));
        for (void* const block : own) SamplingFree(block);
        own.clear();
      }
    });
  }
  // A slow copy is followed by a long pause: on a busy machine the test takes more rounds.
  for (int i = 0; i < 200 || (i < 2000 && Names().size() < 8); ++i) {
    if (i < 200 || i % 10 == 0) Leak(1);
    usleep(i < 200 ? 1000 : 10000);
  }
  ends = true;
  for (std::thread& thread : threads) thread.join();
  int copies = 0;
  for (const std::string& name : Names()) {
    if (name == "x.rec") continue;
    const recording::Process copy = ReadCopy(name);
    EXPECT_EQ(copy.damaged, 0u) << name;
    EXPECT_LE(testing::RowOfSize(copy, 16384).live.bytes, uint64_t{400} << 20);
    ++copies;
  }
  EXPECT_GT(copies, 5);
}

// At each step of a copy, another thread allocates blocks of new rows, which take new segments.
class AllocatesAtEachStep {
 public:
  AllocatesAtEachStep() : thread_([] { AllocateWhenAsked(); }) {
    RecordingCopy::SetStepForTesting([] {
      const int asked = asked_.fetch_add(1) + 1;
      while (done_.load() < asked) usleep(100);
    });
  }
  ~AllocatesAtEachStep() {
    RecordingCopy::SetStepForTesting(nullptr);
    asked_ = -1;
    thread_.join();
  }
  static int steps() { return done_; }

 private:
  static constexpr int kSteps = 4;

  static void AllocateWhenAsked() {
    std::vector<void*> blocks;
    while (asked_ >= 0) {
      if (asked_ <= done_) {
        usleep(100);
        continue;
      }
      for (size_t i = 0; i < 5000 && done_ < kSteps; ++i) {
        blocks.push_back(SamplingMalloc(1000 + 8 * (i % 500) + 2000 * done_));
      }
      ++done_;
    }
    for (void* const block : blocks) SamplingFree(block);
  }

  static inline std::atomic<int> asked_{0};
  static inline std::atomic<int> done_{0};
  std::thread thread_;
};

TEST_F(SaverTest, CopyHasTheSegmentsThatWereAddedSinceItsLook) {
  const AllocatesAtEachStep allocates;
  Start(NewSaver("every=1s,keep=9"));
  Leak(2);
  // A slow copy is followed by a long pause.
  for (int i = 0; i < 600 && allocates.steps() < 4; ++i) ChurnFor(100);
  ASSERT_GE(allocates.steps(), 4);
  for (const char* const name : {"x.every.1.rec", "x.every.2.rec"}) {
    const recording::Process copy = ReadCopy(name);
    EXPECT_EQ(copy.damaged, 0u) << name;
    EXPECT_EQ(LiveBytesOf(copy, 16384), uint64_t{2} << 20) << name;
  }
}

TEST_F(SaverTest, RecordingThatEndsDuringACopyIsNoFailure) {
  static std::atomic<bool> is_copying{false};
  Start(NewSaver("every=1s"));
  Leak(1);
  std::thread ends([this] {
    while (!is_copying) usleep(100);
    Stop();
  });
  RecordingCopy::SetStepForTesting([] {
    is_copying = true;
    usleep(300'000);
  });
  for (int i = 0; i < 600 && !is_copying; ++i) ChurnFor(100);
  ends.join();
  RecordingCopy::SetStepForTesting(nullptr);
  ASSERT_TRUE(is_copying);
  EXPECT_EQ(Said(), "");
  EXPECT_EQ(Names(), std::set<std::string>{"x.rec"});
}

TEST_F(SaverTest, ChildHasCopiesOfItsOwn) {
  Start(NewSaver("every=1s"));
  Leak(1);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ChurnFor(1200);
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  const std::string number = std::to_string(child);
  const recording::Process copy = ReadCopy("x.rec." + number + ".every.1.rec");
  EXPECT_EQ(copy.record.pid, static_cast<uint32_t>(child));
  EXPECT_TRUE(copy.record.is_forked);
  ChurnFor(20);
  EXPECT_EQ(ReadCopy("x.every.1.rec").record.pid, static_cast<uint32_t>(getpid()));
}

TEST_F(SaverTest, NextRecordingBeginsAnew) {
  Saver* const saver = NewSaver("peak+10%");
  Start(saver);
  Leak(20);
  ChurnFor(20);
  ASSERT_TRUE(recording::StopRecorder(session_));
  for (const std::string& name : Names()) unlink(Path(name).c_str());
  Start(saver);
  Leak(2);
  ChurnFor(50);
  EXPECT_EQ(Names().count("x.peak.1.rec"), 1u);
}

TEST_F(SaverTest, DirectoryThatIsNotThereIsSaidAtOnceAndOnce) {
  const std::string text = "every=1s,dir=" + directory_ + "/no";
  Start(NewSaver(text.c_str()));
  Leak(1);
  EXPECT_EQ(Said(), "allomon: ALLOMON_SAVE: copies such as " + directory_ +
                        "/no/x.limit.1.rec cannot be saved: its directory is not there; name "
                        "another by dir= (it is tried again)\n");
  Said().clear();
  ChurnFor(2500);
  EXPECT_EQ(Said(), "");
  ASSERT_EQ(mkdir(Path("no").c_str(), 0700), 0);
  ChurnFor(4500);
  EXPECT_EQ(fs::exists(Path("no/x.every.1.rec")), true);
}

TEST_F(SaverTest, ErrnoIsTheHosts) {
  const std::string text = "every=1s,dir=" + directory_ + "/no";
  Start(NewSaver(text.c_str()));
  errno = 77;
  Leak(1);
  EXPECT_EQ(errno, 77);
}

// The kernel shows no memory in /proc/self once the first thread has ended.
TEST(MemoryLimitTest, AddressesAreReadAfterTheFirstThreadHasEnded) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit = {rlim_t{1} << 60, rlim_t{1} << 60};
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(2);
    std::thread([] {
      for (char first = '1'; first != '0'; usleep(1000)) {
        std::ifstream("/proc/self/statm") >> first;
      }
      internal::MemoryLimit memory(internal::MemoryLimit::Bound::kKills);
      const internal::MemoryUsage usage = memory.Read(90, 0);
      _exit(usage.is_addresses && usage.used_bytes > 0 ? 0 : 1);
    }).detach();
    syscall(SYS_exit, 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// The last test: it stops the savers of the whole process.
TEST_F(SaverTest, ZFilterOfSystemCallsEndsIt) {
  Start(NewSaver("every=1s"));
  StopForFilter();
  EXPECT_NE(Said().find("no copies are saved from here on"), std::string::npos);
  StopForFilter();
  ChurnFor(1100);
  EXPECT_EQ(Names(), std::set<std::string>{"x.rec"});
}

}  // namespace
}  // namespace allomon::triggers
