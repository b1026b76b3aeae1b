// For sessions of our own that keep nothing with a block: no values, and nobody to tell.
#ifndef ALLOMON_TRACKER_CORE_VALUELESS_CLIENT_H_
#define ALLOMON_TRACKER_CORE_VALUELESS_CLIENT_H_

#include "tracker/core/session.h"

namespace allomon::internal {

// Follows no block; who overrides alloc_* to return true follows it to its end, or, without
// Promote, to its promotion.
class ValuelessClient : public SessionClient {
 public:
  bool AllocMinor(const Allocation&, ValueSlot*) override { return false; }
  bool AllocMajor(const Allocation&, ValueSlot*) override { return false; }
  bool Promote(ValueSlot*) override { return false; }
  void DeallocMinor(ValueSlot*) final {}
  void DeallocMajor(ValueSlot*) final {}
  void SurviveMinor(const Allocation&, ValueSlot*) final {}
  void SurviveMajor(const Allocation&, ValueSlot*) final {}
  void DestroyMinor(ValueSlot*) final {}
  void DestroyMajor(ValueSlot*) final {}
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_VALUELESS_CLIENT_H_
