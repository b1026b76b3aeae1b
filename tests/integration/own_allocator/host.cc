// A host with an allocator of its own, which ends the program when it gets a block of another
// allocator.  It lacks some of the names, as real ones do (Firefox has no sized operator delete):
// callers of these reach the C++ runtime, or the preloaded library.
//
//   OWN_MALLOC      exports malloc and its relatives
//   OWN_OPERATORS   exports operator new and delete, but no array, nothrow or sized form of them
//   WRAPS_NEW       exports operator new and delete; every other new calls the next one in
//                   symbol look-up, and the others have a library allocate besides
//   OVERSTATES      has each block of some pages end where memory ends, and a malloc_usable_size()
//                   that says more
//   REUSES          hands freed blocks out again, and does what its arguments say
//   EMBEDS          is the command of Python
//   FAKES           exports a function of this name, by which something else is recognised
//   ADDRESSES       takes the addresses of functions that it does not define, which in a
//                   position-dependent executable are those of its own jumps to the functions
//   AS_LIBRARY      has no main
//   AS_USER         is a library that shares blocks with a host, and has no allocator
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/own_allocator/user.h"

#if defined(AS_USER)

namespace {

// Before the constructors of preloaded libraries.
const bool g_has_early_thread = [] {
  if (getenv("EARLY_THREAD") == nullptr) return false;
  std::thread([] { pause(); }).detach();
  return true;
}();

// Sizes of each kind: short, long, and larger than the inlined sizes.
constexpr size_t kSizes[] = {1, 24, 100, 1000, 5000, 300000};

struct alignas(64) Wide {
  char bytes[64];
};

void UseC(size_t size_bytes) {
  free(malloc(size_bytes));
  free(calloc(3, size_bytes));
  free(realloc(realloc(nullptr, size_bytes), 2 * size_bytes));
  free(aligned_alloc(64, size_bytes / 64 * 64 + 64));
  void* aligned = nullptr;
  if (posix_memalign(&aligned, 128, size_bytes) == 0) free(aligned);
  free(strdup("the C library calls malloc, too"));
}

void UseOperators(size_t size_bytes) {
  operator delete(operator new(size_bytes), size_bytes);
  operator delete(operator new(size_bytes));
  operator delete(operator new(size_bytes, std::nothrow), std::nothrow);
  operator delete(operator new(size_bytes, std::nothrow));
  operator delete[](operator new[](size_bytes), size_bytes);
  operator delete[](operator new[](size_bytes));
  operator delete[](operator new[](size_bytes, std::nothrow));
  const std::align_val_t wide{64};
  operator delete(operator new(size_bytes, wide), size_bytes, wide);
  operator delete(operator new(size_bytes, wide, std::nothrow), wide);
  operator delete[](operator new[](size_bytes, wide), wide);
  operator delete[](operator new[](size_bytes, wide, std::nothrow), size_bytes, wide);
}

// Exceptions pass through whatever stands in front of operator new.
void UseTooMuch() {
  constexpr size_t kTooMuch = size_t{1} << 50;
  void* const kept = malloc(100);
  if (malloc(kTooMuch) != nullptr || realloc(kept, kTooMuch) != nullptr) abort();
  free(kept);
  try {
    operator delete(operator new(kTooMuch));
    abort();
  } catch (const std::bad_alloc&) {
  }
}

void UseTheLanguage() {
  delete new Kept;
  delete[] new Kept[30];
  delete new Wide;
  delete[] new Wide[3];
  delete new (std::nothrow) Kept;
  const auto shared = std::make_shared<std::string>(100, 'x');
  std::vector<std::string> strings(50, *shared);
  strings.emplace_back(1000, 'y');
}

}  // namespace

void UseEachForm() {
  for (int i = 0; i < 20; ++i) {
    for (const size_t size_bytes : kSizes) {
      UseC(size_bytes);
      UseOperators(size_bytes);
    }
    UseTheLanguage();
    UseTooMuch();
  }
}

char* StringOfTheLibrary() { return strdup("taken in the library"); }
Kept* NewInTheLibrary() { return new Kept; }
void DeleteInTheLibrary(Kept* kept) { delete kept; }

void LeakInTheLibrary(int blocks) {
  for (int i = 0; i < blocks; ++i) static_cast<char*>(malloc(1000))[0] = 1;
}
void FreeInTheLibrary(void* block) { free(block); }

#else  // not AS_USER

namespace {

std::atomic<int> g_news{0};
std::atomic<int> g_deletes{0};

[[noreturn]] void Refuse(const char* what) {
  write(STDOUT_FILENO, what, strlen(what));
  _exit(9);
}

// Stands in front of each block.
struct alignas(16) Header {
  uint64_t magic;
  size_t size_bytes;
};

constexpr uint64_t kFreed = 0x0f0f'0f0f'0f0f'0f0f;

[[maybe_unused]] void* Mark(void* memory, uint64_t magic, size_t size_bytes) {
  Header* const header = static_cast<Header*>(memory);
  *header = {magic, size_bytes};
  return header + 1;
}

[[maybe_unused]] Header* HeaderOf(void* block, uint64_t magic, const char* what) {
  Header* const header = static_cast<Header*>(block) - 1;
  if (header->magic != magic) Refuse(what);
  return header;
}

}  // namespace

