// A dlclose that replaces the C library's: call stacks of code that it unloads keep their names.
#include <dlfcn.h>

#include "allocator/host/program_malloc.h"
#include "allocator/host/unload.h"
#include "tracker/base/check.h"
#include "tracker/heap_client.h"

// A static executable may lack dlsym(); such a program has no library to close.
extern "C" void* dlsym(void* handle, const char* name) noexcept __attribute__((weak));

namespace {

using Dlclose = int (*)(void*);

// The C library's.
Dlclose Next() {
  static const Dlclose next =
      dlsym == nullptr ? nullptr : reinterpret_cast<Dlclose>(dlsym(RTLD_NEXT, "dlclose"));
  ALLOMON_DCHECK_NE("inv.next.other", next, &dlclose);
  return next;
}

int Unload(void* handle) { return allomon_unload(handle, Next()); }

}  // namespace

extern "C" __attribute__((visibility("default"), used)) int dlclose(void* handle) {
  if (Next() == nullptr) return 0;
  if (allomon::internal::SeesNoMalloc()) return Unload(handle);
  return allomon::heap_client::UnloadCode(handle, &Unload);
}
