#include "tests/integration/support/entry_points.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

// As clang calls them where LLVM's -optimize-hot-cold-new has marked a call.
enum class __hot_cold_t : uint8_t {};
void* operator new(size_t, __hot_cold_t);
void* operator new[](size_t, __hot_cold_t);
void* operator new(size_t, std::align_val_t, __hot_cold_t);
void* operator new[](size_t, std::align_val_t, __hot_cold_t);
void* operator new(size_t, const std::nothrow_t&, __hot_cold_t) noexcept;
void* operator new[](size_t, const std::nothrow_t&, __hot_cold_t) noexcept;
void* operator new(size_t, std::align_val_t, const std::nothrow_t&, __hot_cold_t) noexcept;
void* operator new[](size_t, std::align_val_t, const std::nothrow_t&, __hot_cold_t) noexcept;

// The linker's names for the start and the end of the section that holds the functions below.
extern "C" {
extern const char __start_entry_points[];
extern const char __stop_entry_points[];
}

namespace allomon::testing {
namespace {

#define ENTRY_POINT __attribute__((noinline, section("entry_points")))

// Keeps the caller's function on the call stack: a call whose result passes through this is no tail
// call.
void* NoTailCall(void* block) {
  asm volatile("" : "+r"(block)::"memory");
  return block;
}

ENTRY_POINT void* Malloc(size_t n) { return NoTailCall(malloc(n)); }
ENTRY_POINT void* Calloc(size_t n) { return NoTailCall(calloc(n, 1)); }
ENTRY_POINT void* CallocOne(size_t n) { return NoTailCall(calloc(1, n)); }
ENTRY_POINT void* Realloc(size_t n) { return NoTailCall(realloc(nullptr, n)); }
ENTRY_POINT void* ReallocArray(size_t n) { return NoTailCall(reallocarray(nullptr, n, 1)); }
ENTRY_POINT void* PosixMemalign(size_t n) {
  void* block = nullptr;
  return posix_memalign(&block, 64, n) == 0 ? NoTailCall(block) : nullptr;
}
ENTRY_POINT void* AlignedAlloc(size_t n) { return NoTailCall(aligned_alloc(256, n)); }
ENTRY_POINT void* AlignedAlloc16(size_t n) { return NoTailCall(aligned_alloc(16, n)); }
ENTRY_POINT void* Memalign(size_t n) { return NoTailCall(memalign(1024, n)); }
ENTRY_POINT void* MemalignHuge(size_t n) { return NoTailCall(memalign(2 << 20, n)); }
ENTRY_POINT void* Valloc(size_t n) { return NoTailCall(valloc(n)); }
ENTRY_POINT void* Pvalloc(size_t n) { return NoTailCall(pvalloc(n)); }
void Free(void* p, size_t) { free(p); }

constexpr std::align_val_t kAligned{128};
constexpr __hot_cold_t kCold{1};

ENTRY_POINT void* New(size_t n) { return NoTailCall(operator new(n)); }
ENTRY_POINT void* NewArray(size_t n) { return NoTailCall(operator new[](n)); }
ENTRY_POINT void* NewNothrow(size_t n) { return NoTailCall(operator new(n, std::nothrow)); }
ENTRY_POINT void* NewArrayNothrow(size_t n) { return NoTailCall(operator new[](n, std::nothrow)); }
ENTRY_POINT void* NewAligned(size_t n) { return NoTailCall(operator new(n, kAligned)); }
ENTRY_POINT void* NewArrayAligned(size_t n) { return NoTailCall(operator new[](n, kAligned)); }
ENTRY_POINT void* NewAlignedNothrow(size_t n) {
  return NoTailCall(operator new(n, kAligned, std::nothrow));
}
ENTRY_POINT void* NewArrayAlignedNothrow(size_t n) {
  return NoTailCall(operator new[](n, kAligned, std::nothrow));
}

ENTRY_POINT void* NewCold(size_t n) { return NoTailCall(operator new(n, kCold)); }
ENTRY_POINT void* NewArrayCold(size_t n) { return NoTailCall(operator new[](n, kCold)); }
ENTRY_POINT void* NewNothrowCold(size_t n) {
  return NoTailCall(operator new(n, std::nothrow, kCold));
}
ENTRY_POINT void* NewArrayNothrowCold(size_t n) {
  return NoTailCall(operator new[](n, std::nothrow, kCold));
}
ENTRY_POINT void* NewAlignedCold(size_t n) { return NoTailCall(operator new(n, kAligned, kCold)); }
ENTRY_POINT void* NewArrayAlignedCold(size_t n) {
  return NoTailCall(operator new[](n, kAligned, kCold));
}
ENTRY_POINT void* NewAlignedNothrowCold(size_t n) {
  return NoTailCall(operator new(n, kAligned, std::nothrow, kCold));
}
ENTRY_POINT void* NewArrayAlignedNothrowCold(size_t n) {
  return NoTailCall(operator new[](n, kAligned, std::nothrow, kCold));
}

void Delete(void* p, size_t) { operator delete(p); }
void DeleteSized(void* p, size_t n) { operator delete(p, n); }
void DeleteNothrow(void* p, size_t) { operator delete(p, std::nothrow); }
void DeleteAligned(void* p, size_t) { operator delete(p, kAligned); }
void DeleteSizedAligned(void* p, size_t n) { operator delete(p, n, kAligned); }
void DeleteAlignedNothrow(void* p, size_t) { operator delete(p, kAligned, std::nothrow); }
void DeleteArray(void* p, size_t) { operator delete[](p); }
void DeleteArraySized(void* p, size_t n) { operator delete[](p, n); }
void DeleteArrayNothrow(void* p, size_t) { operator delete[](p, std::nothrow); }
void DeleteArrayAligned(void* p, size_t) { operator delete[](p, kAligned); }
void DeleteArraySizedAligned(void* p, size_t n) { operator delete[](p, n, kAligned); }
void DeleteArrayAlignedNothrow(void* p, size_t) { operator delete[](p, kAligned, std::nothrow); }

uintptr_t AddressOf(const EntryPoint& entry_point) {
  return reinterpret_cast<uintptr_t>(entry_point.allocate);
}

}  // namespace

size_t EntryPoint::RequestedBytes(size_t size_bytes) const {
  return whole_pages ? (size_bytes + 4095) / 4096 * 4096 : size_bytes;
}

size_t EntryPoint::AlignmentOf(size_t size_bytes) const {
  if (alignment_bytes != 0) return alignment_bytes;
  return size_bytes <= 8 ? 8 : 16;
}

// The function's code extends from its own address to the next function of the section.
bool EntryPoint::Calls(uintptr_t return_address) const {
  const uintptr_t begin = AddressOf(*this);
  uintptr_t end = reinterpret_cast<uintptr_t>(__stop_entry_points);
  for (const EntryPoint& other : EntryPoints()) {
    if (AddressOf(other) > begin) end = std::min(end, AddressOf(other));
  }
  return begin < return_address && return_address < end;
}

const std::vector<EntryPoint>& EntryPoints() {
  static const auto* const list = new std::vector<EntryPoint>{
      {"Malloc", Malloc, Free},
      {"Calloc", Calloc, Free, 0, true},
      {"CallocOne", CallocOne, Free, 0, true},
      {"Realloc", Realloc, Free},
      {"ReallocArray", ReallocArray, Free},
      {"PosixMemalign", PosixMemalign, Free, 64},
      {"AlignedAlloc", AlignedAlloc, Free, 256},
      {"AlignedAlloc16", AlignedAlloc16, Free, 16},
      {"Memalign", Memalign, Free, 1024},
      {"MemalignHuge", MemalignHuge, Free, 2 << 20},
      {"Valloc", Valloc, Free, 4096},
      {"Pvalloc", Pvalloc, Free, 4096, false, true},
      {"New", New, Delete},
      {"NewDeletedSized", New, DeleteSized},
      {"NewNothrow", NewNothrow, DeleteNothrow},
      {"NewAligned", NewAligned, DeleteAligned, 128},
      {"NewAlignedDeletedSized", NewAligned, DeleteSizedAligned, 128},
      {"NewAlignedNothrow", NewAlignedNothrow, DeleteAlignedNothrow, 128},
      {"NewArray", NewArray, DeleteArray},
      {"NewArrayDeletedSized", NewArray, DeleteArraySized},
      {"NewArrayNothrow", NewArrayNothrow, DeleteArrayNothrow},
      {"NewArrayAligned", NewArrayAligned, DeleteArrayAligned, 128},
      {"NewArrayAlignedDeletedSized", NewArrayAligned, DeleteArraySizedAligned, 128},
      {"NewArrayAlignedNothrow", NewArrayAlignedNothrow, DeleteArrayAlignedNothrow, 128},
      {"NewCold", NewCold, Delete},
      {"NewNothrowCold", NewNothrowCold, DeleteSized},
      {"NewAlignedCold", NewAlignedCold, DeleteAligned, 128},
      {"NewAlignedNothrowCold", NewAlignedNothrowCold, DeleteSizedAligned, 128},
      {"NewArrayCold", NewArrayCold, DeleteArray},
      {"NewArrayNothrowCold", NewArrayNothrowCold, DeleteArraySized},
      {"NewArrayAlignedCold", NewArrayAlignedCold, DeleteArrayAligned, 128},
      {"NewArrayAlignedNothrowCold", NewArrayAlignedNothrowCold, DeleteArraySizedAligned, 128},
  };
  return *list;
}

}  // namespace allomon::testing