#if defined(OWN_MALLOC)

namespace {

constexpr uint64_t kMalloc = 0x6d61'6c6c'6f63'2121;
constexpr size_t kArenaBytes = size_t{1} << 30;
std::atomic<char*> g_arena{nullptr};
std::atomic<size_t> g_used{0};

char* Arena() {
  if (char* const arena = g_arena.load()) return arena;
  void* const arena = mmap(nullptr, kArenaBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  char* expected = nullptr;
  g_arena.compare_exchange_strong(expected, static_cast<char*>(arena));
  return g_arena.load();
}

#if defined(REUSES)
// The freed blocks of one size, the last one first.
constexpr size_t kLists = 256;
std::mutex g_lists_mutex;
void* g_lists[kLists];

void*& ListOf(size_t size_bytes) { return g_lists[(size_bytes + 15) / 16]; }
bool HasList(size_t size_bytes) { return size_bytes >= 8 && (size_bytes + 15) / 16 < kLists; }

void* TakeFreed(size_t size_bytes) {
  const std::lock_guard<std::mutex> hold(g_lists_mutex);
  void* const block = ListOf(size_bytes);
  if (block == nullptr) return nullptr;
  ListOf(size_bytes) = *static_cast<void**>(block);
  return Mark(static_cast<Header*>(block) - 1, kMalloc, size_bytes);
}
void KeepFreed(void* block, size_t size_bytes) {
  const std::lock_guard<std::mutex> hold(g_lists_mutex);
  *static_cast<void**>(block) = ListOf(size_bytes);
  ListOf(size_bytes) = block;
}
#else
bool HasList(size_t) { return false; }
void* TakeFreed(size_t) { return nullptr; }
void KeepFreed(void*, size_t) {}
#endif

#if defined(OVERSTATES)
constexpr size_t kPageBytes = 4096;

void* TakeAtEnd(size_t size_bytes) {
  const size_t bytes = (size_bytes + sizeof(Header) + kPageBytes - 1) / kPageBytes * kPageBytes;
  char* const pages = static_cast<char*>(mmap(nullptr, bytes + kPageBytes, PROT_READ | PROT_WRITE,
                                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(pages + bytes, kPageBytes, PROT_NONE);
  return Mark(pages + bytes - (size_bytes + 15) / 16 * 16 - sizeof(Header), kMalloc, size_bytes);
}
#endif

void* Take(size_t alignment_bytes, size_t size_bytes) {
#if defined(OVERSTATES)
  if (alignment_bytes <= 16 && size_bytes >= kPageBytes) return TakeAtEnd(size_bytes);
#endif
  const size_t alignment = alignment_bytes < 16 ? 16 : alignment_bytes;
  if (size_bytes > kArenaBytes) return nullptr;
  if (alignment == 16 && HasList(size_bytes)) {
    if (void* const freed = TakeFreed(size_bytes)) return freed;
  }
  const size_t bytes = (size_bytes + sizeof(Header) + alignment + 15) / 16 * 16;
  const uintptr_t start = reinterpret_cast<uintptr_t>(Arena() + g_used.fetch_add(bytes));
  const uintptr_t block = (start + sizeof(Header) + alignment - 1) / alignment * alignment;
  return Mark(reinterpret_cast<void*>(block - sizeof(Header)), kMalloc, size_bytes);
}

}  // namespace

extern "C" {

void* malloc(size_t size_bytes) noexcept { return Take(16, size_bytes); }
void* calloc(size_t count, size_t size_bytes) noexcept {
  void* const block = Take(16, count * size_bytes);
  return block == nullptr ? nullptr : memset(block, 0, count * size_bytes);
}
void free(void* block) noexcept {
  if (block == nullptr) return;
  Header* const header = HeaderOf(block, kMalloc, "free of another's block\n");
  header->magic = kFreed;
  if (HasList(header->size_bytes)) KeepFreed(block, header->size_bytes);
}
void* realloc(void* block, size_t size_bytes) noexcept {
  void* const moved = Take(16, size_bytes);
  if (block == nullptr || moved == nullptr) return moved;
  const size_t old_bytes = HeaderOf(block, kMalloc, "realloc of another's block\n")->size_bytes;
  memcpy(moved, block, old_bytes < size_bytes ? old_bytes : size_bytes);
  free(block);
  return moved;
}
void* aligned_alloc(size_t alignment_bytes, size_t size_bytes) noexcept {
  return Take(alignment_bytes, size_bytes);
}
int posix_memalign(void** out, size_t alignment_bytes, size_t size_bytes) noexcept {
  *out = Take(alignment_bytes, size_bytes);
  return 0;
}
#if defined(OVERSTATES)
size_t malloc_usable_size(void* block) noexcept {
  return HeaderOf(block, kMalloc, "size of another's block\n")->size_bytes + kPageBytes;
}
#endif

}  // extern "C"

#endif  // OWN_MALLOC

#if defined(OWN_OPERATORS)

namespace {
constexpr uint64_t kNew = 0x6e65'776e'6577'2121;
}  // namespace

void* operator new(size_t size_bytes) {
  ++g_news;
  void* const memory = malloc(size_bytes + sizeof(Header));
  if (memory == nullptr) throw std::bad_alloc();
  return Mark(memory, kNew, size_bytes);
}
void operator delete(void* block) noexcept {
  if (block == nullptr) return;
  ++g_deletes;
  Header* const header = HeaderOf(block, kNew, "delete of another's block\n");
  header->magic = kFreed;
  free(header);
}
void operator delete(void* block, size_t) noexcept { operator delete(block); }

#endif  // OWN_OPERATORS

#if defined(WRAPS_NEW)

void* operator new(size_t size_bytes) {
  static const auto next = reinterpret_cast<void* (*)(size_t)>(dlsym(RTLD_NEXT, "_Znwm"));
  if (++g_news % 2 == 0) return next(size_bytes);
  free(StringOfTheLibrary());
  void* const memory = malloc(size_bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* block) noexcept {
  ++g_deletes;
  free(block);
}
void operator delete(void* block, size_t) noexcept { operator delete(block); }

#endif  // WRAPS_NEW

#if defined(FAKES)
extern "C" int FAKES() { return 0; }
#endif

#if defined(REUSES)

namespace {

constexpr int kHanded = 2000;

// Each thread frees, in a library, the blocks that the one before took.
void HandOver() {
  std::vector<void*> blocks(kHanded);
  for (int thread = 0; thread < 4; ++thread) {
    std::thread([&blocks] {
      for (void*& block : blocks) {
        FreeInTheLibrary(block);
        block = StringOfTheLibrary();
      }
    }).join();
  }
  for (void* const block : blocks) FreeInTheLibrary(block);
}

void UseThreads() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(UseEachForm);
  for (std::thread& thread : threads) thread.join();
  HandOver();
}

// Returns the child's status.
int Fork() {
  const pid_t child = fork();
  if (child == 0) {
    UseThreads();
    LeakInTheLibrary(30);
    exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

// Loads a library, has it leak, and unloads it.
void UseLate(const char* path, int flags) {
  void* const library = dlopen(path, flags);
  if (library == nullptr) Refuse(dlerror());
  const auto leak = reinterpret_cast<void (*)(int)>(dlsym(library, "LeakInTheLibrary"));
  leak(10);
  dlclose(library);
}

// Prints the protections of each file's memory, but for files of the profiler.
void PrintProtections() {
  FILE* const maps = fopen("/proc/self/maps", "r");
  char line[4096];
  while (fgets(line, sizeof(line), maps) != nullptr) {
    const char* const path = strchr(line, '/');
    if (path == nullptr || strstr(path, "liballomon") != nullptr) continue;
    printf("%.4s %s", strchr(line, ' ') + 1, path);
  }
  fclose(maps);
}

void Do(const std::string& what) {
  if (what == "leak") LeakInTheLibrary(100);
  if (what == "threads") UseThreads();
  if (what == "fork") printf("child %d\n", Fork());
  if (what == "protections") PrintProtections();
  if (what == "own frees") {
    // Nobody else sees these calls of free.
    for (int i = 0; i < 50; ++i) free(StringOfTheLibrary());
  }
  if (what.rfind("late:", 0) == 0) UseLate(what.c_str() + 5, RTLD_LAZY);
  if (what.rfind("deep:", 0) == 0) UseLate(what.c_str() + 5, RTLD_LAZY | RTLD_DEEPBIND);
  if (what.rfind("load:", 0) == 0 && dlopen(what.c_str() + 5, RTLD_LAZY) == nullptr) {
    Refuse(dlerror());
  }
}

}  // namespace

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i) Do(arguments[i]);
  printf("done\n");
  return 0;
}

#elif defined(EMBEDS)

extern "C" int Py_BytesMain(int count, char** arguments);

int main(int count, char** arguments) { return Py_BytesMain(count, arguments); }

#elif defined(ADDRESSES)

void* (*volatile g_malloc)(size_t) = malloc;
void (*volatile g_free)(void*) = free;

int main() {
  for (int i = 0; i < 1000; ++i) g_free(g_malloc(1000));
  printf("done\n");
  return 0;
}

#elif !defined(AS_LIBRARY)

int main() {
  UseEachForm();
  std::thread(UseEachForm).join();
  free(StringOfTheLibrary());
  DeleteInTheLibrary(new Kept);
  delete NewInTheLibrary();
  printf("news %d, deletes %d\n", g_news.load(), g_deletes.load());
  return 0;
}

#endif

#endif  // AS_USER
