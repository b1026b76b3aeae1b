// operator delete, and the nothrow forms of operator new, replaced.
//
// Compiled without exceptions, as malloc_override.cc is and for the same reason: a thread that ends
// itself in a callback, or is cancelled there, unwinds through these functions.
//
// Forms that a host does not define are ours even if it defines others (malloc_owner.h).  Their
// slow paths pass the arguments on unchanged.
#include <new>

#include "allocator/alloc_path.h"
#include "allocator/host/malloc_owner.h"
#include "allocator/host/next_function.h"
#include "allocator/overrides/hot_cold.h"
#include "allocator/overrides/nothrow_retry.h"

#define ALLOMON_EXPORT ALLOMON_MALLOC_SECTION __attribute__((visibility("default"), used))

namespace {

using allomon::internal::AllocateAlignedFast;
using allomon::internal::AllocateFast;
using allomon::internal::delete_suspects_from;
using allomon::internal::EntryPoint;
using allomon::internal::FreeHighSlow;
using allomon::internal::Function;
using allomon::internal::IsSlowForOperators;
using allomon::internal::IsSuspect;
using allomon::internal::kUnknownSize;
using allomon::internal::OperatorsAreOurs;
using allomon::internal::PassOn;
using allomon::internal::RetryNothrowAlignedSlow;
using allomon::internal::RetryNothrowSlow;

__attribute__((always_inline)) inline void* NewOrNull(size_t size_bytes, EntryPoint entry) {
  void* block = AllocateFast(size_bytes, entry);
  if (__builtin_expect(block != nullptr, 1)) return block;
  return RetryNothrowSlow(size_bytes, entry);
}

__attribute__((always_inline)) inline void* NewOrNull(size_t size_bytes, std::align_val_t alignment,
                                                      EntryPoint entry) {
  const size_t alignment_bytes = static_cast<size_t>(alignment);
  void* block = AllocateAlignedFast(alignment_bytes, size_bytes, entry);
  if (__builtin_expect(block != nullptr, 1)) return block;
  return RetryNothrowAlignedSlow(alignment_bytes, size_bytes, entry);
}

// No templates: g++ puts those into sections of their own.
ALLOMON_MALLOC_SLOW void* NothrowSlow(size_t n, EntryPoint entry, Function function) {
  if (OperatorsAreOurs()) return NewOrNull(n, entry);
  return PassOn(function, n, reinterpret_cast<uintptr_t>(&std::nothrow));
}

ALLOMON_MALLOC_SLOW void* NothrowAlignedSlow(size_t n, std::align_val_t a, EntryPoint entry,
                                             Function function) {
  if (OperatorsAreOurs()) return NewOrNull(n, a, entry);
  return PassOn(function, n, static_cast<size_t>(a), reinterpret_cast<uintptr_t>(&std::nothrow));
}

ALLOMON_MALLOC_SLOW void DeleteSlow(void* p, EntryPoint entry, Function function) {
  if (OperatorsAreOurs()) return FreeHighSlow(p, kUnknownSize, entry);
  PassOn(function, p, reinterpret_cast<uintptr_t>(&std::nothrow));
}

ALLOMON_MALLOC_SLOW void DeleteAlignedSlow(void* p, std::align_val_t a, EntryPoint entry,
                                           Function function) {
  if (OperatorsAreOurs()) return FreeHighSlow(p, kUnknownSize, entry);
  PassOn(function, p, static_cast<size_t>(a), reinterpret_cast<uintptr_t>(&std::nothrow));
}

ALLOMON_MALLOC_SLOW void DeleteSizedSlow(void* p, size_t n, std::align_val_t a, EntryPoint entry,
                                         Function function) {
  if (OperatorsAreOurs()) return FreeHighSlow(p, n, entry);
  PassOn(function, p, n, static_cast<size_t>(a));
}

template <EntryPoint entry, Function function>
__attribute__((always_inline)) inline void* Nothrow(size_t n) {
  if (IsSlowForOperators(n)) return NothrowSlow(n, entry, function);
  return NewOrNull(n, entry);
}

template <EntryPoint entry, Function function>
__attribute__((always_inline)) inline void* Nothrow(size_t n, std::align_val_t a) {
  if (IsSlowForOperators(n)) return NothrowAlignedSlow(n, a, entry, function);
  return NewOrNull(n, a, entry);
}

__attribute__((always_inline)) inline bool IsSuspectOfDelete(void* p) {
  return __builtin_expect(IsSuspect(p, delete_suspects_from), 0);
}

template <EntryPoint entry, Function function>
__attribute__((always_inline)) inline void Delete(void* p) {
  if (IsSuspectOfDelete(p)) return DeleteSlow(p, entry, function);
  allomon::backend::Free(p);
}

template <EntryPoint entry, Function function>
__attribute__((always_inline)) inline void Delete(void* p, std::align_val_t a) {
  if (IsSuspectOfDelete(p)) return DeleteAlignedSlow(p, a, entry, function);
  allomon::backend::Free(p);
}

template <EntryPoint entry, Function function>
__attribute__((always_inline)) inline void DeleteSized(void* p, size_t n, std::align_val_t a) {
  if (IsSuspectOfDelete(p)) return DeleteSizedSlow(p, n, a, entry, function);
  allomon::backend::Free(p);
}

constexpr EntryPoint kOne = EntryPoint::kNew;
constexpr EntryPoint kArray = EntryPoint::kNewArray;
// The forms without an alignment.
constexpr std::align_val_t kPlain{0};

}  // namespace

