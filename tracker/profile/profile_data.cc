#include "tracker/profile/profile_data.h"

#include <cstdlib>
#include <new>

namespace allomon {
namespace {

__thread ProfileData* t_current __attribute__((ALLOMON_TLS_MODEL)) = nullptr;

void AtomicAdd(std::atomic<double>& sum, double value) {
  double before = sum.load(std::memory_order_relaxed);
  while (!sum.compare_exchange_weak(before, before + value, std::memory_order_relaxed)) {
  }
}

}  // namespace

CellTable::~CellTable() {
  for (std::atomic<Cell*>& segment : segments_) free(segment.load());
}

CellTable::Cell* CellTable::Find(uint32_t id) {
  if (id >= kSegmentCells * kSegments) return nullptr;
  std::atomic<Cell*>& slot = segments_[id / kSegmentCells];
  // Acquire pairs with the release below.
  Cell* segment = slot.load(std::memory_order_acquire);
  if (segment == nullptr) {
    // All zero bits are a valid cell.
    Cell* fresh = static_cast<Cell*>(calloc(kSegmentCells, sizeof(Cell)));
    if (slot.compare_exchange_strong(segment, fresh, std::memory_order_acq_rel)) {
      segment = fresh;
    } else {
      free(fresh);
    }
  }
  return segment == nullptr ? nullptr : &segment[id % kSegmentCells];
}

void CellTable::Add(uint32_t id, const Estimate& bytes) {
  Cell* cell = Find(id);
  if (cell == nullptr) return;
  AtomicAdd(cell->value, bytes.value);
  if (bytes.variance > 0) AtomicAdd(cell->variance, bytes.variance);
}

void CellTable::Clear() {
  for (std::atomic<Cell*>& slot : segments_) {
    Cell* segment = slot.load(std::memory_order_relaxed);
    for (size_t i = 0; segment != nullptr && i < kSegmentCells; ++i) {
      segment[i].value.store(0, std::memory_order_relaxed);
      segment[i].variance.store(0, std::memory_order_relaxed);
    }
  }
}

void CellTable::ForEach(const std::function<void(uint32_t, const Estimate&)>& visit) const {
  for (size_t s = 0; s < kSegments; ++s) {
    const Cell* segment = segments_[s].load(std::memory_order_acquire);
    for (size_t i = 0; segment != nullptr && i < kSegmentCells; ++i) {
      const Estimate bytes = {segment[i].value.load(std::memory_order_relaxed),
                              segment[i].variance.load(std::memory_order_relaxed)};
      if (bytes.value > 0) visit(static_cast<uint32_t>(s * kSegmentCells + i), bytes);
    }
  }
}

void ProfileData::Add(const Allocation& allocation, const SourceFunction* function) {
  Estimate bytes;
  bytes.Add(static_cast<double>(allocation.size_bytes),
            ReportProbability(TrialWords(allocation), allocation.rate));
  if (function != nullptr) {
    by_function_.Add(function->id, bytes);
  } else {
    by_stack_.Add(allocation.callstack.id(), bytes);
  }
}

void ProfileData::Clear() {
  by_function_.Clear();
  by_stack_.Clear();
}

ProfileData& DefaultProfileData() {
  // Never destroyed: malloc may be called after the last destructor.
  alignas(ProfileData) static unsigned char storage[sizeof(ProfileData)];
  static ProfileData* const data = new (storage) ProfileData;
  return *data;
}

ProfileData& CurrentProfileData() {
  return t_current != nullptr ? *t_current : DefaultProfileData();
}

ScopedProfileData::ScopedProfileData(ProfileData* data) : outer_(t_current) { t_current = data; }
ScopedProfileData::~ScopedProfileData() { t_current = outer_; }

}  // namespace allomon
