#include "tracker/profile/record/recording.h"

#include "tracker/callstack/managed_functions.h"
#include "tracker/formats/source_table.h"

namespace allomon::internal {

static_assert(kFirstHookIndex == kMainSource + 1, "behind the fixed functions");

Recording recording;
std::atomic<uint32_t> hooked_functions{0};
std::atomic<const HookPlaces*> hook_places{nullptr};
std::atomic<bool> answers_for_itself{false};
std::atomic<uint32_t> first_managed_place{0};

uint32_t IndexOfManaged(uint32_t number) {
  if (number >= kManagedPlaces) return kUnknownSource;
  return first_managed_place.load(std::memory_order_relaxed) + number;
}

uint32_t FunctionTableSize() {
  return kFirstHookIndex + hooked_functions.load(std::memory_order_relaxed) +
         RegisteredFunctionCount();
}

uint32_t PlaceOf(const SourceFunction& function) {
  const uint32_t index = IndexOfRegistered(function.id);
  const uint32_t end = first_managed_place.load(std::memory_order_relaxed);
  return index < end ? index : uint32_t{kUnknownSource};
}

bool HasFunctions() { return FunctionTableSize() > kFirstHookIndex; }

bool WouldChargeCallstacks(ProfileKind kind) {
  if (!HasFunctions()) return kind != ProfileKind::kCount || ManagedFunctionCount() == 0;
  return kind != ProfileKind::kCount && RegisteredFunctionCount() == 0;
}

}  // namespace allomon::internal
