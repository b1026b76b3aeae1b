// The next definition of a function, after ours, in the order of symbol look-up.
//
// It is to be looked up in a constructor.  A later look-up waits for the loader's lock.  A thread
// in dlopen() holds that while the constructors of what it loads run, and those may wait for the
// calling thread.  So there is no look-up in a local static, either: two threads would wait for its
// guard and for the loader in opposite order.
#ifndef ALLOMON_TRACKER_BASE_NEXT_SYMBOL_H_
#define ALLOMON_TRACKER_BASE_NEXT_SYMBOL_H_

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cstdint>

// Only a static program has this name of the C library's, and its loader finds no next function.
extern "C" int __pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)
    __attribute__((weak));
// A static program may lack it.
extern "C" void* dlsym(void* handle, const char* name) noexcept __attribute__((weak));

namespace allomon::internal {

// A global variable.  Any thread; a load after the first look-up.
template <typename Signature>
class NextSymbol {
 public:
  constexpr explicit NextSymbol(const char* name) : name_(name) {}
  NextSymbol(const NextSymbol&) = delete;
  NextSymbol& operator=(const NextSymbol&) = delete;

  // Returns nullptr if there is none.
  Signature* Find() {
    uintptr_t next = next_.load(std::memory_order_relaxed);
    if (__builtin_expect(next == kNotSought, 0)) next = FindSlow();
    return next == kAbsent ? nullptr : reinterpret_cast<Signature*>(next);
  }

  // The same, where it is known whether there is one.  A look-up in vain allocates the text of an
  // error, by a malloc that a host may not be ready to have called.
  void FindIf(bool exists) {
    if (exists) {
      Find();
    } else {
      next_.store(kAbsent, std::memory_order_relaxed);
    }
  }

 private:
  static constexpr uintptr_t kNotSought = 0;
  static constexpr uintptr_t kAbsent = 1;

  // dlsym() goes by the object that its caller is part of.
  __attribute__((noinline, cold)) uintptr_t FindSlow() {
    const bool is_static = dlsym == nullptr || __pthread_create != nullptr;
    const auto found = is_static ? kAbsent : reinterpret_cast<uintptr_t>(dlsym(RTLD_NEXT, name_));
    const uintptr_t next = found == 0 ? kAbsent : found;
    next_.store(next, std::memory_order_relaxed);
    return next;
  }

  const char* const name_;
  std::atomic<uintptr_t> next_{kNotSought};
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_BASE_NEXT_SYMBOL_H_
