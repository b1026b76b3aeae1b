// Functions and variables of newer C libraries that our code, libstdc++ and libgcc use, for a
// library and commands that are linked with glibc 2.31 (cmake/portable.cmake).  Part of no other
// build.  Thread safe; neither allocates nor takes a lock.
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "allocator/old_glibc/find_object.h"

#define ALLOMON_HIDDEN __attribute__((visibility("hidden"), used))

extern "C" {

// The C library's function, if it is new enough; otherwise nullptr.  The linker makes these names
// for --wrap.
__attribute__((weak)) int __real__dl_find_object(void* address, dl_find_object* found);

ALLOMON_HIDDEN int __wrap__dl_find_object(void* address, dl_find_object* found) {
  if (__real__dl_find_object != nullptr) return __real__dl_find_object(address, found);
  return allomon::internal::FindLoadedObject(reinterpret_cast<uintptr_t>(address), found);
}

// Replaces the function of allocator/host/unload.cc.
ALLOMON_HIDDEN int __wrap_allomon_unload(void* handle, int (*unload)(void*)) {
  if (__real__dl_find_object != nullptr) return unload(handle);
  const allomon::internal::UnloadGuard guard;
  return unload(handle);
}

// 2.32: whether libstdc++ may count references without atomic instructions.  Always false.
ALLOMON_HIDDEN char __libc_single_threaded = 0;

// 2.36, for std::random_device.  Weak: liballomon.so defines its own (host_runtime.cc).
ALLOMON_HIDDEN __attribute__((weak)) uint32_t arc4random() {
  uint32_t value = 0;
  if (getentropy(&value, sizeof value) != 0) abort();
  return value;
}

// 2.38: the same functions for C23, which also read binary numbers ("0b101").  Libraries compiled
// with later headers reference these.  The plain names are written out, since such headers redirect
// them to these.
long PlainStrtol(const char* text, char** end, int base) __asm__("strtol");
long long PlainStrtoll(const char* text, char** end, int base) __asm__("strtoll");
unsigned long PlainStrtoul(const char* text, char** end, int base) __asm__("strtoul");
unsigned long long PlainStrtoull(const char* text, char** end, int base) __asm__("strtoull");
int PlainVsscanf(const char* text, const char* format, va_list) __asm__("__isoc99_vsscanf");
int PlainVfscanf(FILE* file, const char* format, va_list) __asm__("__isoc99_vfscanf");

ALLOMON_HIDDEN long __isoc23_strtol(const char* text, char** end, int base) {
  return PlainStrtol(text, end, base);
}
ALLOMON_HIDDEN long long __isoc23_strtoll(const char* text, char** end, int base) {
  return PlainStrtoll(text, end, base);
}
ALLOMON_HIDDEN unsigned long __isoc23_strtoul(const char* text, char** end, int base) {
  return PlainStrtoul(text, end, base);
}
ALLOMON_HIDDEN unsigned long long __isoc23_strtoull(const char* text, char** end, int base) {
  return PlainStrtoull(text, end, base);
}
ALLOMON_HIDDEN int __isoc23_sscanf(const char* text, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int count = PlainVsscanf(text, format, arguments);
  va_end(arguments);
  return count;
}
ALLOMON_HIDDEN int __isoc23_fscanf(FILE* file, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int count = PlainVfscanf(file, format, arguments);
  va_end(arguments);
  return count;
}

// 2.32.  Names the errors of opening and reading a file; for others it returns nullptr, which
// callers treat as an unknown error.
ALLOMON_HIDDEN const char* strerrorname_np(int error) {
  switch (error) {
#define ALLOMON_NAMED(name) \
  case name:                \
    return #name;
    ALLOMON_NAMED(EACCES)
    ALLOMON_NAMED(EAGAIN)
    ALLOMON_NAMED(EBADF)
    ALLOMON_NAMED(EINTR)
    ALLOMON_NAMED(EINVAL)
    ALLOMON_NAMED(EIO)
    ALLOMON_NAMED(EISDIR)
    ALLOMON_NAMED(ELOOP)
    ALLOMON_NAMED(EMFILE)
    ALLOMON_NAMED(ENAMETOOLONG)
    ALLOMON_NAMED(ENFILE)
    ALLOMON_NAMED(ENODEV)
    ALLOMON_NAMED(ENOENT)
    ALLOMON_NAMED(ENOMEM)
    ALLOMON_NAMED(ENOTDIR)
    ALLOMON_NAMED(ENXIO)
    ALLOMON_NAMED(EOVERFLOW)
    ALLOMON_NAMED(EPERM)
    ALLOMON_NAMED(ESTALE)
    ALLOMON_NAMED(ETIMEDOUT)
#undef ALLOMON_NAMED
    default:
      return nullptr;
  }
}

}  // extern "C"
