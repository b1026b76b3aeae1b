#include "tracker/custom_memory.h"

#include "tracker/base/words.h"
#include "tracker/heap_client.h"

namespace allomon::internal {
namespace {

__attribute__((constructor(101))) void TellTracker() { heap_client::AnnounceHeap(); }

}  // namespace

uint32_t ReportCustomSlow(size_t size_bytes) {
  const FrameState caller = ALLOMON_CALLER_FRAME();
  heap_client::Block block = {};
  block.size_bytes = size_bytes;
  block.source = AllocationSource::kCustom;
  switch (heap_client::JudgeAllocationSlow(WordsOf(size_bytes))) {
    case heap_client::Verdict::kNotSampled:
      break;
    case heap_client::Verdict::kCount:
      heap_client::ReportCounted(block, caller);
      break;
    case heap_client::Verdict::kFollow:
      return heap_client::ReportFollowed(block, caller);
  }
  return 0;
}

void ReleaseCustomSlow(uint32_t handle) { heap_client::OnFree(handle); }

}  // namespace allomon::internal
