#include "tracker/profile/record/count_source.h"

namespace allomon::internal {

std::atomic<const CountSource*> count_sources[kCountSources] = {};

void RegisterCountSource(CountSourceSlot slot, const CountSource* source) {
  count_sources[slot].store(source, std::memory_order_release);
}

}  // namespace allomon::internal
