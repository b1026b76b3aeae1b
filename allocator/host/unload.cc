#include "allocator/host/unload.h"

extern "C" __attribute__((visibility("hidden"))) int allomon_unload(void* handle,
                                                                    int (*unload)(void*)) {
  return unload(handle);
}
