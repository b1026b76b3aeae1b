// A host in C that exports a malloc, and a library that calls it.  Nothing here needs the C++
// runtime, which would allocate before the host's own constructor.
//
//   AS_LIBRARY  is the library
//   WRAPS       the host's functions call the next ones in the order of symbol look-up; else its
//               heap is there from its constructor to its destructor, which unmaps it
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// The host's malloc does not return from a request of this size.
enum { kJumps = 4711 };
extern jmp_buf place_behind_malloc;

void LeakHere(int blocks);
void Do(const char* what);
void PrintName(const char* what, const void* address, int is_own);

#if defined(AS_LIBRARY)

jmp_buf place_behind_malloc;

// The C library does not have these, so nobody does if the host has not.
void free_sized(void* block, size_t size_bytes) __attribute__((weak));
void dallocx(void* block, int flags) __attribute__((weak));

static void* g_early_library;

// Before the constructors of preloaded libraries.
__attribute__((constructor)) static void LoadEarly(void) {
  const char* const path = getenv("EARLY_LOAD");
  if (path != NULL) g_early_library = dlopen(path, RTLD_NOW);
}

void LeakHere(int blocks) {
  for (int i = 0; i < blocks; ++i) ((char*)malloc(1000))[0] = 1;
}

static void UseEachForm(void) {
  for (size_t size_bytes = 1; size_bytes < 100000; size_bytes *= 3) {
    void* aligned = NULL;
    free(malloc(size_bytes));
    free(realloc(realloc(calloc(3, size_bytes), size_bytes), 4 * size_bytes));
    free(aligned_alloc(64, (size_bytes + 63) / 64 * 64));
    if (posix_memalign(&aligned, 128, size_bytes) == 0) free(aligned);
    free(strdup("the C library calls malloc, too"));
  }
}

// Prints what dladdr() and dladdr1() know of an address; of a module's own function, the symbol.
void PrintName(const char* what, const void* address, int is_own) {
  Dl_info info = {0};
  Dl_info again = {0};
  const ElfW(Sym)* symbol = NULL;
  if (dladdr(address, &info) == 0 || info.dli_sname == NULL ||
      dladdr1(address, &again, (void**)&symbol, RTLD_DL_SYMENT) == 0 || again.dli_sname == NULL) {
    printf("%s has no name\n", what);
    return;
  }
  if (strcmp(info.dli_sname, again.dli_sname) != 0 || info.dli_saddr != again.dli_saddr) abort();
  printf("%s is %s+%td", what, info.dli_sname, (const char*)address - (char*)info.dli_saddr);
  if (is_own) {
    const int has_place = (char*)info.dli_fbase + symbol->st_value == info.dli_saddr;
    printf(", %s by the symbol, of %zu bytes", has_place ? "there" : "elsewhere",
           (size_t)symbol->st_size);
  }
  printf("\n");
}

static void UseEarlyLibrary(void) {
  void (*const use)(void) = (void (*)(void))dlsym(g_early_library, "_Z11UseEachFormv");
  use();
}

void Do(const char* what) {
  if (strcmp(what, "leak") == 0) LeakHere(100);
  if (strcmp(what, "use") == 0) UseEachForm();
  if (strcmp(what, "early") == 0) UseEarlyLibrary();
  if (strcmp(what, "many") == 0) {
    for (int i = 0; i < 200000; ++i) free(malloc(64));
  }
  if (strcmp(what, "jump") == 0 && setjmp(place_behind_malloc) == 0) malloc(kJumps);
  if (strcmp(what, "overflow") == 0) {
    void* const block = malloc(1000);
    volatile size_t too_many = SIZE_MAX / 4 + 1;  // four of them are 0 bytes, modulo 2^64
    if (reallocarray(block, too_many, 4) != NULL) abort();
  }
  if (strcmp(what, "sized") == 0) free_sized(malloc(1000), 1000);
  if (strcmp(what, "weak") == 0) printf("dallocx: %s\n", dallocx == NULL ? "nowhere" : "somewhere");
  if (strcmp(what, "names") == 0) {
    PrintName("the library's malloc", (void*)malloc, 0);
    PrintName("the library's free", (void*)free, 0);
    PrintName("a function of the library", (void*)LeakHere, 1);
    PrintName("puts", (void*)puts, 1);
    PrintName("the first page", (void*)1, 0);
  }
  if (strcmp(what, "owner") == 0) {
    Dl_info info = {0};
    dladdr((void*)malloc, &info);
    printf("malloc is in %s\n", strrchr(info.dli_fname, '/') + 1);
  }
}

#else

static void* OrJump(size_t size_bytes, void* block) {
  if (size_bytes == kJumps) longjmp(place_behind_malloc, 1);
  return block;
}

#if defined(WRAPS)

