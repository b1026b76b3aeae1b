#include "tracker/profile/record/registered_functions.h"

#include <atomic>

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

}  // namespace allomon::internal
