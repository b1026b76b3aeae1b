#include "tracker/profile/recording.h"

#include "tracker/profile/source_function.h"
#include "tracker/profile/source_table.h"

namespace allomon::internal {

static_assert(kFirstHookIndex == kMainSource + 1, "behind the fixed functions");

Recording recording;
std::atomic<uint32_t> hooked_functions{0};

uint32_t FunctionTableSize() {
  return kFirstHookIndex + hooked_functions.load(std::memory_order_relaxed) +
         RegisteredFunctionCount();
}

bool HasFunctions() { return FunctionTableSize() > kFirstHookIndex; }

bool ChargesCallstacks() {
  if (!HasFunctions()) return true;
  return recording.kind.load(std::memory_order_relaxed) != ProfileKind::kCount &&
         !recording.stack_style() && RegisteredFunctionCount() == 0;
}

}  // namespace allomon::internal
