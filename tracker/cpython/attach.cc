#include "tracker/cpython/attach.h"

#include <pthread.h>

#include <atomic>

#include "tracker/callstack/interpreters.h"
#include "tracker/callstack/readable_memory.h"
#include "tracker/cpython/code_names.h"
#include "tracker/cpython/frames.h"
#include "tracker/cpython/layout.h"

// What an interpreter exports, also when it is stripped; at address 0 where there is none.  The
// compiler would take an array for one that is there.
extern "C" {
struct AllomonPythonData {
  char bytes[64];
};
extern const unsigned long Py_Version __attribute__((weak));    // NOLINT
extern AllomonPythonData _PyRuntime __attribute__((weak));      // NOLINT
extern AllomonPythonData PyCode_Type __attribute__((weak));     // NOLINT
extern AllomonPythonData PyUnicode_Type __attribute__((weak));  // NOLINT
extern AllomonPythonData PyBytes_Type __attribute__((weak));    // NOLINT
struct AllomonPythonAllocator {
  void* words[5];  // what its functions are given first, malloc, calloc, realloc, free
};
void PyMem_GetAllocator(int domain, AllomonPythonAllocator* allocator) __attribute__((weak));
void PyMem_SetAllocator(int domain, AllomonPythonAllocator* allocator) __attribute__((weak));
void* PyGILState_GetThisThreadState() __attribute__((weak));
void* _PyThreadState_UncheckedGet() __attribute__((weak));  // NOLINT: up to 3.12
void* PyThreadState_GetUnchecked() __attribute__((weak));   // from 3.13 on
}

namespace allomon::cpython {
namespace {

RunningPython g_python;

uintptr_t AddressOf(const void* data) { return reinterpret_cast<uintptr_t>(data); }

// From 3.12 on each thread knows its own.
uintptr_t OwnThread(const RunningPython&) {
  const bool is_later = PyThreadState_GetUnchecked != nullptr;
  return AddressOf(is_later ? PyThreadState_GetUnchecked() : _PyThreadState_UncheckedGet());
}

// Before 3.12 there is one for the process: of the thread that holds the lock.  It is the calling
// one's if it is the state that the thread keeps for itself.  A thread that runs another
// interpreter has a second one, which says whose it is; but a stranger's may be gone by now.
uintptr_t ThreadThatHoldsTheLock(const RunningPython& python) {
  const uintptr_t own = AddressOf(PyGILState_GetThisThreadState());
  if (own == 0) return 0;
  const uintptr_t current = AddressOf(_PyThreadState_UncheckedGet());
  if (current == own || current == 0) return current;
  internal::ReadableMemory memory = {};
  unsigned long thread;  // NOLINT
  const bool is_read = memory.Load(current + python.layout.thread_id, &thread);
  return is_read && thread == pthread_self() ? current : 0;
}

// Code that goes away is forgotten by the function that frees it, which its type names.
using Dealloc = void (*)(void* object);
std::atomic<Dealloc> g_dealloc{nullptr};

void ForgetAndDealloc(void* code) {
  internal::ForgetCode(AddressOf(code));
  g_dealloc.load(std::memory_order_acquire)(code);
}

// At the first sample with Python frames: a program that is not sampled is left as it is.
void WatchCode() {
  if (__builtin_expect(g_dealloc.load(std::memory_order_relaxed) != nullptr, true)) return;
  auto* const dealloc = reinterpret_cast<std::atomic<Dealloc>*>(PyCode_Type.bytes + kTypeDealloc);
  const Dealloc theirs = dealloc->load(std::memory_order_acquire);
  Dealloc none = nullptr;
  if (theirs == ForgetAndDealloc || !g_dealloc.compare_exchange_strong(none, theirs)) return;
  dealloc->store(ForgetAndDealloc, std::memory_order_release);
}

bool IsThere() {
  return &Py_Version != nullptr && &_PyRuntime != nullptr && &PyCode_Type != nullptr &&
         &PyUnicode_Type != nullptr && &PyBytes_Type != nullptr &&
         PyGILState_GetThisThreadState != nullptr &&
         (_PyThreadState_UncheckedGet != nullptr || PyThreadState_GetUnchecked != nullptr);
}

}  // namespace

const char* AttachPython() {
  if (!IsThere()) return nullptr;
  const auto version = static_cast<uint32_t>(Py_Version);
  const char* const why_not = FindLayout(
      {version, _PyRuntime.bytes, PyCode_Type.bytes, PyUnicode_Type.bytes, PyBytes_Type.bytes},
      &g_python.layout);
  if (why_not != nullptr) return why_not;
  g_python.code_type = AddressOf(&PyCode_Type);
  g_python.str_type = AddressOf(&PyUnicode_Type);
  g_python.bytes_type = AddressOf(&PyBytes_Type);
  g_python.current_thread = version < 0x030c0000 ? ThreadThatHoldsTheLock : OwnThread;
  g_python.watch_code = WatchCode;
  const bool has_room = internal::RegisterInterpreter(
      {sizeof(internal::Interpreter), &g_python, BeginWalk, NextFrame, DescribeCode});
  return has_room ? nullptr : "four other interpreters are registered already";
}

// The first domain is malloc's; the two others, of buffers and of objects, have arenas.
void TakeObjectsFromMalloc() {
  if (g_python.current_thread == nullptr || PyMem_GetAllocator == nullptr ||
      PyMem_SetAllocator == nullptr) {
    return;
  }
  AllomonPythonAllocator raw;
  PyMem_GetAllocator(0, &raw);
  PyMem_SetAllocator(1, &raw);
  PyMem_SetAllocator(2, &raw);
}

}  // namespace allomon::cpython
