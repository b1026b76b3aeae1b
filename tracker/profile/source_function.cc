#include "tracker/profile/source_function.h"

#include "tracker/profile/data_units.h"
#include "tracker/profile/source_table.h"

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

// Scopes of one frame, of functions inlined into another, lie at the same address and
// close in order: only what is strictly below has returned.
void PopBelow(ThreadProfile& thread, uintptr_t frame) {
  while (thread.top->frame < frame || HasReturned(*thread.top)) PopEntry(thread);
}

ThreadCounts& CountsOf(const ThreadProfile& thread) {
  return thread.counts != nullptr ? *thread.counts : *UnitOf(thread).common;
}

// A library that was loaded late may bring more functions than there is room for.
uint32_t PlaceOf(const ThreadProfile& thread, const SourceFunction& function) {
  const uint32_t index = IndexOfRegistered(function.id);
  return thread.counts == nullptr || index < thread.counts->functions ? index : kUnknownSource;
}

// The stack time of a function starts before its own entry is counted, so the entry is
// part of it.
void CountEntry(ThreadProfile& thread, uint32_t function) {
  const uint64_t step = thread.step.load(std::memory_order_relaxed);
  if (step != 0) CountsOf(thread).Charge(function, step);
}

}  // namespace

ShadowEntry* EnterScopeSlow(const SourceFunction& function, void* frame) {
  AttachThread();
  ThreadProfile& thread = thread_profile;
  const BusyScope busy;
  const uintptr_t address = reinterpret_cast<uintptr_t>(frame);
  const uint32_t index = PlaceOf(thread, function);
  ShadowEntry* entry = nullptr;
  if (thread.top != nullptr) {
    if (IsOnOwnStack(thread, address)) PopBelow(thread, address);
    if (thread.top < thread.limit) {
      PushEntry(thread, address, 0, index);
      entry = thread.top;
      entry->function = function.id | kScopeBit;
    }
  }
  CountEntry(thread, index);
  return entry;
}

void LeaveScopeSlow(ShadowEntry* entry, void* frame) {
  ThreadProfile& thread = thread_profile;
  if (entry == nullptr || thread.top < entry) return;  // popped by an entry above it
  if (entry->frame != reinterpret_cast<uintptr_t>(frame)) return;
  const BusyScope busy;
  while (thread.top >= entry) PopEntry(thread);
}

}  // namespace allomon::internal
