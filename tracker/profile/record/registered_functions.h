// The functions that say ALLOMON_FUNCTION(): a list that is complete before main, but for libraries
// that are loaded later.
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

// Not to be called twice for one function at the same time; twice in turn is harmless.  (One
// function registers from every translation unit that instantiates it, before main.)
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

}  // namespace allomon

#endif  // ALLOMON_TRACKER_PROFILE_RECORD_REGISTERED_FUNCTIONS_H_
