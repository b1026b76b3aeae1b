// Tells the address sanitizer which managed memory is dead.  Does nothing in other builds.
#ifndef ALLOMON_RUNTIME_INTERNAL_SPACE_POISON_H_
#define ALLOMON_RUNTIME_INTERNAL_SPACE_POISON_H_

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ALLOMON_GC_POISONS 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define ALLOMON_GC_POISONS 1
#endif

#ifdef ALLOMON_GC_POISONS
#include <sanitizer/asan_interface.h>
#define ALLOMON_GC_POISON(start, bytes) __asan_poison_memory_region(start, bytes)
#define ALLOMON_GC_UNPOISON(start, bytes) __asan_unpoison_memory_region(start, bytes)
#else
#define ALLOMON_GC_POISON(start, bytes) static_cast<void>(0)
#define ALLOMON_GC_UNPOISON(start, bytes) static_cast<void>(0)
#endif

#endif  // ALLOMON_RUNTIME_INTERNAL_SPACE_POISON_H_
