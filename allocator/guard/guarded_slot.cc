#include "allocator/guard/guarded_slot.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "tracker/base/check.h"

namespace allomon::internal {

void BlockTrace::Record(EntryPoint entry, const FrameState& caller) {
  entry_ = entry;
  // gettid() is not used, because the C library of older systems lacks it.
  thread_id_ = static_cast<int32_t>(syscall(SYS_gettid));
  const size_t depth = heap_client::CaptureFrames(caller, frames_, kMaxFrames);
  ALLOMON_DCHECK_LE("inv.host.frames", depth, kMaxFrames);
  depth_.store(static_cast<uint32_t>(depth), std::memory_order_release);
}

}  // namespace allomon::internal
