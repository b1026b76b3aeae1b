#include "allocator/host/malloc_owner.h"

#include <cstdlib>
#include <cstring>

#include "allocator/host/next_function.h"
#include "allocator/host/program_malloc.h"
#include "tracker/base/check.h"

namespace allomon::internal {

MallocOwner malloc_owner = MallocOwner::kUndecided;
uintptr_t free_suspects_from = 1;
uintptr_t delete_suspects_from = 1;
size_t operator_slow_bytes = 0;

bool program_malloc_is_seen = false;
const char* why_program_malloc_is_unseen = nullptr;

namespace {

// A host with one of these functions has its own heap.  A host that has only, say, reallocarray
// implements it by calling realloc.
constexpr Function kHeap[] = {Function::kMalloc, Function::kFree, Function::kCalloc,
                              Function::kRealloc};

bool HostHasOperators() {
  for (int i = static_cast<int>(Function::kNew); i < kFunctions; ++i) {
    if (DefinerInFront(NameOf(static_cast<Function>(i))) != nullptr) return true;
  }
  return false;
}

bool IsOff(const char* variable) {
  const char* const value = getenv(variable);
  return value != nullptr && strcmp(value, "no") == 0;
}

MallocOwner FindOwner() {
  if (DefinerInFront == nullptr) return MallocOwner::kOurs;
  if (OwnerOfMalloc() != nullptr) return MallocOwner::kHost;
  return HostHasOperators() ? MallocOwner::kHostOperators : MallocOwner::kOurs;
}

}  // namespace

// A preload requests a profile of allocations unless it names another.
bool SomethingIsAskedFor() {
  return !IsOff("ALLOMON_PROFILE") || getenv("ALLOMON_RECORD") != nullptr ||
         (getenv("ALLOMON_GUARD") != nullptr && !IsOff("ALLOMON_GUARD"));
}

const char* OwnerOfMalloc() {
  if (DefinerInFront == nullptr) return nullptr;
  for (const Function function : kHeap) {
    const char* const object = DefinerInFront(NameOf(function));
    if (object != nullptr) return object;
  }
  return nullptr;
}

MallocOwner DecideMallocOwnerSlow() {
  const MallocOwner owner = FindOwner();
  ALLOMON_DCHECK("inv.owner.once",
                 malloc_owner == MallocOwner::kUndecided || malloc_owner == owner);
  if (owner != MallocOwner::kHost) free_suspects_from = kHighestSuspectsFrom;
  if (owner == MallocOwner::kOurs) {
    delete_suspects_from = kHighestSuspectsFrom;
    operator_slow_bytes = kOperatorSlowBytes;
  }
  malloc_owner = owner;
  return owner;
}

}  // namespace allomon::internal
