// Replaces the throwing forms of operator new, and calls new-handlers.  The noexcept forms are in
// noexcept_override.cc.
#include <new>

#include "allocator/alloc_path.h"
#include "allocator/host/malloc_owner.h"
#include "allocator/host/next_function.h"
#include "allocator/host/throw_bad_alloc.h"
#include "allocator/host/writing_reserve.h"
#include "allocator/overrides/hot_cold.h"
#include "allocator/overrides/nothrow_retry.h"

#define ALLOMON_EXPORT ALLOMON_MALLOC_SECTION __attribute__((visibility("default"), used))

namespace {

using allomon::internal::AllocateAlignedFast;
using allomon::internal::AllocateFast;
using allomon::internal::AllocateForWriter;
using allomon::internal::EntryPoint;
using allomon::internal::Function;
using allomon::internal::IsSlowForOperators;
using allomon::internal::OperatorsAreOurs;
using allomon::internal::PassOn;
using allomon::internal::ThrowBadAllocSlow;

// The writer of a profile gets a block of its reserve.  Others retry while a new-handler is
// installed, as [new.delete.single] requires.  nullptr when there is no handler.
template <typename Allocate>
ALLOMON_MALLOC_SLOW void* RetrySlow(Allocate allocate, size_t size_bytes, size_t alignment_bytes) {
  if (void* block = AllocateForWriter(size_bytes, alignment_bytes)) return block;
  while (std::new_handler handler = std::get_new_handler()) {
    handler();
    if (void* block = allocate()) return block;
  }
  return nullptr;
}

template <typename Allocate>
__attribute__((always_inline)) inline void* NewOrThrow(Allocate allocate, size_t size_bytes,
                                                       size_t alignment_bytes = 8) {
  void* block = allocate();
  if (__builtin_expect(block == nullptr, 0)) {
    block = RetrySlow(allocate, size_bytes, alignment_bytes);
  }
  if (__builtin_expect(block == nullptr, 0)) ThrowBadAllocSlow();
  return block;
}

// The lambdas are inlined by force, since they cannot be put into ALLOMON_MALLOC_SECTION: a debug
// build would show them in call stacks as the callers of malloc.
template <EntryPoint entry>
inline auto Plain(size_t size_bytes) {
  return [size_bytes]() __attribute__((always_inline)) { return AllocateFast(size_bytes, entry); };
}

template <EntryPoint entry>
inline auto Aligned(size_t size_bytes, std::align_val_t alignment) {
  return [ size_bytes, alignment ]() __attribute__((always_inline)) {
    return AllocateAlignedFast(static_cast<size_t>(alignment), size_bytes, entry);
  };
}

// Called for a large size, or if the host has operators of its own: its operator new[] calls its
// operator new, as the standard requires.
ALLOMON_MALLOC_SLOW void* NewArraySlow(size_t n) {
  if (!OperatorsAreOurs()) return PassOn(Function::kNewArray, n);
  return NewOrThrow(Plain<EntryPoint::kNewArray>(n), n);
}

// Not a template: g++ puts templates into a section of their own.
ALLOMON_MALLOC_SLOW void* NewAlignedSlow(size_t n, std::align_val_t a, Function function) {
  if (!OperatorsAreOurs()) return PassOn(function, n, static_cast<size_t>(a));
  return function == Function::kNewAligned
             ? NewOrThrow(Aligned<EntryPoint::kNew>(n, a), n, static_cast<size_t>(a))
             : NewOrThrow(Aligned<EntryPoint::kNewArray>(n, a), n, static_cast<size_t>(a));
}

}  // namespace

// A host that has another operator new calls its own one.
ALLOMON_EXPORT void* operator new(size_t n) { return NewOrThrow(Plain<EntryPoint::kNew>(n), n); }
ALLOMON_EXPORT void* operator new[](size_t n) {
  if (IsSlowForOperators(n)) return NewArraySlow(n);
  return NewOrThrow(Plain<EntryPoint::kNewArray>(n), n);
}
ALLOMON_EXPORT void* operator new(size_t n, std::align_val_t a) {
  if (IsSlowForOperators(n)) return NewAlignedSlow(n, a, Function::kNewAligned);
  return NewOrThrow(Aligned<EntryPoint::kNew>(n, a), n, static_cast<size_t>(a));
}
ALLOMON_EXPORT void* operator new[](size_t n, std::align_val_t a) {
  if (IsSlowForOperators(n)) return NewAlignedSlow(n, a, Function::kNewArrayAligned);
  return NewOrThrow(Aligned<EntryPoint::kNewArray>(n, a), n, static_cast<size_t>(a));
}

// Blocks of all hints are equal (README.md, "Hints").  The plain form alone has no slow path that
// looks whose operators these are.
ALLOMON_EXPORT void* operator new(size_t n, __hot_cold_t) {
  if (IsSlowForOperators(n) && !OperatorsAreOurs()) return PassOn(Function::kNew, n);
  return operator new(n);
}
ALLOMON_EXPORT void* operator new[](size_t n, __hot_cold_t) { return operator new[](n); }
ALLOMON_EXPORT void* operator new(size_t n, std::align_val_t a, __hot_cold_t) {
  return operator new(n, a);
}
ALLOMON_EXPORT void* operator new[](size_t n, std::align_val_t a, __hot_cold_t) {
  return operator new[](n, a);
}

namespace allomon::internal {

// Weak, because host_runtime.cc has another definition for the preloaded library.
__attribute__((weak)) void ThrowBadAllocSlow() { throw std::bad_alloc(); }

// A handler may throw bad_alloc, which a nothrow form turns into nullptr.
void* RetryNothrowSlow(size_t size_bytes, EntryPoint entry) noexcept {
  if (IsWriter()) return nullptr;
  try {
    return entry == EntryPoint::kNew
               ? RetrySlow(Plain<EntryPoint::kNew>(size_bytes), size_bytes, 8)
               : RetrySlow(Plain<EntryPoint::kNewArray>(size_bytes), size_bytes, 8);
  } catch (ALLOMON_BAD_ALLOC) {
    return nullptr;
  }
}

void* RetryNothrowAlignedSlow(size_t alignment_bytes, size_t size_bytes,
                              EntryPoint entry) noexcept {
  if (IsWriter()) return nullptr;
  const std::align_val_t alignment{alignment_bytes};
  try {
    return entry == EntryPoint::kNew
               ? RetrySlow(Aligned<EntryPoint::kNew>(size_bytes, alignment), size_bytes,
                           alignment_bytes)
               : RetrySlow(Aligned<EntryPoint::kNewArray>(size_bytes, alignment), size_bytes,
                           alignment_bytes);
  } catch (ALLOMON_BAD_ALLOC) {
    return nullptr;
  }
}

}  // namespace allomon::internal
