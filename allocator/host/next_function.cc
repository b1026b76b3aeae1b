#include "allocator/host/next_function.h"

#include <dlfcn.h>

#include <atomic>

#include "tracker/base/check.h"

// A static executable may lack dlsym(); its malloc is its own.
extern "C" void* dlsym(void* handle, const char* name) noexcept __attribute__((weak));

namespace allomon::internal {
namespace {

constexpr const char* kNames[] = {
#define ALLOMON_SYMBOL(name, symbol) symbol,
    ALLOMON_PASSED_ON(ALLOMON_SYMBOL)
#undef ALLOMON_SYMBOL
};

bool IsDelete(Function function) { return function >= Function::kDelete; }

std::atomic<void*> g_found[kFunctions];
// The malloc and free that the program calls.
std::atomic<void*> g_malloc{nullptr};
std::atomic<void*> g_free{nullptr};

// Before FindMallocAndFree(), a library's constructor may call.
void* SubstituteOf(Function function) {
  std::atomic<void*>& known = IsDelete(function) ? g_free : g_malloc;
  void* const found = known.load(std::memory_order_relaxed);
  return found != nullptr ? found : dlsym(RTLD_DEFAULT, IsDelete(function) ? "free" : "malloc");
}

// The C++ runtime's operators call the malloc and free that the program calls.
void* FindOperator(Function function) {
  void* const found =
      FindLoadedOperator == nullptr ? nullptr : FindLoadedOperator(NameOf(function));
  return found != nullptr ? found : SubstituteOf(function);
}

void* Find(Function function) {
  // dlsym() takes the lock of a thread in dlopen(), which may wait for this thread.  All that was
  // there at the start has been found.
  if (IsOperator(function) && g_malloc.load(std::memory_order_relaxed) != nullptr) {
    return FindOperator(function);
  }
  void* const found = dlsym(RTLD_NEXT, NameOf(function));
  return found == nullptr && IsOperator(function) ? FindOperator(function) : found;
}

}  // namespace

const char* NameOf(Function function) {
  ALLOMON_DCHECK_LT("inv.next.known", static_cast<int>(function), kFunctions);
  return kNames[static_cast<int>(function)];
}

void* FindNext(Function function) {
  std::atomic<void*>& known = g_found[static_cast<int>(function)];
  void* next = known.load(std::memory_order_relaxed);
  if (next == nullptr) {
    next = Find(function);
    known.store(next, std::memory_order_relaxed);
  }
  return next;
}

void FindMallocAndFree() {
  g_free.store(dlsym(RTLD_DEFAULT, "free"), std::memory_order_relaxed);
  g_malloc.store(dlsym(RTLD_DEFAULT, "malloc"), std::memory_order_relaxed);
}

void* PassOn(Function function, uintptr_t first, uintptr_t second, uintptr_t third) {
  using Callee = void*(uintptr_t, uintptr_t, uintptr_t);
  Callee* const callee = NextFunction<Callee>(function);
  ALLOMON_DCHECK_NE("inv.next.known", callee, nullptr);
  return callee(first, second, third);
}

}  // namespace allomon::internal
