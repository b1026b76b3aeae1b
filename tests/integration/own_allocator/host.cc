// A host with an allocator of its own, which ends the program when it gets a block of another
// allocator.  It lacks some of the names, as real ones do (Firefox has no sized operator delete):
// callers of these reach the C++ runtime, or the preloaded library.
//
//   OWN_MALLOC      exports malloc and its relatives
//   OWN_OPERATORS   exports operator new and delete, but no array, nothrow or sized form of them
//   AS_LIBRARY      has no main
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>

#include "tests/integration/own_allocator/user.h"

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

void* Take(size_t alignment_bytes, size_t size_bytes) {
  const size_t alignment = alignment_bytes < 16 ? 16 : alignment_bytes;
  const size_t bytes = (size_bytes + sizeof(Header) + alignment + 15) / 16 * 16;
  const uintptr_t start = reinterpret_cast<uintptr_t>(Arena() + g_used.fetch_add(bytes));
  const uintptr_t block = (start + sizeof(Header) + alignment - 1) / alignment * alignment;
  return Mark(reinterpret_cast<void*>(block - sizeof(Header)), kMalloc, size_bytes);
}

}  // namespace

extern "C" {

void* malloc(size_t size_bytes) noexcept { return Take(16, size_bytes); }
void* calloc(size_t count, size_t size_bytes) noexcept { return Take(16, count * size_bytes); }
void free(void* block) noexcept {
  if (block != nullptr) HeaderOf(block, kMalloc, "free of another's block\n")->magic = kFreed;
}
void* realloc(void* block, size_t size_bytes) noexcept {
  void* const moved = Take(16, size_bytes);
  if (block == nullptr) return moved;
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

#if !defined(AS_LIBRARY)

int main() {
  UseEachForm();
  std::thread(UseEachForm).join();
  free(StringOfTheLibrary());
  DeleteInTheLibrary(new Kept);
  delete NewInTheLibrary();
  printf("news %d, deletes %d\n", g_news.load(), g_deletes.load());
  return 0;
}

#endif  // AS_LIBRARY
