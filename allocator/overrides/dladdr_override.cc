// A dladdr that finds the names of a malloc that the executable defines, where its symbols lead to
// us (program_malloc.h): callers get the name, start and symbol that the C library would find
// without us.  Everything else is the C library's answer.
//
// Defined over the backend that keeps the program's malloc alone.
#include <dlfcn.h>

#include "allocator/host/program_malloc.h"
#include "allomon_backend.h"
#include "tracker/base/next_symbol.h"

#ifdef ALLOMON_BACKEND_IS_THE_HOSTS

namespace {

using allomon::internal::FindUnnamedFunction;
using allomon::internal::UnnamedFunction;

allomon::internal::NextSymbol<int(const void*, Dl_info*)> g_dladdr("dladdr");
allomon::internal::NextSymbol<int(const void*, Dl_info*, void**, int)> g_dladdr1("dladdr1");

__attribute__((constructor)) void LookUp() {
  g_dladdr.Find();
  g_dladdr1.Find();
}

// `symbol` may be nullptr.
void NameUnnamed(const void* address, Dl_info* info, const void** symbol) {
  if (info->dli_sname != nullptr) return;
  const UnnamedFunction function = FindUnnamedFunction(address);
  if (function.name == nullptr) return;
  info->dli_sname = function.name;
  info->dli_saddr = const_cast<void*>(function.start);
  if (symbol != nullptr) *symbol = function.symbol;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"), used)) int dladdr(const void* address,
                                                        Dl_info* info) noexcept {
  const auto next = g_dladdr.Find();
  const int found = next == nullptr ? 0 : next(address, info);
  if (found != 0) NameUnnamed(address, info, nullptr);
  return found;
}

__attribute__((visibility("default"), used)) int dladdr1(const void* address, Dl_info* info,
                                                         void** extra, int flags) noexcept {
  const auto next = g_dladdr1.Find();
  const int found = next == nullptr ? 0 : next(address, info, extra, flags);
  const bool wants_symbol = flags == RTLD_DL_SYMENT;
  if (found != 0) {
    NameUnnamed(address, info, wants_symbol ? const_cast<const void**>(extra) : nullptr);
  }
  return found;
}

}  // extern "C"

#endif  // ALLOMON_BACKEND_IS_THE_HOSTS