ALLOMON_EXPORT void* operator new(size_t n, const std::nothrow_t&) noexcept {
  return Nothrow<kOne, Function::kNewNothrow>(n);
}
ALLOMON_EXPORT void* operator new(size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return Nothrow<kOne, Function::kNewAlignedNothrow>(n, a);
}
ALLOMON_EXPORT void* operator new[](size_t n, const std::nothrow_t&) noexcept {
  return Nothrow<kArray, Function::kNewArrayNothrow>(n);
}
ALLOMON_EXPORT void* operator new[](size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return Nothrow<kArray, Function::kNewArrayAlignedNothrow>(n, a);
}

// Blocks of all hints are equal (README.md, "Hints").
ALLOMON_EXPORT void* operator new(size_t n, const std::nothrow_t& t, __hot_cold_t) noexcept {
  return operator new(n, t);
}
ALLOMON_EXPORT void* operator new(size_t n, std::align_val_t a, const std::nothrow_t& t,
                                  __hot_cold_t) noexcept {
  return operator new(n, a, t);
}
ALLOMON_EXPORT void* operator new[](size_t n, const std::nothrow_t& t, __hot_cold_t) noexcept {
  return operator new[](n, t);
}
ALLOMON_EXPORT void* operator new[](size_t n, std::align_val_t a, const std::nothrow_t& t,
                                    __hot_cold_t) noexcept {
  return operator new[](n, a, t);
}

ALLOMON_EXPORT void operator delete(void* p) noexcept { Delete<kOne, Function::kDelete>(p); }
ALLOMON_EXPORT void operator delete(void* p, size_t n) noexcept {
  DeleteSized<kOne, Function::kDeleteSized>(p, n, kPlain);
}
ALLOMON_EXPORT void operator delete(void* p, const std::nothrow_t&) noexcept {
  Delete<kOne, Function::kDeleteNothrow>(p);
}
ALLOMON_EXPORT void operator delete(void* p, std::align_val_t a) noexcept {
  Delete<kOne, Function::kDeleteAligned>(p, a);
}
ALLOMON_EXPORT void operator delete(void* p, size_t n, std::align_val_t a) noexcept {
  DeleteSized<kOne, Function::kDeleteSizedAligned>(p, n, a);
}
ALLOMON_EXPORT void operator delete(void* p, std::align_val_t a, const std::nothrow_t&) noexcept {
  Delete<kOne, Function::kDeleteAlignedNothrow>(p, a);
}
ALLOMON_EXPORT void operator delete[](void* p) noexcept {
  Delete<kArray, Function::kDeleteArray>(p);
}
ALLOMON_EXPORT void operator delete[](void* p, size_t n) noexcept {
  DeleteSized<kArray, Function::kDeleteArraySized>(p, n, kPlain);
}
ALLOMON_EXPORT void operator delete[](void* p, const std::nothrow_t&) noexcept {
  Delete<kArray, Function::kDeleteArrayNothrow>(p);
}
ALLOMON_EXPORT void operator delete[](void* p, std::align_val_t a) noexcept {
  Delete<kArray, Function::kDeleteArrayAligned>(p, a);
}
ALLOMON_EXPORT void operator delete[](void* p, size_t n, std::align_val_t a) noexcept {
  DeleteSized<kArray, Function::kDeleteArraySizedAligned>(p, n, a);
}
ALLOMON_EXPORT void operator delete[](void* p, std::align_val_t a, const std::nothrow_t&) noexcept {
  Delete<kArray, Function::kDeleteArrayAlignedNothrow>(p, a);
}
