#include "tracker/cpython/attach.h"

#include <link.h>
#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tracker/base/check.h"
#include "tracker/callstack/interpreters.h"
#include "tracker/callstack/readable_memory.h"
#include "tracker/cpython/code_names.h"
#include "tracker/cpython/frames.h"
#include "tracker/cpython/layout.h"

// Symbols that an interpreter exports, also when it is stripped; null if there is no interpreter.
// They are not arrays, because the compiler would assume that an array's address is not null.
extern "C" {
struct AllomonPythonData {
  char bytes[64];
};
extern const unsigned long Py_Version __attribute__((weak));    // NOLINT
extern AllomonPythonData _PyRuntime __attribute__((weak));      // NOLINT
extern AllomonPythonData PyCode_Type __attribute__((weak));     // NOLINT
extern AllomonPythonData PyUnicode_Type __attribute__((weak));  // NOLINT
extern AllomonPythonData PyBytes_Type __attribute__((weak));    // NOLINT
void* PyGILState_GetThisThreadState() __attribute__((weak));
void* _PyThreadState_UncheckedGet() __attribute__((weak));  // NOLINT: up to 3.12
void* PyThreadState_GetUnchecked() __attribute__((weak));   // from 3.13 on
}

namespace allomon::cpython {
namespace {

// ---- Whether a thread has the thread-local storage of a library that was loaded late.
//
// Such storage is allocated when a thread first reads it, by malloc, in __tls_get_addr.  A tick's
// handler may not go there: it may have interrupted malloc.  But a thread that never read the
// storage never wrote it either, so a handler need not ask.
//
// Where glibc notes the storage of a thread is part of the ABI of x86-64 (the TLS ABI's dtv), but
// for its generation and length; what is read here is compared with the dynamic linker's answers.

struct ThreadStorage {
  size_t module;      // the dynamic linker's number of the library; 0: each thread has the storage
  size_t generation;  // the threads that know of the library have come as far as this
};

// An entry of glibc's table of a thread's storage, by module.  Entry 0 has the generation that the
// table is of, the one before it the number of the last entry.
struct Entry {
  uintptr_t value;  // a count, or the storage's address
  void* to_free;    // null for storage that lies beside the thread's stack
};

constexpr uintptr_t kUnallocated = ~uintptr_t{0};

const Entry* OwnTable() {
#if defined(__x86_64__)
  const Entry* table;
  asm volatile("movq %%fs:8, %0" : "=r"(table));
  return table;
#else
  return nullptr;
#endif
}

const Entry* FindEntry(const Entry* table, size_t module) {
  if (module > table[-1].value || table[module].value == kUnallocated) return nullptr;
  return &table[module];
}

struct Search {
  uintptr_t symbol;
  const Entry* table;
  size_t module;
  int equal;
  int different;
};

bool Contains(const dl_phdr_info& info, uintptr_t address) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    if (header.p_type != PT_LOAD) continue;
    if (address - (info.dlpi_addr + header.p_vaddr) < header.p_memsz) return true;
  }
  return false;
}

int Look(dl_phdr_info* info, size_t, void* data) {
  Search& search = *static_cast<Search*>(data);
  if (Contains(*info, search.symbol)) search.module = info->dlpi_tls_modid;
  if (info->dlpi_tls_modid == 0 || info->dlpi_tls_data == nullptr) return 0;
  const Entry* const entry = FindEntry(search.table, info->dlpi_tls_modid);
  const auto theirs = reinterpret_cast<uintptr_t>(info->dlpi_tls_data);
  ++(entry != nullptr && entry->value == theirs ? search.equal : search.different);
  return 0;
}

