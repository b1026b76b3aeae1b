// A tracker whose callbacks are C functions.
#ifndef ALLOMON_TRACKER_C_CALLBACK_CLIENT_H_
#define ALLOMON_TRACKER_C_CALLBACK_CLIENT_H_

#include "allomon/trackers.h"
#include "tracker/core/session_client.h"

namespace allomon::c {

// Converts a block to the form that callbacks get.
allomon_allocation ToC(const Allocation& allocation, bool is_young);

// A value that a callback keeps is stored in the entry itself.
class CallbackClient final : public internal::SessionClient {
 public:
  explicit CallbackClient(const allomon_callbacks& callbacks) : callbacks_(callbacks) {}
  ~CallbackClient() override;

  // Called if the start failed: `user` remains the caller's.
  void LeaveUser() { has_user_ = false; }

  bool AllocMinor(const Allocation& allocation, internal::ValueRoom* value) override;
  bool AllocMajor(const Allocation& allocation, internal::ValueRoom* value) override;
  bool Promote(internal::ValueRoom* value) override;
  void DeallocMinor(internal::ValueRoom* value) override;
  void DeallocMajor(internal::ValueRoom* value) override;
  void SurviveMinor(const Allocation& allocation, internal::ValueRoom* value) override;
  void SurviveMajor(const Allocation& allocation, internal::ValueRoom* value) override;
  void DestroyMinor(internal::ValueRoom* value) override;
  void DestroyMajor(internal::ValueRoom* value) override;
  void Describe(internal::ValueRoom* value, BlockNote* note) override;
  uint64_t exceptions() const override;

 private:
  using Alloc = int32_t(void*, const allomon_allocation*, allomon_value*);
  using Survive = void(void*, const allomon_allocation*, allomon_value*);
  using End = void(void*, allomon_value*);

  bool RunAlloc(Alloc* alloc, const Allocation& allocation, bool is_young,
                internal::ValueRoom* value);
  void RunSurvive(Survive* survive, End* forget, const Allocation& allocation, bool is_young,
                  internal::ValueRoom* value);
  void RunEnd(End* end, End* forget, internal::ValueRoom* value);

  // Calls a function of the user's.  An exception is counted and not passed on, because the callers
  // may be C. The unwinding of a thread that ends itself is not an exception, and must continue.
  template <typename Call>
  __attribute__((no_sanitize("undefined"))) bool Guard(Call call);

  const allomon_callbacks callbacks_;
  bool has_user_ = true;
};

// Follows every sampled block, for snapshots.
allomon_callbacks FollowAll();

}  // namespace allomon::c

#endif  // ALLOMON_TRACKER_C_CALLBACK_CLIENT_H_
