// Libraries that are loaded and unloaded, and the loader's lock.
#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tracker/symbols/symbols.h"
#include "tracker/tracker.h"

namespace allomon {
namespace {

constexpr char kFirst[] = "tests/stress/libfirst_plugin.so";
constexpr char kSecond[] = "tests/stress/libsecond_plugin.so";
constexpr char kTls[] = "tests/stress/libtls_plugin.so";

// The number of blocks seen of each size that plugin.cc asks for.
struct Seen {
  std::atomic<int> constructors{0};
  std::atomic<int> destructors{0};
  std::atomic<int> thread_constructors{0};
  std::atomic<int> thread_destructors{0};
};
Seen g_seen;

struct Following {
  std::optional<char> alloc_major(const Allocation& allocation) {
    if (allocation.size_bytes == 1001) ++g_seen.constructors;
    if (allocation.size_bytes == 2002) ++g_seen.destructors;
    if (allocation.size_bytes == 3001) ++g_seen.thread_constructors;
    if (allocation.size_bytes == 6002) ++g_seen.thread_destructors;
    return 0;
  }
  void dealloc_major(char) {}
};

class Plugin {
 public:
  explicit Plugin(const std::string& path) : handle_(dlopen(path.c_str(), RTLD_NOW)) {
    EXPECT_NE(handle_, nullptr) << dlerror();
  }
  ~Plugin() { EXPECT_EQ(dlclose(handle_), 0); }

  void* Allocate(size_t size) { return Find<void*(size_t)>("AllocateInPlugin")(size); }
  uintptr_t address() { return reinterpret_cast<uintptr_t>(dlsym(handle_, "AllocateInPlugin")); }

  template <typename Function>
  Function* Find(const char* name) {
    return reinterpret_cast<Function*>(dlsym(handle_, name));
  }

 private:
  void* const handle_;
};

class LoaderTest : public ::testing::Test {
 protected:
  // The alarm also ends a test that hangs.
  void SetUp() override {
    alarm(60);
    const auto id = Tracker::start(1, Following{});
    ASSERT_TRUE(id.ok());
    id_ = *id;
  }
  void TearDown() override {
    ASSERT_TRUE(Tracker::stop().ok());
    alarm(0);
  }

  // Live blocks by the function that called malloc.
  std::map<std::string, uint64_t> BlocksByFunction() const {
    std::map<std::string, uint64_t> blocks;
    const auto symbols = ProcessSymbols::Load();
    for (const LiveStack& live : Tracker::snapshot(id_)) {
      blocks[symbols->Resolve(live.callstack[0] - 1).name] += live.sampled_blocks;
    }
    return blocks;
  }

