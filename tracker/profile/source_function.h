// Names functions of the source text, so that a profile can be read by them.
//
//   void Parse(Input* input) {
//     ALLOMON_FUNCTION();
//     ...
//   }
//
// From there to the end of the enclosing block, what this thread allocates is charged to
// `Parse`, at this file and line, unless a function that it calls says otherwise.
//
// While nothing is recorded the cost is 16 instructions, entry and exit together (section 7 of
// benchmarks/README.md).  The scope ends by a destructor, so a call in its tail is no tail
// call; exceptions are right, and what longjmp leaves behind goes when a function above it is
// entered.  (Functions with entry hooks, see entry_hooks.h, keep their tail calls.)  Thread
// safe; usable in templates and lambdas; not in constexpr functions.
#ifndef ALLOMON_TRACKER_PROFILE_SOURCE_FUNCTION_H_
#define ALLOMON_TRACKER_PROFILE_SOURCE_FUNCTION_H_

#include <atomic>
#include <cstdint>

#include "tracker/profile/record/recording.h"
#include "tracker/profile/record/thread_profile.h"

namespace allomon {

// Constant data of one ALLOMON_FUNCTION().  Registered before main, also if the function
// is never called: the table of functions then depends on the program alone.
struct SourceFunction {
  const char* signature;  // __PRETTY_FUNCTION__
  const char* file;
  int line;
  uint32_t id;  // from 1, in order of registration; 0: not registered yet
  SourceFunction* next;
};

namespace internal {

// Not to be called twice for one function at the same time; twice in turn is harmless.
// (One function registers from every translation unit that instantiates it, before main.)
void RegisterSourceFunction(SourceFunction* function);

// Newest first; nullptr if there is none.
SourceFunction* RegisteredFunctions();
uint32_t RegisteredFunctionCount();

// Runs Register() before main for each Tag that is mentioned.
template <typename Tag>
struct FunctionRegistrar {
  __attribute__((constructor, used)) static void Register() {
    RegisterSourceFunction(&Tag::Function());
  }
};

}  // namespace internal

namespace internal {

// Entering and leaving while something is recorded, or for the thread's first time.
// Returns what to give to LeaveScopeSlow.
ScopeEntry* EnterScopeSlow(const SourceFunction& function, void* frame);
void LeaveScopeSlow(ScopeEntry* entry);

// Its place in the table of functions.  A library that was loaded late may bring more than
// there is room for: they are <unknown>.
uint32_t PlaceOf(const SourceFunction& function);

}  // namespace internal

class FunctionScope {
 public:
  // `frame` is __builtin_frame_address(0) of the function.
  FunctionScope(const SourceFunction& function, void* frame)
      : entry_(internal::thread_profile.scope_top) {
    if (__builtin_expect(IsSlow(), 0)) {
      entry_ = internal::EnterScopeSlow(function, frame);
      return;
    }
    *entry_ = {reinterpret_cast<uintptr_t>(frame), &function};
    // A signal handler sees the entry whole or not at all.
    std::atomic_signal_fence(std::memory_order_release);
    internal::thread_profile.scope_top = entry_ + 1;
  }
  ~FunctionScope() {
    if (__builtin_expect(IsSlow(), 0)) {
      internal::LeaveScopeSlow(entry_);
    } else {
      internal::thread_profile.scope_top = entry_;
    }
  }
  FunctionScope(const FunctionScope&) = delete;
  FunctionScope& operator=(const FunctionScope&) = delete;

 private:
  bool IsSlow() const {
    return entry_ >= internal::thread_profile.scope_limit.load(std::memory_order_relaxed);
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
