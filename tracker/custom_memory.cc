#include "tracker/custom_memory.h"

#include "tracker/core/control.h"
#include "tracker/heap_client.h"
#include "tracker/preloaded.h"

namespace allomon::internal {
namespace {

__attribute__((constructor(101))) void TellTracker() { AnnounceReporter(); }

}  // namespace

// If the trackers are in the preloaded library, it also draws the samples.  The countdown here is
// never set then, and each report takes this path.
uint32_t ReportCustomSlow(size_t size_bytes) {
  if (preloaded::IsUsed()) return preloaded::ReportCustom(size_bytes);
  return heap_client::ReportCustomSlow(size_bytes, ALLOMON_CALLER_FRAME());
}

void ReleaseCustomSlow(uint32_t handle) {
  if (preloaded::IsUsed()) return preloaded::ReleaseCustom(handle);
  heap_client::OnFree(handle);
}

}  // namespace allomon::internal
