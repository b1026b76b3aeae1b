// Python's frames in a program that embeds libpython, also with sanitizers.  Every block of Python
// is one of ours, which the address sanitizer checks, and threads of Python and of the program read
// the same stacks.
#include <atomic>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "allocator/allocator.h"
#include "gtest/gtest.h"
#include "tracker/callstack/managed_functions.h"
#include "tracker/cpython/attach.h"
#include "tracker/tracker.h"

// Part of Python's stable interface; its headers are not needed.
extern "C" {
struct AllomonTestAllocator {
  void* context;
  void* (*malloc)(void* context, size_t size_bytes);
  void* (*calloc)(void* context, size_t count, size_t size_bytes);
  void* (*realloc)(void* context, void* block, size_t size_bytes);
  void (*free)(void* context, void* block);
};
void PyMem_SetAllocator(int domain, AllomonTestAllocator* allocator);
void Py_InitializeEx(int handles_signals);
int PyRun_SimpleString(const char* text);
void* PyEval_SaveThread();
void PyEval_RestoreThread(void* thread);

// Python keeps some blocks for ever that nothing refers to.
const char* __lsan_default_suppressions() { return "leak:libpython\n"; }  // NOLINT
}

namespace allomon {
namespace {

// "name file:line" of the frames that are Python's, innermost first.
using PythonStack = std::vector<std::string>;

// Blocks of sizes that only the script uses.
constexpr size_t kLeastBytes = 100'000;

PythonStack PythonFramesOf(const Callstack& stack) {
  PythonStack frames;
  for (const uintptr_t frame : stack) {
    ManagedFunctionName name;
    if (!FindManagedFunction(frame, &name)) continue;
    frames.push_back(std::string(name.name) + " " + std::string(name.file) + ":" +
                     std::to_string(name.line));
  }
  return frames;
}

struct Seen {
  std::mutex mutex;
  std::map<size_t, PythonStack> stacks;  // indexed by the size of the block
  std::atomic<size_t> frames{0};
};

class Watching {
 public:
  explicit Watching(Seen* seen) : seen_(seen) {}

  std::optional<size_t> alloc_major(const Allocation& allocation) {
    PythonStack stack = PythonFramesOf(allocation.callstack);
    seen_->frames += stack.size();
    if (allocation.size_bytes >= kLeastBytes) {
      const std::lock_guard<std::mutex> lock(seen_->mutex);
      seen_->stacks[allocation.size_bytes] = std::move(stack);
    }
    return allocation.size_bytes;
  }

 private:
  Seen* const seen_;
};

void TakeBlocksFromUs() {
  AllomonTestAllocator ours = {
      nullptr,
      [](void*, size_t size_bytes) { return SamplingMalloc(size_bytes == 0 ? 1 : size_bytes); },
      [](void*, size_t count, size_t size_bytes) {
        return count == 0 || size_bytes == 0 ? SamplingCalloc(1, 1)
                                             : SamplingCalloc(count, size_bytes);
      },
      [](void*, void* block, size_t size_bytes) {
        return SamplingRealloc(block, size_bytes == 0 ? 1 : size_bytes);
      },
      [](void*, void* block) { SamplingFree(block); },
  };
  for (int domain = 0; domain < 3; ++domain) PyMem_SetAllocator(domain, &ours);
}

// There is one interpreter for the process, and the first test begins it.
void StartPython() {
  static const bool is_started = [] {
    EXPECT_EQ(cpython::AttachPython(), nullptr);
    TakeBlocksFromUs();
    Py_InitializeEx(0);
    return true;
  }();
  ASSERT_TRUE(is_started);
}

class EmbeddedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    StartPython();
    StartOptions options;
    options.callstack_size = 512;
    const auto id = Tracker::start(1.0, Watching(&seen_), options);
    ASSERT_TRUE(id.ok()) << id.status();
    id_ = *id;
  }
  void TearDown() override { EXPECT_TRUE(Tracker::stop(id_).ok()); }

  Seen seen_;
  TrackerId id_;
};

// Reads the script's output: a line for each block, "bytes\tframe\tframe...".
std::map<size_t, PythonStack> ReadExpected(const std::string& path) {
  std::map<size_t, PythonStack> expected;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string field;
    std::getline(fields, field, '\t');
    PythonStack& stack = expected[std::stoul(field)];
    while (std::getline(fields, field, '\t')) stack.push_back(field);
  }
  return expected;
}

// Python's lock lets one thread run at a time: the thread sanitizer has little to see here.
#if defined(__SANITIZE_THREAD__)
constexpr int kCalls = 30;
#else
constexpr int kCalls = 150;
#endif

TEST_F(EmbeddedTest, StacksAreThoseThatPythonSees) {
  const std::string path = ::testing::TempDir() + "/expected.txt";
  const std::string script = std::string(R"(
import os, runpy, sys
os._exit = lambda status: None
sys.argv = ['allocating_app.py', ')") +
                             path + R"(.json', '7', ')" + std::to_string(kCalls) +
                             R"(']
app = runpy.run_path('tests/cpython/allocating_app.py')
with open(')" + path + R"(', 'w') as file:
    for size, stack in app['expected'].items():
        print(size + 1, *(f'{name} {source}:{line}' for name, source, line in stack), sep='\t',
              file=file)
)";
  ASSERT_EQ(PyRun_SimpleString(script.c_str()), 0);
  size_t compared = 0;
  for (const auto& [bytes, stack] : ReadExpected(path)) {
    const auto found = seen_.stacks.find(bytes);
    if (found == seen_.stacks.end()) continue;
    EXPECT_EQ(found->second, stack) << bytes;
    ++compared;
  }
  EXPECT_GE(compared, kCalls * 9u / 10);
}

// Code objects are made and freed on several threads, whose lock changes hands constantly, while a
// thread of the program reads live stacks, and another allocates without Python.
TEST_F(EmbeddedTest, ThreadsOfPythonAndOfTheProgramLookAtOnce) {
  std::atomic<bool> ends{false};
  std::thread reader([&] {
    while (!ends.load()) {
      for (const LiveStack& stack : Tracker::snapshot(id_)) PythonFramesOf(stack.callstack);
    }
  });
  std::thread stranger([&] {
    while (!ends.load()) SamplingFree(SamplingMalloc(64));
  });
  const char* const script = R"(
import sys, threading
sys.setswitchinterval(1e-6)
def churn(number):
    for i in range(60):
        names = {}
        exec(compile('\n' * (i % 7) + 'def made(n):\n  return [n] * 40 if n == 0 else made(n - 1)',
                     'made_%d.py' % (i % 5), 'exec'), names)
        names['made'](5)
threads = [threading.Thread(target=churn, args=(n,)) for n in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
sys.setswitchinterval(5e-3)
)";
  EXPECT_EQ(PyRun_SimpleString(script), 0);
  ends = true;
  reader.join();
  stranger.join();
  EXPECT_GT(seen_.frames.load(), 1000u);
}

// The thread that released the lock has frames in memory, which another thread may already run.
TEST_F(EmbeddedTest, ThreadWithoutTheLockHasNoFrames) {
  void* const thread = PyEval_SaveThread();
  SamplingFree(SamplingMalloc(99'999'990));
  PyEval_RestoreThread(thread);
  const std::lock_guard<std::mutex> lock(seen_.mutex);
  ASSERT_EQ(seen_.stacks.count(99'999'990), 1u);
  EXPECT_EQ(seen_.stacks[99'999'990], PythonStack{});
}

}  // namespace
}  // namespace allomon
