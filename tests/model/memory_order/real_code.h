// Included before the sources under test: they compile with the checker's atomics.  What the
// standard library has of std::atomic is included first, and keeps its own.
#ifndef ALLOMON_TESTS_MODEL_MEMORY_ORDER_REAL_CODE_H_
#define ALLOMON_TESTS_MODEL_MEMORY_ORDER_REAL_CODE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/model/memory_order/checker.h"

// clang-format off
namespace std {  // NOLINT: the sources say std::
template <typename T>
using model_atomic = allomon::model::Atomic<T>;
void model_thread_fence(memory_order order, ALLOMON_MODEL_HERE) {
  allomon::model::Fence(order, {file, function, line});
}
}  // namespace std
// clang-format on

namespace allomon::model {

template <typename T>
T BuiltinLoad(const T* at, int order, const Where& where) {
  return FromWord<T>(Load(at, sizeof(T), static_cast<std::memory_order>(order), where));
}
template <typename T, typename Value>
void BuiltinStore(T* at, Value value, int order, const Where& where) {
  Store(at, sizeof(T), ToWord(static_cast<T>(value)), static_cast<std::memory_order>(order), where);
}
template <typename T, typename Value>
T BuiltinAdd(T* at, Value value, int order, const Where& where) {
  return FromWord<T>(Update(at, sizeof(T), Operation::kAdd, ToWord(static_cast<T>(value)),
                            static_cast<std::memory_order>(order), where));
}

template <typename T, typename Value>
T BuiltinOr(T* at, Value value, int order, const Where& where) {
  return FromWord<T>(Update(at, sizeof(T), Operation::kOr, ToWord(static_cast<T>(value)),
                            static_cast<std::memory_order>(order), where));
}

}  // namespace allomon::model

// SameFrames() then compares words by atomic loads.
#ifndef __SANITIZE_THREAD__
#define __SANITIZE_THREAD__ 1
#endif

#define ALLOMON_MODEL_WHERE \
  ::allomon::model::Where { __FILE__, __func__, __LINE__ }

#define atomic model_atomic
#define memcpy(to, from, size_bytes) ::allomon::model::Copy(to, from, size_bytes)
#define atomic_thread_fence model_thread_fence
#define __atomic_load_n(at, order) ::allomon::model::BuiltinLoad(at, order, ALLOMON_MODEL_WHERE)
#define __atomic_store_n(at, value, order) \
  ::allomon::model::BuiltinStore(at, value, order, ALLOMON_MODEL_WHERE)
#define __atomic_store(at, value, order) \
  ::allomon::model::BuiltinStore(at, *(value), order, ALLOMON_MODEL_WHERE)
#define __atomic_fetch_add(at, value, order) \
  ::allomon::model::BuiltinAdd(at, value, order, ALLOMON_MODEL_WHERE)
#define __atomic_fetch_or(at, value, order) \
  ::allomon::model::BuiltinOr(at, value, order, ALLOMON_MODEL_WHERE)

// Threads wait for each other in the checker, and have numbers of their own there.
#define ALLOMON_TRACKER_BASE_WAITING_H_
#define pthread_self() static_cast<pthread_t>(::allomon::model::ThisThread() + 3)
namespace allomon::internal {
inline void PauseBetweenLooks(uint32_t) { model::Pause(); }
}  // namespace allomon::internal

// Own memory is a part of the code under test; its pages are the checker's.
#include "tracker/base/own_memory.cc"

namespace allomon::internal {

void* MapLazyPages(void*, size_t size_bytes, int, int) { return model::Map(size_bytes); }
void ForgetLazyPages(const void*, size_t) {}
void NoteMapping(const void*, size_t, MappingUse) {}
void ForgetMapping(const void*) {}

// Every run begins with the whole budget.
inline void BeginOwnMemory() {
  OwnMemory::SetBudgetBytes(OwnMemory::mapped_bytes() + (size_t{32} << 20));
}

}  // namespace allomon::internal

#endif  // ALLOMON_TESTS_MODEL_MEMORY_ORDER_REAL_CODE_H_
