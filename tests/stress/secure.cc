// A preloaded library that tells its host that the kernel calls it set-uid.
#include <dlfcn.h>
#include <sys/auxv.h>

extern "C" unsigned long getauxval(unsigned long type) noexcept {
  if (type == AT_SECURE) return 1;
  using Function = unsigned long (*)(unsigned long);
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, "getauxval"))(type);
}
