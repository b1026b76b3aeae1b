// A user's tracker as the sessions see it, with its types erased.
#ifndef ALLOMON_TRACKER_CORE_SESSION_CLIENT_H_
#define ALLOMON_TRACKER_CORE_SESSION_CLIENT_H_

#include <atomic>
#include <cstdint>

#include "tracker/allocation.h"
#include "tracker/block_note.h"

namespace allomon::internal {

// Room for a value of the user's inside an entry.  A larger value is boxed by the client.
struct ValueRoom {
  alignas(8) unsigned char bytes[16];
};

// The facts about a sampled block that a tally gets.
struct TallySample {
  uint64_t size_bytes = 0;
  AllocationSource source = AllocationSource::kMalloc;
  uint32_t stack = 0;  // a StackId
  uintptr_t sp = 0;    // stack pointer of the code that allocates
};

// A user's tracker with its types erased.  Calls that return bool tell whether to follow the block
// further; if not, the room holds no value.  These functions do not throw: the client catches and
// counts exceptions.
class SessionClient {
 public:
  virtual ~SessionClient() = default;
  virtual bool AllocMinor(const Allocation& allocation, ValueRoom* value) = 0;
  virtual bool AllocMajor(const Allocation& allocation, ValueRoom* value) = 0;
  virtual bool Promote(ValueRoom* value) = 0;       // minor value in, major value out
  virtual void DeallocMinor(ValueRoom* value) = 0;  // destroys the value
  virtual void DeallocMajor(ValueRoom* value) = 0;  // destroys the value
  // Drain calls these: they pass the value of a live block to the user and destroy it.
  virtual void SurviveMinor(const Allocation& allocation, ValueRoom* value) = 0;
  virtual void SurviveMajor(const Allocation& allocation, ValueRoom* value) = 0;
  virtual void DestroyMinor(ValueRoom* value) = 0;  // without telling the user
  virtual void DestroyMajor(ValueRoom* value) = 0;
  // Adds the user's text for a block that was just kept.  The value stays.
  virtual void Describe(ValueRoom*, BlockNote*) {}
  // A sampled block is not reported, because memory was short.  The rule of Tally() holds.
  virtual void Dropped(uint64_t) {}
  // Called instead of all functions above if the session is a tally.  Runs in the middle of an
  // allocation, where nothing is prepared for user code.  It must not allocate, run foreign code or
  // end the thread.
  virtual void Tally(const TallySample&) {}

  // Number of exceptions in the user's callbacks.
  virtual uint64_t exceptions() const { return exceptions_.load(std::memory_order_relaxed); }

 protected:
  void CountException() { exceptions_.fetch_add(1, std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> exceptions_{0};
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_SESSION_CLIENT_H_