// Looked up at its first call.
#define NEXT(type, name, ...)                            \
  static type next;                                      \
  if (next == NULL) next = (type)dlsym(RTLD_NEXT, name); \
  return next(__VA_ARGS__)

typedef void* Malloc(size_t);
typedef void* Calloc(size_t, size_t);
typedef void* Realloc(void*, size_t);
typedef void Free(void*);

static void* NextMalloc(size_t size_bytes) { NEXT(Malloc*, "malloc", size_bytes); }
static void NextFree(void* block) { NEXT(Free*, "free", block); }
static void* NextCalloc(size_t count, size_t size_bytes) {
  NEXT(Calloc*, "calloc", count, size_bytes);
}
static void* NextRealloc(void* block, size_t size_bytes) {
  NEXT(Realloc*, "realloc", block, size_bytes);
}
static void* NextAligned(size_t alignment_bytes, size_t size_bytes) {
  NEXT(Calloc*, "memalign", alignment_bytes, size_bytes);
}

#else

enum { kHeapBytes = 64 << 20 };
// In front of each block.
typedef struct {
  size_t size_bytes;
  size_t not_used;
} Header;

static char* g_heap;
static size_t g_used_bytes;

__attribute__((constructor)) static void MapHeap(void) {
  g_heap = mmap(NULL, kHeapBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
__attribute__((destructor)) static void UnmapHeap(void) {
  munmap(g_heap, kHeapBytes);
  g_heap = NULL;
}

static void RefuseWithoutHeap(void) {
  static const char kText[] = "the host's malloc is called outside of its time\n";
  if (g_heap != NULL) return;
  write(STDOUT_FILENO, kText, sizeof(kText) - 1);
  _exit(9);
}

static void* NextAligned(size_t alignment_bytes, size_t size_bytes) {
  RefuseWithoutHeap();
  if (size_bytes > kHeapBytes / 2) return NULL;
  if (alignment_bytes < sizeof(Header)) alignment_bytes = sizeof(Header);
  const size_t whole_bytes = size_bytes + sizeof(Header) + alignment_bytes;
  const uintptr_t place = (uintptr_t)g_heap + __atomic_fetch_add(&g_used_bytes, whole_bytes, 0);
  const uintptr_t block =
      (place + sizeof(Header) + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
  ((Header*)block)[-1].size_bytes = size_bytes;
  return (void*)block;
}
static void* NextMalloc(size_t size_bytes) { return NextAligned(16, size_bytes); }
static void NextFree(void* block) {
  RefuseWithoutHeap();
  if (block != NULL) ((Header*)block)[-1].size_bytes = 0;
}
static void* NextCalloc(size_t count, size_t size_bytes) {
  return NextMalloc(count * size_bytes);  // fresh pages are zero, and no block is used twice
}
static void* NextRealloc(void* block, size_t size_bytes) {
  void* const moved = NextMalloc(size_bytes);
  if (block == NULL || moved == NULL) return moved;
  const size_t old_bytes = ((Header*)block)[-1].size_bytes;
  memcpy(moved, block, old_bytes < size_bytes ? old_bytes : size_bytes);
  NextFree(block);
  return moved;
}

#endif

void* malloc(size_t size_bytes) { return OrJump(size_bytes, NextMalloc(size_bytes)); }
void free(void* block) { NextFree(block); }
void free_sized(void* block, size_t size_bytes) {
  (void)size_bytes;
  NextFree(block);
}
void* calloc(size_t count, size_t size_bytes) { return NextCalloc(count, size_bytes); }
void* realloc(void* block, size_t size_bytes) { return NextRealloc(block, size_bytes); }
void* reallocarray(void* block, size_t count, size_t size_bytes) {
  size_t total = 0;
  return __builtin_mul_overflow(count, size_bytes, &total) ? NULL : NextRealloc(block, total);
}
void* memalign(size_t alignment_bytes, size_t size_bytes) {
  return NextAligned(alignment_bytes, size_bytes);
}
void* aligned_alloc(size_t alignment_bytes, size_t size_bytes) {
  return NextAligned(alignment_bytes, size_bytes);
}
int posix_memalign(void** out, size_t alignment_bytes, size_t size_bytes) {
  *out = NextAligned(alignment_bytes, size_bytes);
  return 0;
}

static void PrintOwnNames(void) {
  PrintName("malloc", (void*)malloc, 1);
  PrintName("behind the start of malloc", (char*)malloc + 1, 1);
  PrintName("reallocarray", (void*)reallocarray, 1);
  PrintName("posix_memalign", (void*)posix_memalign, 1);
  PrintName("the jump's place", &place_behind_malloc, 0);
}

int main(int count, char** arguments) {
  static char buffer[BUFSIZ];
  setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
  for (int i = 1; i < count; ++i) {
    if (strcmp(arguments[i], "names") == 0) PrintOwnNames();
    Do(arguments[i]);
  }
  printf("done\n");
  return 0;
}

#endif
