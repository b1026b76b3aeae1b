#include "tracker/sampled_resource.h"

#include "tracker/base/words.h"
#include "tracker/heap_client.h"

#if __has_include(<memory_resource>)

namespace allomon {
namespace {

// Each heap announces itself: a program may have this one alone.
__attribute__((constructor(101))) void TellTracker() { heap_client::AnnounceHeap(); }

}  // namespace

void* SampledResource::do_allocate(size_t size_bytes, size_t alignment_bytes) {
  void* block = upstream_->allocate(size_bytes, alignment_bytes);
  if (__builtin_expect(heap_client::CountDown(internal::WordsWithHeader(size_bytes)), 0)) {
    ReportSlow(block, size_bytes);
  }
  return block;
}

// Room for the handle is made before any callback runs: a block that cannot be followed to its end
// is dropped completely.
__attribute__((noinline)) void SampledResource::ReportSlow(void* block, size_t size_bytes) {
  const FrameState caller = ALLOMON_CALLER_FRAME();
  heap_client::Block reported = {};
  reported.size_bytes = size_bytes;
  switch (heap_client::JudgeAllocationSlow(internal::WordsWithHeader(size_bytes))) {
    case heap_client::Verdict::kNotSampled:
      return;
    case heap_client::Verdict::kCount:
      return heap_client::ReportCounted(reported, caller);
    case heap_client::Verdict::kFollow:
      break;
  }
  if (!sampled_.Reserve()) return heap_client::ReportUnplaced(reported, caller);
  const heap_client::BlockHandle handle = heap_client::ReportFollowed(reported, caller);
  if (handle == 0) return sampled_.Cancel();
  sampled_.Insert(block, handle);
}

void SampledResource::do_deallocate(void* block, size_t size_bytes, size_t alignment_bytes) {
  if (__builtin_expect(sampled_.MayContain(block), 0)) {
    heap_client::OnFree(sampled_.Take(block));
  }
  upstream_->deallocate(block, size_bytes, alignment_bytes);
}

void SampledResource::EndAll() {
  while (const heap_client::BlockHandle handle = sampled_.TakeAny()) heap_client::OnFree(handle);
}

}  // namespace allomon

#endif  // std::pmr
