#include "tracker/custom_memory.h"

#include "tracker/heap_client.h"

namespace allomon::internal {
namespace {

__attribute__((constructor(101))) void TellTracker() { heap_client::AnnounceHeap(); }

}  // namespace

uint32_t ReportCustomSlow(size_t size_bytes) {
  return heap_client::ReportCustomSlow(size_bytes, ALLOMON_CALLER_FRAME());
}

void ReleaseCustomSlow(uint32_t handle) { heap_client::OnFree(handle); }

}  // namespace allomon::internal
