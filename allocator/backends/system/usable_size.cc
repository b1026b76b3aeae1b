#include <dlfcn.h>
#include <malloc.h>

#include "allomon_backend.h"

namespace allomon::backend {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
size_t UsableSize(const void* block) { return malloc_usable_size(const_cast<void*>(block)); }
#else
// glibc has no __libc_malloc_usable_size.  Its malloc_usable_size(), the next one after that of
// //allocator:malloc, is looked up by name.
size_t UsableSize(const void* block) {
  using Function = size_t (*)(void*);
  static const Function function =
      reinterpret_cast<Function>(dlsym(RTLD_NEXT, "malloc_usable_size"));
  return function == nullptr ? 0 : function(const_cast<void*>(block));
}
#endif

}  // namespace allomon::backend
