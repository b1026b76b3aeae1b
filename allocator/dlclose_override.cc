// dlclose, in front of the C library's: call stacks of code that it unloads keep their names.
#include <dlfcn.h>

#include "allocator/malloc_owner.h"
#include "tracker/heap_client.h"

// A static executable may lack dlsym(); such a program has no library to close.
extern "C" void* dlsym(void* handle, const char* name) noexcept __attribute__((weak));

namespace {

using Dlclose = int (*)(void*);

Dlclose NextDlclose() {
  if (dlsym == nullptr) return nullptr;
  return reinterpret_cast<Dlclose>(dlsym(RTLD_NEXT, "dlclose"));
}

}  // namespace

extern "C" __attribute__((visibility("default"), used)) int dlclose(void* handle) {
  static const Dlclose next = NextDlclose();
  if (next == nullptr) return 0;
  if (allomon::internal::StandsAside()) return next(handle);
  return allomon::heap_client::UnloadCode(handle, next);
}
