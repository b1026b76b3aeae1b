#include "allomon/custom_memory.h"

#include "tracker/base/words.h"
#include "tracker/core/control.h"
#include "tracker/heap_client.h"

namespace heap_client = allomon::heap_client;

allomon_status allomon_custom_memory_serve(void) {
  allomon::internal::AnnounceHostHeap();
  return ALLOMON_OK;
}

// A library that does not serve the process must not enter threads into its registry.
allomon_custom_memory allomon_custom_memory_report(uint64_t size_bytes) {
  if (!heap_client::CountDown(allomon::internal::WordsOf(size_bytes))) return 0;
  if (allomon::internal::IsStandingAside()) return 0;
  return heap_client::ReportCustomSlow(size_bytes, ALLOMON_CALLER_FRAME());
}

void allomon_custom_memory_release(allomon_custom_memory memory) {
  if (memory != 0) heap_client::OnFree(memory);
}