  TrackerId id_;
};

TEST_F(LoaderTest, CodeUnloadedAfterItWasSampledKeepsItsNames) {
  void* block = Plugin(kFirst).Allocate(100);
  EXPECT_EQ(BlocksByFunction()["FunctionOfFirst"], 1u);
  free(block);
}

// A library lies at the addresses of another one that was unloaded.  Each block is charged to the
// library that allocated it.
TEST_F(LoaderTest, CodeAtTheSameAddressIsNotTakenForWhatWasThereBefore) {
  std::vector<void*> blocks;
  uintptr_t addresses[2] = {};
  {
    Plugin first(kFirst);
    addresses[0] = first.address();
    for (int i = 0; i < 3; ++i) blocks.push_back(first.Allocate(100));
  }
  {
    Plugin second(kSecond);
    addresses[1] = second.address();
    for (int i = 0; i < 5; ++i) blocks.push_back(second.Allocate(100));
    std::map<std::string, uint64_t> by_function = BlocksByFunction();
    EXPECT_EQ(by_function["FunctionOfFirst"], 3u);
    EXPECT_EQ(by_function["FunctionOfSecond"], 5u);
  }
  EXPECT_EQ(addresses[0], addresses[1]) << "or nothing was tested";
  EXPECT_EQ(BlocksByFunction()["FunctionOfSecond"], 5u);
  for (void* block : blocks) free(block);
}

TEST_F(LoaderTest, LibraryThatComesAndGoesIsNamedEachTime) {
  std::vector<void*> blocks;
  for (int i = 0; i < 50; ++i) {
    blocks.push_back(Plugin(kFirst).Allocate(100));
    blocks.push_back(Plugin(kSecond).Allocate(100));
  }
  std::map<std::string, uint64_t> by_function = BlocksByFunction();
  EXPECT_EQ(by_function["FunctionOfFirst"], 50u);
  EXPECT_EQ(by_function["FunctionOfSecond"], 50u);
  for (void* block : blocks) free(block);
}

// The file now at the path has other names than the code that ran.
TEST_F(LoaderTest, FileThatIsAnotherByNowGivesNoNames) {
  const std::string path = ::testing::TempDir() + "/plugin.so";
  const auto copy = [&path](const char* from) {
    unlink(path.c_str());
    std::ofstream(path, std::ios::binary) << std::ifstream(from, std::ios::binary).rdbuf();
  };
  copy(kFirst);
  void* block = Plugin(path).Allocate(100);
  copy(kSecond);
  std::map<std::string, uint64_t> by_function = BlocksByFunction();
  EXPECT_EQ(by_function["FunctionOfFirst"], 0u);
  EXPECT_EQ(by_function["FunctionOfSecond"], 0u);
  const auto unnamed = by_function.lower_bound("plugin.so+0x");
  ASSERT_NE(unnamed, by_function.end());
  EXPECT_EQ(unnamed->first.rfind("plugin.so+0x", 0), 0u) << unnamed->first;
  EXPECT_NE(unnamed->first, "plugin.so+0x0") << "all functions of the library have this name";
  EXPECT_EQ(unnamed->second, 1u);
  copy(kFirst);
  EXPECT_EQ(BlocksByFunction()["FunctionOfFirst"], 1u);
  free(block);
}

// dlopen was given a relative name, which is valid in one directory only.
TEST_F(LoaderTest, NamesAreFoundFromAnotherDirectory) {
  void* block = Plugin(kFirst).Allocate(100);
  const std::string directory = std::filesystem::current_path();
  ASSERT_EQ(chdir("/"), 0);
  EXPECT_EQ(BlocksByFunction()["FunctionOfFirst"], 1u);
  ASSERT_EQ(chdir(directory.c_str()), 0);
  free(block);
}

TEST_F(LoaderTest, ConstructorsAndDestructorsOfLibrariesAllocate) {
  g_seen.constructors = g_seen.destructors = 0;
  { Plugin plugin(kFirst); }
  EXPECT_EQ(g_seen.constructors, 1);
  EXPECT_EQ(g_seen.destructors, 1);
}

// The library is closed while a thread still has to run its code.
TEST_F(LoaderTest, ThreadLocalDestructorsOfAClosedLibraryAllocate) {
  g_seen.thread_constructors = g_seen.thread_destructors = 0;
  for (int i = 0; i < 20; ++i) {
    std::thread([] {
      Plugin plugin(kTls);
      plugin.Find<void()>("TouchThreadLocal")();
    }).join();
  }
  EXPECT_EQ(g_seen.thread_constructors, 20);
  EXPECT_EQ(g_seen.thread_destructors, 20);
  EXPECT_EQ(BlocksByFunction().count("[unknown]"), 0u);
}

std::atomic<bool> g_holding{false};
std::atomic<bool> g_let_go{false};

// The loader's lock is held as long as the callback runs.
int HoldLoaderLock(dl_phdr_info*, size_t, void*) {
  g_holding = true;
  while (!g_let_go) sched_yield();
  return 1;
}

__attribute__((noinline)) void* AllocateAtDepth(int depth) {
  void* volatile block = depth == 0 ? malloc(100) : AllocateAtDepth(depth - 1);
  return block;
}

// An unwinder that asks the loader for the unwind tables would wait for the lock for ever.
TEST_F(LoaderTest, SamplesAreTakenWhileAnotherThreadHoldsTheLoadersLock) {
  std::thread holder([] { dl_iterate_phdr(HoldLoaderLock, nullptr); });
  while (!g_holding) sched_yield();
  const uint64_t before = Tracker::statistics(id_)->reported_blocks;
  for (int depth = 0; depth < 40; ++depth) free(AllocateAtDepth(depth));
  std::thread([] { free(AllocateAtDepth(50)); }).join();
  EXPECT_GE(Tracker::statistics(id_)->reported_blocks, before + 41);
  g_let_go = true;
  holder.join();
}

TEST_F(LoaderTest, ThreadsAllocateWhileLibrariesComeAndGo) {
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&done] {
      for (int n = 0; !done; ++n) free(AllocateAtDepth(n % 30));
    });
  }
  for (int i = 0; i < 200; ++i) {
    Plugin first(kFirst);
    free(first.Allocate(100));
    Plugin second(i % 2 == 0 ? kSecond : kTls);
    free(second.Allocate(100));
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace allomon
