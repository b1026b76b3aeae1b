// The list of functions that use ALLOMON_FUNCTION().  It is complete before main, except for
// libraries that are loaded later.
//
// Any thread; lock free; no allocation.
#ifndef ALLOMON_TRACKER_PROFILE_RECORD_REGISTERED_FUNCTIONS_H_
#define ALLOMON_TRACKER_PROFILE_RECORD_REGISTERED_FUNCTIONS_H_

#include <cstdint>

namespace allomon {

// Constant data of one ALLOMON_FUNCTION().  Registered before main, also if the function is never
// called: the table of functions then depends on the program alone.
struct SourceFunction {
  const char* signature;  // __PRETTY_FUNCTION__
  const char* file;
  int line;
  uint32_t id;  // from 1, in order of registration; 0: not registered yet
  SourceFunction* next;
};

namespace internal {

// Must not be called twice for one function at the same time; two calls in turn are harmless.  (One
// function is registered by every translation unit that instantiates it, before main.)
void RegisterSourceFunction(SourceFunction* function);

// Newest first; nullptr if the list is empty.
SourceFunction* RegisteredFunctions();
uint32_t RegisteredFunctionCount();

// Runs Register() before main for each Tag that the program uses.
template <typename Tag>
struct FunctionRegistrar {
  __attribute__((constructor, used)) static void Register() {
    RegisterSourceFunction(&Tag::Function());
  }
};

}  // namespace internal

}  // namespace allomon

#endif  // ALLOMON_TRACKER_PROFILE_RECORD_REGISTERED_FUNCTIONS_H_
