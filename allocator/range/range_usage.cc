#include "allocator/range/sampled_range.h"

namespace allomon::internal {

size_t SlotClasses::UsedBytes() const {
  uint32_t spans = 0;
  {
    const SpinLockHolder hold(growth_lock_);
    spans = next_span_;
  }
  size_t used_bytes = 0;
  for (uint32_t span = 0; span < spans; ++span) {
    const size_t slot_bytes = SlotBytes(span_classes_[span] - 1u);
    const SlotWord* const words = words_ + size_t{span} * kSlotsPerSpan;
    for (size_t index = 0; index < kSpanBytes / slot_bytes; ++index) {
      const uint32_t word = words[index].load(std::memory_order_relaxed);
      if (word != 0 && (word & SlotLinks::kFreeBit) == 0) used_bytes += slot_bytes;
    }
  }
  return used_bytes;
}

size_t SlotClasses::CommittedBytes() const {
  const SpinLockHolder hold(growth_lock_);
  return size_t{committed_spans_} * kSpanBytes;
}

size_t LargeRuns::UsedBytes(size_t* blocks) const {
  const size_t granules = committed_meta_.load(std::memory_order_acquire);
  size_t used_bytes = 0;
  *blocks = 0;
  for (size_t granule = 0; granule < granules; ++granule) {
    if (runs_[granule].handle.load(std::memory_order_relaxed) == 0) continue;
    used_bytes += BytesOf(runs_[granule]);
    ++*blocks;
  }
  return used_bytes;
}

size_t LargeRuns::RetainedBytes() const {
  const SpinLockHolder hold(growth_lock_);
  return retained_bytes_;
}

void SlotClasses::Describe(process_map::SampledBlocks* blocks) const {
  blocks->words = words_;
  blocks->span_classes = span_classes_;
  blocks->span_bytes = kSpanBytes;
  blocks->slots_per_span = kSlotsPerSpan;
  blocks->free_bit = SlotLinks::kFreeBit;
}

void LargeRuns::Describe(process_map::SampledBlocks* blocks) const {
  static_assert(offsetof(Run, handle) == 0, "readers find the word of a run at its beginning");
  blocks->run_entries = runs_;
  blocks->run_count = &committed_meta_;
  blocks->granule_bytes = kGranuleBytes;
  blocks->run_entry_bytes = sizeof(Run);
  blocks->run_class_offset = offsetof(Run, size_class);
}

SampledRange::Usage SampledRange::ReadUsage() const {
  Usage usage;
  if (base_.load(std::memory_order_acquire) == 0) return usage;
  usage.used_bytes = slots_.UsedBytes();
  usage.committed_bytes = slots_.CommittedBytes() + runs_.RetainedBytes();
  usage.run_bytes = runs_.UsedBytes(&usage.runs);
  return usage;
}

}  // namespace allomon::internal
