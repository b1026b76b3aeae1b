// The client of our own sessions that keep no value with a block and tell no user.
#ifndef ALLOMON_TRACKER_CORE_VALUELESS_CLIENT_H_
#define ALLOMON_TRACKER_CORE_VALUELESS_CLIENT_H_

#include "tracker/core/session_client.h"

namespace allomon::internal {

// Follows no block.  A client that overrides alloc_* to return true follows a block to its end, or,
// without Promote, to its promotion.
class ValuelessClient : public SessionClient {
 public:
  bool AllocMinor(const Allocation&, ValueRoom*) override { return false; }
  bool AllocMajor(const Allocation&, ValueRoom*) override { return false; }
  bool Promote(ValueRoom*) override { return false; }
  void DeallocMinor(ValueRoom*) final {}
  void DeallocMajor(ValueRoom*) final {}
  void SurviveMinor(const Allocation&, ValueRoom*) final {}
  void SurviveMajor(const Allocation&, ValueRoom*) final {}
  void DestroyMinor(ValueRoom*) final {}
  void DestroyMajor(ValueRoom*) final {}
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_VALUELESS_CLIENT_H_
