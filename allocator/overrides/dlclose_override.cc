// A dlclose that replaces the C library's: call stacks of code that it unloads keep their names.
#include <dlfcn.h>

#include "allocator/host/program_malloc.h"
#include "allocator/host/unload.h"
#include "tracker/base/check.h"
#include "tracker/base/next_symbol.h"
#include "tracker/heap_client.h"

namespace {

// A static executable may lack the C library's dlclose(), and has no library to close.
allomon::internal::NextSymbol<int(void*)> g_next("dlclose");

__attribute__((constructor)) void LookUp() {
  [[maybe_unused]] const auto next = g_next.Find();
  ALLOMON_DCHECK_NE("inv.next.other", next, &dlclose);
}

int Unload(void* handle) { return allomon_unload(handle, g_next.Find()); }

}  // namespace

extern "C" __attribute__((visibility("default"), used)) int dlclose(void* handle) {
  if (g_next.Find() == nullptr) return 0;
  if (allomon::internal::SeesNoMalloc()) return Unload(handle);
  return allomon::heap_client::UnloadCode(handle, &Unload);
}
