#include "tracker/recording/start.h"

#include <fcntl.h>

#include <atomic>
#include <cstring>
#include <memory>

#include "tracker/base/clock.h"
#include "tracker/base/default_float.h"
#include "tracker/base/sys/raw_calls.h"
#include "tracker/callstack/unloaded_code.h"
#include "tracker/core/code_unload.h"
#include "tracker/core/fork.h"
#include "tracker/core/pinned_session.h"
#include "tracker/core/thread_registration.h"

namespace allomon::recording {
namespace {

namespace sys = internal::sys;

uint32_t LengthOf(ssize_t result) { return result > 0 ? static_cast<uint32_t>(result) : 0; }

uint32_t ReadFile(const char* path, char* text, size_t room) {
  const int fd = sys::Open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const uint32_t length = LengthOf(sys::Read(fd, text, room));
  sys::Close(fd);
  return length;
}

// The release in SetAllocatorNames() publishes g_replaced_file to the acquire in AddAllocator().
std::atomic<const char*> g_backend{nullptr};
std::atomic<const char*> g_replaced_file{nullptr};

// Appends `text` and a zero, or nothing if there is no room.
void AppendText(const char* text, ProcessFacts* facts) {
  const size_t size_bytes = strnlen(text, sizeof(facts->allocator)) + 1;
  if (size_bytes > sizeof(facts->allocator) - facts->allocator_bytes) return;
  memcpy(facts->allocator + facts->allocator_bytes, text, size_bytes);
  facts->allocator_bytes += static_cast<uint32_t>(size_bytes);
}

void AddAllocator(ProcessFacts* facts) {
  // Pairs with the release in SetAllocatorNames(): the other name is there.
  const char* const backend = g_backend.load(std::memory_order_acquire);
  if (backend == nullptr) return;
  const char* const replaced = g_replaced_file.load(std::memory_order_relaxed);
  AppendText(backend, facts);
  AppendText(replaced != nullptr ? replaced : "", facts);
}

// Large objects are on the heap: any thread may carry out a request to start, and its stack may be
// small.
std::unique_ptr<ProcessFacts> FactsOf(const StartOptions& options) {
  auto owned = std::make_unique<ProcessFacts>();
  ProcessFacts& facts = *owned;
  facts.pid = static_cast<uint32_t>(sys::Getpid());
  facts.parent_pid = static_cast<uint32_t>(sys::Getppid());
  facts.start_realtime_nanos = internal::ClockNanos(CLOCK_REALTIME);
  facts.start_monotonic_nanos = internal::ClockNanos(CLOCK_MONOTONIC);
  facts.seed = options.seed;
  facts.rate = options.rate;
  facts.callstack_size = options.callstack_size;
  facts.follows_children = options.follows_children;
  facts.name = NameByKernel();
  const char* const program = internal::ProgramPath();
  facts.program_bytes = static_cast<uint32_t>(strnlen(program, sizeof(facts.program)));
  memcpy(facts.program, program, facts.program_bytes);
  facts.command_bytes = ReadFile("/proc/self/cmdline", facts.command, sizeof(facts.command));
  AddAllocator(&facts);
  return owned;
}

// Once for the process.
void InstallHooks() {
  static const bool installed = [] {
    internal::HoldAroundFork(&recorder_lock);
    // Release: a thread that finds a hook finds the lock among those held around fork. Their
    // callers acquire.
    internal::recorder_exit_hook.store(Recorder::EndThread, std::memory_order_release);
    internal::recorder_unload_hook.store(Recorder::Unload, std::memory_order_release);
    internal::recorder_scope_end_hook.store(Recorder::EndScope, std::memory_order_release);
    internal::recorder_label_end_hook.store(Recorder::EndLabel, std::memory_order_release);
    return true;
  }();
  static_cast<void>(installed);
}

internal::Session::Config ConfigOf(const StartOptions& options) {
  internal::Session::Config config;
  config.kind = internal::SessionKind::kRecording;
  config.rate = options.rate;
  config.seed = options.seed;
  config.callstack_size = options.callstack_size;
  config.concurrent = true;
  config.counts_words = true;
  return config;
}

using PinnedRecorder = internal::PinnedClient<Recorder, internal::SessionKind::kRecording>;

}  // namespace

void SetAllocatorNames(const char* backend, const char* replaced_file) {
  g_replaced_file.store(replaced_file, std::memory_order_relaxed);
  // Pairs with the acquire in AddAllocator().
  g_backend.store(backend, std::memory_order_release);
}

Started StartRecorder(const StartOptions& options) {
  const internal::DefaultFloat our_float;
  const internal::SuspendedSampling suspended;
  Started started;
  const auto pattern = std::make_unique<FilePath>();
  if (options.path == nullptr || !MakePatternAbsolute(options.path, pattern.get())) {
    started.error = "its path is too long";
    return started;
  }
  if (options.rate > 0 && options.rate < kLeastRate) {
    started.error = "its rate is below 1e-12, which samples nothing in 8 TB";
    return started;
  }
  InstallHooks();
  auto recorder = std::make_unique<Recorder>(pattern->text, options.limit_bytes, *FactsOf(options));
  recorder->SetWatcher(options.watcher);
  recorder->SetMemoryFile(options.memory_file);
  started.error = recorder->Open();
  if (started.error != nullptr) return started;
  Recorder* const kept = recorder.get();
  std::unique_ptr<internal::SessionClient> client = std::move(recorder);
  const internal::StartResult result = internal::StartSession(ConfigOf(options), client);
  started.control = result.error;
  started.session = result.id;
  if (result.error != internal::ControlError::kNone) return started;
  kept->SetSession(result.id);
  // Commit comes last, so that a start that fails leaves a file of the same name unchanged.
  started.error = kept->Commit();
  if (started.error != nullptr) StopRecorder(result.id);
  return started;
}

bool StopRecorder(internal::SessionId session) {
  const internal::DefaultFloat our_float;
  {
    const PinnedRecorder recorder(session);
    if (!recorder) return false;
    recorder->End();
  }
  return internal::StopAndDiscardSession(session, internal::SessionKind::kRecording) ==
         internal::ControlError::kNone;
}

bool PathOf(internal::SessionId session, FilePath* path) {
  const PinnedRecorder recorder(session);
  return recorder && recorder->CopyOwnPath(path);
}

bool TotalsOf(internal::SessionId session, RecorderTotals* totals) {
  const internal::DefaultFloat our_float;
  const PinnedRecorder recorder(session);
  if (!recorder) return false;
  *totals = recorder->Totals();
  return true;
}

}  // namespace allomon::recording
