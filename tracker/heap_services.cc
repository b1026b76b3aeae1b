// The functions of heap_client.h that do not sample. None is on a fast path.
#include <memory>
#include <utility>

#include "tracker/base/words.h"
#include "tracker/core/captured_stack.h"
#include "tracker/core/code_unload.h"
#include "tracker/core/control.h"
#include "tracker/core/fork.h"
#include "tracker/core/thread_registration.h"
#include "tracker/core/thread_state.h"
#include "tracker/core/valueless_client.h"
#include "tracker/heap_client.h"

namespace allomon::heap_client {

using namespace ::allomon::internal;  // NOLINT: this file is the tracker's own face

size_t CaptureFrames(const FrameState& caller, uintptr_t* frames, size_t max_frames) {
  return internal::CaptureFrames(caller, frames, max_frames);
}

BlockHandle ReportCustomSlow(uint64_t size_bytes, const FrameState& caller) {
  Block block = {};
  block.size_bytes = size_bytes;
  block.source = AllocationSource::kCustom;
  switch (JudgeAllocationSlow(WordsOf(size_bytes))) {
    case Verdict::kNotSampled:
      break;
    case Verdict::kCount:
      ReportCounted(block, caller);
      break;
    case Verdict::kFollow:
      return ReportFollowed(block, caller);
  }
  return 0;
}

// The session keeps no values and tells no user.
uint32_t StartSampling(double rate, std::optional<uint64_t> seed) {
  Session::Config config;
  config.kind = SessionKind::kHeap;
  config.rate = rate;
  config.seed = seed ? *seed : RandomSeed();
  config.follows_blocks = false;
  config.is_tally = true;
  config.concurrent = true;
  std::unique_ptr<SessionClient> client = std::make_unique<ValuelessClient>();
  return StartSession(config, client).id;
}

void StopSampling(uint32_t id) { StopAndDiscardSession(id, SessionKind::kHeap); }

void SetAllocatorText(uintptr_t begin, uintptr_t end) { internal::LeaveOutText(begin, end); }

int UnloadCode(void* handle, int (*unload)(void*)) { return internal::UnloadCode(handle, unload); }

bool BeginUnjudged() { return std::exchange(CurrentThread().busy, true); }
void EndUnjudged(bool was_busy) { CurrentThread().busy = was_busy; }

void AnnounceHeap() { internal::AnnounceHeap(); }
void AnnounceStandingAside() { internal::AnnounceStandingAside(); }
// The recorder has one, too.
static_assert(kMaxHeapLocks < internal::kMostForkLocks);
void HoldAroundFork(SpinLock* lock) { internal::HoldAroundFork(lock); }
void InstallForkHandlers() { internal::InstallForkHandlers(); }
void BeforeFork() { internal::BeforeFork(); }
void AfterForkInParent() { internal::AfterForkInParent(); }
void AfterForkInChild() { internal::AfterForkInChild(); }

void CallAtThreadExit(void (*hook)()) { thread_exit_hook.store(hook, std::memory_order_release); }

}  // namespace allomon::heap_client
