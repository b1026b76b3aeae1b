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
// Cost: two thread-local stores on entry and one on exit.  The scope ends by a
// destructor, so a call in its tail is no tail call, exceptions are right, and longjmp
// over it is undefined as over any destructor.  Thread safe; usable in templates and
// lambdas; not in constexpr functions.
#ifndef ALLOMON_TRACKER_PROFILE_SOURCE_FUNCTION_H_
#define ALLOMON_TRACKER_PROFILE_SOURCE_FUNCTION_H_

#include <atomic>
#include <cstdint>

#include "tracker/internal/countdown.h"

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

extern __thread SourceFunction* current_function
    __attribute__((visibility("hidden"), ALLOMON_TLS_MODEL));

// Runs Register() before main for each Tag that is mentioned.
template <typename Tag>
struct FunctionRegistrar {
  __attribute__((constructor, used)) static void Register() {
    RegisterSourceFunction(&Tag::Function());
  }
};

}  // namespace internal

// The innermost open scope of this thread, or nullptr.
inline const SourceFunction* CurrentSourceFunction() { return internal::current_function; }

class FunctionScope {
 public:
  explicit FunctionScope(SourceFunction* function) : outer_(internal::current_function) {
    internal::current_function = function;
  }
  ~FunctionScope() { internal::current_function = outer_; }
  FunctionScope(const FunctionScope&) = delete;
  FunctionScope& operator=(const FunctionScope&) = delete;

 private:
  SourceFunction* const outer_;
};

}  // namespace allomon

#define ALLOMON_FUNCTION()                                                                         \
  static ::allomon::SourceFunction allomon_function = {__PRETTY_FUNCTION__, __FILE__, __LINE__, 0, \
                                                       nullptr};                                   \
  struct AllomonTag {                                                                              \
    static ::allomon::SourceFunction& Function() { return allomon_function; }                      \
  };                                                                                               \
  static_cast<void>(&::allomon::internal::FunctionRegistrar<AllomonTag>::Register);                \
  const ::allomon::FunctionScope allomon_scope(&allomon_function)

#endif  // ALLOMON_TRACKER_PROFILE_SOURCE_FUNCTION_H_
