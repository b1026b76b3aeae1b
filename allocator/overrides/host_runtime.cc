// The functions of the C++ runtime with which the preloaded library throws, catches and unwinds.
// They call the host's functions, which are looked up at the first call.
//
// To load libstdc++ and libgcc_s into a program that has no use for them takes as long as that
// program's whole start.  So liballomon.so contains the rest of libstdc++, from the static library.
// Exceptions, however, belong to the process: two copies of the runtime in one stack would disagree
// about the count of exceptions in flight, the new-handler, the terminate-handler and the layout of
// an unwinder's context.  The functions below replace those of the static library and call the copy
// that the host uses.  That is the copy that any library of the host would be bound to.  If there
// is none (a C program whose plugins are C++), it is the system's copy, which the plugin that
// throws has loaded already.
//
// Of libstdc++ and libc++, host and library need not use the same: both have these functions, and
// libc++abi's type_info has the layout of libstdc++'s.
//
// Thread safe.  The first use of each function costs a look-up by the loader.
//
// Interface: Itanium C++ ABI, "Exception Handling", levels 1 and 2.
#include <dlfcn.h>
#include <sys/random.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <new>
#include <typeinfo>

#include "allocator/host/next_function.h"
#include "allocator/host/throw_bad_alloc.h"

namespace allomon::internal {
namespace {

// Each of these contains or needs an unwinder, so a look-up in them finds the unwinder, too.
constexpr const char* kRuntimes[] = {"libstdc++.so.6", "libc++.so.1"};
constexpr const char* kCxx = kRuntimes[0];
constexpr char kUnwinder[] = "libgcc_s.so.1";

void* FindIn(const char* library, int flags, const char* name) {
  void* const handle = dlopen(library, RTLD_LAZY | flags);
  return handle == nullptr ? nullptr : dlsym(handle, name);
}

// A plugin may have loaded a runtime.
void* FindInLoadedRuntime(const char* name) {
  for (const char* runtime : kRuntimes) {
    if (void* found = FindIn(runtime, RTLD_NOLOAD, name)) return found;
  }
  return nullptr;
}

void* FindInHost(const char* name, const char* library) {
  if (void* found = dlsym(RTLD_DEFAULT, name)) return found;
  if (void* found = FindInLoadedRuntime(name)) return found;
  void* const found = FindIn(library, 0, name);
  // As without exceptions: a throw in a process without a runtime ends the process.
  if (found == nullptr) abort();
  return found;
}

// A host's function, looked up at its first call.
template <typename Function>
class HostFunction {
 public:
  constexpr HostFunction(const char* name, const char* library) : name_(name), library_(library) {}
  Function* Get() {
    void* found = found_.load(std::memory_order_relaxed);
    if (found == nullptr) {
      found = FindInHost(name_, library_);
      found_.store(found, std::memory_order_relaxed);
    }
    return reinterpret_cast<Function*>(found);
  }

 private:
  const char* const name_;
  const char* const library_;
  std::atomic<void*> found_{nullptr};
};

}  // namespace

void ThrowBadAllocSlow() {
  static HostFunction<void()> host("_ZSt17__throw_bad_allocv", kCxx);
  host.Get()();
  __builtin_unreachable();
}

}  // namespace allomon::internal

using allomon::internal::HostFunction;
using allomon::internal::kCxx;
using allomon::internal::kUnwinder;

// `call` is the name of the function in the host.
#define ALLOMON_OF_HOST(library, symbol, type, call) \
  static HostFunction<type> host(symbol, library);   \
  return host.Get() call

#define ALLOMON_OF_HOST_NORETURN(library, symbol, type, call) \
  static HostFunction<type> host(symbol, library);            \
  host.Get() call;                                            \
  __builtin_unreachable()

extern "C" {

void* __cxa_allocate_exception(size_t size_bytes) noexcept {
  ALLOMON_OF_HOST(kCxx, "__cxa_allocate_exception", void*(size_t), (size_bytes));
}
void __cxa_free_exception(void* thrown) noexcept {
  ALLOMON_OF_HOST(kCxx, "__cxa_free_exception", void(void*), (thrown));
}
void __cxa_throw(void* thrown, std::type_info* type, void (*destroy)(void*)) {
  ALLOMON_OF_HOST_NORETURN(kCxx, "__cxa_throw", void(void*, std::type_info*, void (*)(void*)),
                           (thrown, type, destroy));
}
void __cxa_rethrow() { ALLOMON_OF_HOST_NORETURN(kCxx, "__cxa_rethrow", void(), ()); }
void* __cxa_begin_catch(void* exception) noexcept {
  ALLOMON_OF_HOST(kCxx, "__cxa_begin_catch", void*(void*), (exception));
}
void __cxa_end_catch() { ALLOMON_OF_HOST(kCxx, "__cxa_end_catch", void(), ()); }

// g++ 14 calls it if an exception would leave a noexcept function.
void __cxa_call_terminate(void* exception) noexcept {
  if (exception != nullptr) __cxa_begin_catch(exception);
  std::terminate();
}

// <unwind.h> is not included: its declarations would make the names visible to the host.
int __gxx_personality_v0(int version, int actions, uint64_t exception_class, void* exception,
                         void* context) {
  ALLOMON_OF_HOST(kCxx, "__gxx_personality_v0", int(int, int, uint64_t, void*, void*),
                  (version, actions, exception_class, exception, context));
}
__attribute__((visibility("hidden"))) void _Unwind_Resume(void* exception) {
  ALLOMON_OF_HOST_NORETURN(kUnwinder, "_Unwind_Resume", void(void*), (exception));
}

// Referenced by vtables of libstdc++, but never called: a class that has it has no objects.
__attribute__((visibility("hidden"))) void __cxa_pure_virtual() { abort(); }

// glibc has it since 2.36.  std::random_device of the static libstdc++ references it: our code
// never calls that, but it is linked together with std::string.  Like glibc's, it ends a process
// that cannot get random numbers.
__attribute__((visibility("hidden"))) uint32_t arc4random() noexcept {
  uint32_t bits = 0;
  if (getrandom(&bits, sizeof(bits), 0) != ssize_t{sizeof(bits)}) abort();
  return bits;
}

}  // extern "C"

namespace std {

void terminate() noexcept { ALLOMON_OF_HOST_NORETURN(kCxx, "_ZSt9terminatev", void(), ()); }
new_handler get_new_handler() noexcept {
  ALLOMON_OF_HOST(kCxx, "_ZSt15get_new_handlerv", new_handler(), ());
}

#ifdef __GLIBCXX__
// An empty tag.  The file of the static library that defines it also contains a new-handler.
const nothrow_t nothrow{};
#endif

// An exception_ptr holds only exceptions of a user's callbacks, and a preloaded library has no
// callbacks.
exception_ptr current_exception() noexcept { return nullptr; }
#ifdef __GLIBCXX__
namespace __exception_ptr {
void exception_ptr::_M_addref() noexcept {}
void exception_ptr::_M_release() noexcept {}
}  // namespace __exception_ptr
#else
exception_ptr::exception_ptr(const exception_ptr&) noexcept : exception_ptr() {}
exception_ptr& exception_ptr::operator=(const exception_ptr&) noexcept { return *this; }
exception_ptr::~exception_ptr() noexcept {}
// std::future references it, and is linked together with std::mutex.
void rethrow_exception(exception_ptr) { abort(); }
#endif

}  // namespace std