// Called once, by a thread that may allocate.  `symbol` lies in the library, and `read` reads its
// thread-local variables.  False if the C library is not known to be laid out as here.
bool FindThreadStorage(const void* symbol, void* (*read)(), ThreadStorage* storage) {
  read();
  Search search = {reinterpret_cast<uintptr_t>(symbol), OwnTable(), 0, 0, 0};
  if (search.table == nullptr) return false;
  dl_iterate_phdr(Look, &search);
  if (search.equal == 0 || search.different != 0) return false;
  *storage = {0, search.table[0].value};
  if (search.module == 0) return true;
  // The storage was read just now: without an entry it is at a fixed distance from the thread's
  // pointer.
  const Entry* const entry = FindEntry(search.table, search.module);
  if (entry != nullptr && entry->to_free != nullptr) storage->module = search.module;
  return true;
}

// Whether the calling thread has the library's variables, so that reading them allocates none.  The
// dynamic linker may free other libraries' all the same (README.md, "Weak").  Callable anywhere.
bool HasThreadStorage(const ThreadStorage& storage) {
  if (storage.module == 0) return true;
  const Entry* const table = OwnTable();
  // An entry of an earlier generation may be that of a library which had the number before.
  return table[0].value >= storage.generation && FindEntry(table, storage.module) != nullptr;
}

using ThreadState = void* (*)();

// nullptr if this version does not have it.
struct Exports {
  const unsigned long* version;  // NOLINT: Python's type
  const char* runtime;
  char* code_type;
  const char* str_type;
  const char* bytes_type;
  ThreadState own_thread;
  ThreadState running_thread;
};

// Set before any stack is walked for Python frames.
Exports g_exports;
RunningPython g_python;
ThreadStorage g_storage;

uintptr_t AddressOf(const void* data) { return reinterpret_cast<uintptr_t>(data); }

Exports Linked() {
  const bool is_later = PyThreadState_GetUnchecked != nullptr;
  return {&Py_Version,
          reinterpret_cast<char*>(&_PyRuntime),
          reinterpret_cast<char*>(&PyCode_Type),
          reinterpret_cast<char*>(&PyUnicode_Type),
          reinterpret_cast<char*>(&PyBytes_Type),
          PyGILState_GetThisThreadState,
          is_later ? PyThreadState_GetUnchecked : _PyThreadState_UncheckedGet};
}

Exports Loaded(void* library, FindSymbol find) {
  const auto data = [&](const char* name) { return static_cast<char*>(find(library, name)); };
  const auto function = [&](const char* name) {
    return reinterpret_cast<ThreadState>(find(library, name));
  };
  const ThreadState later = function("PyThreadState_GetUnchecked");
  return {static_cast<const unsigned long*>(find(library, "Py_Version")),  // NOLINT
          data("_PyRuntime"),
          data("PyCode_Type"),
          data("PyUnicode_Type"),
          data("PyBytes_Type"),
          function("PyGILState_GetThisThreadState"),
          later != nullptr ? later : function("_PyThreadState_UncheckedGet")};
}

// Returns the calling thread's state, which each thread knows from 3.12 on.
uintptr_t OwnThread(const RunningPython&) { return AddressOf(g_exports.running_thread()); }

// The same for an interpreter that was loaded late: a thread without its storage has no state.
uintptr_t OwnThreadIfStored(const RunningPython& python) {
  return HasThreadStorage(g_storage) ? OwnThread(python) : 0;
}

// Before 3.12 the process has one current thread state: that of the thread which holds the lock.
// It is the calling thread's if it is also the state that this thread stores for itself.  A thread
// that runs another interpreter has a second state, which names its thread; but the state of
// another thread may have been freed by now.
uintptr_t ThreadThatHoldsTheLock(const RunningPython& python) {
  const uintptr_t own = AddressOf(g_exports.own_thread());
  if (own == 0) return 0;
  const uintptr_t current = AddressOf(g_exports.running_thread());
  if (current == own || current == 0) return current;
  internal::ReadableMemory memory = {};
  unsigned long thread;  // NOLINT
  const bool is_read = memory.Load(current + python.layout.thread_id, &thread);
  return is_read && thread == pthread_self() ? current : 0;
}

