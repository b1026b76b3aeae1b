#include "tracker/profile/source_function.h"

#include "tracker/formats/source_table.h"
#include "tracker/profile/record/busy_scope.h"
#include "tracker/profile/sources/clock_charging.h"

namespace allomon::internal {
namespace {

// Constructors of libraries that are loaded later may run on any thread.
std::atomic<SourceFunction*> g_functions{nullptr};
std::atomic<uint32_t> g_count{0};

}  // namespace

void RegisterSourceFunction(SourceFunction* function) {
  if (function->id != 0) return;
  function->id = g_count.fetch_add(1, std::memory_order_relaxed) + 1;
  function->next = g_functions.load(std::memory_order_relaxed);
  // Release pairs with the acquire in RegisteredFunctions().
  while (!g_functions.compare_exchange_weak(function->next, function, std::memory_order_release,
                                            std::memory_order_relaxed)) {
  }
}

SourceFunction* RegisteredFunctions() { return g_functions.load(std::memory_order_acquire); }
uint32_t RegisteredFunctionCount() { return g_count.load(std::memory_order_acquire); }

namespace {

// Of a scope that there is no room for: above every limit, so that its end is slow as well.
ScopeEntry* NoRoom() { return reinterpret_cast<ScopeEntry*>(UINTPTR_MAX); }

}  // namespace

uint32_t PlaceOf(const SourceFunction& function) {
  const uint32_t index = IndexOfRegistered(function.id);
  const uint32_t end = first_managed_place.load(std::memory_order_relaxed);
  return index < end ? index : uint32_t{kUnknownSource};
}

ScopeEntry* EnterScopeSlow(const SourceFunction& function, void* frame) {
  AttachThread();
  ThreadProfile& thread = thread_profile;
  const BusyScope busy;
  const uintptr_t address = reinterpret_cast<uintptr_t>(frame);
  if (recording.on.load(std::memory_order_relaxed)) {
    CatchUp(thread);
    ChargeClock(thread);
    EnterFunction(thread, address, PlaceOf(function));
  }
  if (thread.scope_top == thread.scope_end) return NoRoom();
  *thread.scope_top = {address, &function};
  return thread.scope_top++;
}

// When another scope below was left by longjmp, this one's entry is still its own.
void LeaveScopeSlow(ScopeEntry* entry) {
  ThreadProfile& thread = thread_profile;
  if (entry == NoRoom() || entry >= thread.scope_top) return;
  const BusyScope busy;
  if (recording.on.load(std::memory_order_relaxed)) {
    CatchUp(thread);
    ChargeClock(thread);
    LeaveFunction(thread, entry->frame, PlaceOf(*entry->function));
  }
  thread.scope_top = entry;
}

}  // namespace allomon::internal
