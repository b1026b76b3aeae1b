#include <malloc.h>

#include "allomon_backend.h"
#include "tracker/base/next_symbol.h"

namespace allomon::backend {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
size_t UsableSize(const void* block) { return malloc_usable_size(const_cast<void*>(block)); }
#else
// glibc has no __libc_malloc_usable_size.  Its malloc_usable_size(), the next one after that of
// //allocator:malloc, is looked up by name.
namespace {

internal::NextSymbol<size_t(void*)> g_next("malloc_usable_size");

__attribute__((constructor)) void LookUp() { g_next.Find(); }

}  // namespace

size_t UsableSize(const void* block) {
  const auto function = g_next.Find();
  return function == nullptr ? 0 : function(const_cast<void*>(block));
}
#endif

}  // namespace allomon::backend