// Code is forgotten by the function that frees it, to which the code type points.
using Dealloc = void (*)(void* object);
std::atomic<Dealloc> g_dealloc{nullptr};

void ForgetAndDealloc(void* code) {
  internal::ForgetCode(AddressOf(code));
  const Dealloc theirs = g_dealloc.load(std::memory_order_acquire);
  ALLOMON_DCHECK("inv.cpython.dealloc", theirs != nullptr && theirs != ForgetAndDealloc);
  theirs(code);
}

// Called at the first sample with Python frames, so that an unsampled program is not changed.
void WatchCode() {
  if (__builtin_expect(g_dealloc.load(std::memory_order_relaxed) != nullptr, true)) return;
  auto* const dealloc = reinterpret_cast<std::atomic<Dealloc>*>(g_exports.code_type + kTypeDealloc);
  const Dealloc theirs = dealloc->load(std::memory_order_acquire);
  Dealloc none = nullptr;
  if (theirs == ForgetAndDealloc || !g_dealloc.compare_exchange_strong(none, theirs)) return;
  dealloc->store(ForgetAndDealloc, std::memory_order_release);
}

bool HasTypes(const Exports& exports) {
  return exports.code_type != nullptr && exports.str_type != nullptr &&
         exports.bytes_type != nullptr;
}

bool IsEarlier(const Exports& exports) { return HasTypes(exports) && exports.version == nullptr; }

bool IsKnown(const Exports& exports) {
  return HasTypes(exports) && exports.version != nullptr && exports.runtime != nullptr &&
         exports.own_thread != nullptr && exports.running_thread != nullptr;
}

using CurrentThread = uintptr_t (*)(const RunningPython& python);

// Null if a thread cannot be asked in a signal handler.
CurrentThread FindCurrentThread(const Exports& exports, uint32_t version, bool is_loaded_late) {
  if (version < 0x030c0000) return ThreadThatHoldsTheLock;
  if (!is_loaded_late) return OwnThread;
  const bool is_known = FindThreadStorage(exports.runtime, exports.running_thread, &g_storage);
  return is_known ? OwnThreadIfStored : nullptr;
}

const char* Attach(const Exports& exports, bool is_loaded_late) {
  Layout layout;
  if (IsEarlier(exports)) return FindLayout({}, &layout);
  if (!IsKnown(exports)) return nullptr;
  const auto version = static_cast<uint32_t>(*exports.version);
  const char* const why_not = FindLayout(
      {version, exports.runtime, exports.code_type, exports.str_type, exports.bytes_type}, &layout);
  if (why_not != nullptr) return why_not;
  const CurrentThread current_thread = FindCurrentThread(exports, version, is_loaded_late);
  if (current_thread == nullptr) return "the C library keeps thread-local storage in another way";
  ALLOMON_DCHECK_EQ("inv.cpython.once", g_python.current_thread, nullptr);
  g_exports = exports;
  g_python.layout = layout;
  g_python.code_type = AddressOf(exports.code_type);
  g_python.str_type = AddressOf(exports.str_type);
  g_python.bytes_type = AddressOf(exports.bytes_type);
  g_python.current_thread = current_thread;
  g_python.watch_code = WatchCode;
  const bool has_room = internal::RegisterInterpreter(
      {sizeof(internal::Interpreter), &g_python, BeginWalk, NextFrame, DescribeCode, nullptr});
  return has_room ? nullptr : "four other interpreters are registered already";
}

}  // namespace

bool IsPythonLinked() { return HasTypes(Linked()); }
bool IsEarlierPython() { return IsEarlier(Linked()); }
const char* AttachPython() { return Attach(Linked(), false); }

const char* AttachLoadedPython(void* library, FindSymbol find) {
  return Attach(Loaded(library, find), true);
}

}  // namespace allomon::cpython
