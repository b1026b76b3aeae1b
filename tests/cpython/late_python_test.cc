// Ticks in a program that loads its Python: a handler asks for the thread's interpreter state where
// that needs no malloc, which may be what the signal has interrupted.  Each case has a process of
// its own, in which malloc and free abort inside of a handler.
#include <dlfcn.h>
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <thread>

#include "gtest/gtest.h"
#include "tracker/base/signal_frame.h"
#include "tracker/callstack/capture.h"
#include "tracker/callstack/interpreters.h"
#include "tracker/cpython/attach.h"

extern "C" void* __libc_malloc(size_t);            // NOLINT
extern "C" void* __libc_calloc(size_t, size_t);    // NOLINT
extern "C" void* __libc_realloc(void*, size_t);    // NOLINT
extern "C" void* __libc_memalign(size_t, size_t);  // NOLINT
extern "C" void __libc_free(void*);                // NOLINT

namespace {

thread_local bool t_in_handler = false;

void ForbidInHandler() {
  if (!t_in_handler) return;
  constexpr char kLine[] = "malloc or free in a handler\n";
  [[maybe_unused]] const ssize_t written = write(2, kLine, sizeof(kLine) - 1);
  abort();
}

}  // namespace

extern "C" {
void* malloc(size_t size_bytes) {
  ForbidInHandler();
  return __libc_malloc(size_bytes);
}
void* calloc(size_t count, size_t size_bytes) {
  ForbidInHandler();
  return __libc_calloc(count, size_bytes);
}
void* realloc(void* block, size_t size_bytes) {
  ForbidInHandler();
  return __libc_realloc(block, size_bytes);
}
void* memalign(size_t alignment, size_t size_bytes) {
  ForbidInHandler();
  return __libc_memalign(alignment, size_bytes);
}
void* aligned_alloc(size_t alignment, size_t size_bytes) { return memalign(alignment, size_bytes); }
int posix_memalign(void** block, size_t alignment, size_t size_bytes) {
  *block = memalign(alignment, size_bytes);
  return *block == nullptr ? ENOMEM : 0;
}
void free(void* block) {
  ForbidInHandler();
  __libc_free(block);
}
}

namespace allomon {
namespace {

constexpr char kFolder[] = "tests/cpython/";

thread_local bool t_has_frames = false;

void OnTick(int, siginfo_t*, void* context) {
  t_in_handler = true;
  uintptr_t frames[64];
  bool truncated;
  CaptureCallstack(internal::InterruptedFrame(context), frames, 64, &truncated);
  t_has_frames = internal::HasInterpretedFrames();
  t_in_handler = false;
}

// Whether a handler that interrupts the calling thread sees frames of Python.
bool TickSeesFrames() {
  raise(SIGUSR1);
  return t_has_frames;
}

void* Load(const char* name) {
  void* const library = dlopen((std::string(kFolder) + name).c_str(), RTLD_NOW);
  if (library == nullptr) _exit(90);
  return library;
}

template <typename Function>
Function Find(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

using RunPython = void (*)();

RunPython LoadPython(const char* name) {
  struct sigaction action = {};
  action.sa_sigaction = OnTick;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGUSR1, &action, nullptr);
  void* const python = Load(name);
  std::thread([python] {
    if (cpython::AttachLoadedPython(python, dlsym) != nullptr) _exit(91);
  }).join();
  return Find<RunPython>(python, "FakeRun");
}

#define EXPECT_IN_CHILD(statement) \
  EXPECT_EXIT({ statement _exit(0); }, ::testing::ExitedWithCode(0), "")
#define REQUIRE(condition) \
  if (!(condition)) _exit(__LINE__ % 80 + 1)

TEST(LatePythonTest, ThreadThatNeverRanPythonIsNotAsked) {
  EXPECT_IN_CHILD({
    LoadPython("libfake_python.so");
    REQUIRE(!TickSeesFrames());
    std::thread([] { REQUIRE(!TickSeesFrames()); }).join();
  });
}

TEST(LatePythonTest, ThreadThatRunsPythonIsAsked) {
  EXPECT_IN_CHILD({
    const RunPython run = LoadPython("libfake_python.so");
    REQUIRE(!TickSeesFrames());
    run();
    REQUIRE(TickSeesFrames());
    std::thread([run] {
      run();
      REQUIRE(TickSeesFrames());
    }).join();
  });
}

TEST(LatePythonTest, ThreadOfOneThatRunsPythonIsNot) {
  EXPECT_IN_CHILD({
    LoadPython("libfake_python.so")();
    std::thread([] { REQUIRE(!TickSeesFrames()); }).join();
    REQUIRE(TickSeesFrames());
  });
}

// Storage beside the thread's stack is there without an entry in any table.
TEST(LatePythonTest, StateBesideTheStackIsAskedOfAll) {
  EXPECT_IN_CHILD({
    const RunPython run = LoadPython("libfake_static_python.so");
    REQUIRE(!TickSeesFrames());
    run();
    REQUIRE(TickSeesFrames());
  });
}

// The thread's table still has the storage of the library that had the number before.
TEST(LatePythonTest, StorageOfALibraryThatIsGoneIsNotTakenForPythons) {
  EXPECT_IN_CHILD({
    void* const other = Load("libother_storage.so");
    Find<char* (*)()>(other, "OtherStorage")()[0] = 1;
    dlclose(other);
    const RunPython run = LoadPython("libfake_python.so");
    REQUIRE(!TickSeesFrames());
    run();
    REQUIRE(TickSeesFrames());
  });
}

}  // namespace
}  // namespace allomon
