// Names functions of the source text, so that a profile can be read by them.
//
//   void Parse(Input* input) {
//     ALLOMON_FUNCTION();
//     ...
//   }
//
// From there to the end of the enclosing block, the allocations of this thread are charged to
// `Parse`, at this file and line, unless a called function names itself, too.
//
// While nothing is recorded the cost is 16 instructions, entry and exit together (section 7 of
// benchmarks/README.md).  The scope ends by a destructor, so a call at its end is no tail call.
// Exceptions end scopes correctly.  Scopes that longjmp skips are dropped when a function above
// them is entered.  (Functions with entry hooks, see entry_hooks.h, keep their tail calls.)  Thread
// safe; usable in templates and lambdas; not in constexpr functions.
#ifndef ALLOMON_TRACKER_PROFILE_SOURCE_FUNCTION_H_
#define ALLOMON_TRACKER_PROFILE_SOURCE_FUNCTION_H_

#include <atomic>
#include <cstdint>

#include "tracker/profile/record/open_scopes.h"
#include "tracker/profile/record/registered_functions.h"

namespace allomon {

namespace internal {

// Entry and exit while something is recorded, or for the thread's first time.  EnterScopeSlow()
// returns the argument for LeaveScopeSlow().
ScopeEntry* EnterScopeSlow(const SourceFunction& function, void* frame);
void LeaveScopeSlow(ScopeEntry* entry);

}  // namespace internal

class FunctionScope {
 public:
  // `frame` is __builtin_frame_address(0) of the function.
  FunctionScope(const SourceFunction& function, void* frame) : entry_(internal::open_scopes.top) {
    if (__builtin_expect(IsSlow(), 0)) {
      entry_ = internal::EnterScopeSlow(function, frame);
      return;
    }
    *entry_ = {reinterpret_cast<uintptr_t>(frame), &function};
    // With the fence a signal handler sees the entry whole or not at all.
    std::atomic_signal_fence(std::memory_order_release);
    internal::open_scopes.top = entry_ + 1;
  }
  ~FunctionScope() {
    if (__builtin_expect(IsSlow(), 0)) {
      internal::LeaveScopeSlow(entry_);
    } else {
      internal::open_scopes.top = entry_;
    }
  }
  FunctionScope(const FunctionScope&) = delete;
  FunctionScope& operator=(const FunctionScope&) = delete;

 private:
  bool IsSlow() const {
    return entry_ >= internal::open_scopes.limit.load(std::memory_order_relaxed);
  }

  internal::ScopeEntry* entry_;
};

}  // namespace allomon

#define ALLOMON_FUNCTION()                                                                         \
  static ::allomon::SourceFunction allomon_function = {__PRETTY_FUNCTION__, __FILE__, __LINE__, 0, \
                                                       nullptr};                                   \
  struct AllomonTag {                                                                              \
    static ::allomon::SourceFunction& Function() { return allomon_function; }                      \
  };                                                                                               \
  static_cast<void>(&::allomon::internal::FunctionRegistrar<AllomonTag>::Register);                \
  const ::allomon::FunctionScope allomon_scope(allomon_function, __builtin_frame_address(0))

#endif  // ALLOMON_TRACKER_PROFILE_SOURCE_FUNCTION_H_
