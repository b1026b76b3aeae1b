// A thread that ends itself (pthread_exit, pthread_cancel) unwinds its stack.  Handlers that catch
// everything catch that, too, and have to pass it on.
//
//   } catch (ForcedUnwind&) {
//     throw;
//   } catch (...) {
//     PassForcedUnwindOn();
//
// libstdc++ has a type for it and continues the unwinding at `throw;`.  libc++ has neither: its
// `throw;` ends the process.  There the unwinder itself is told to go on.  That is possible if no
// other handler of the thread is active, since libc++abi allows one foreign exception at a time.
//
// Header only: a preloaded library, which has no callbacks, must not refer to the runtime's state.
#ifndef ALLOMON_TRACKER_CORE_FORCED_UNWIND_H_
#define ALLOMON_TRACKER_CORE_FORCED_UNWIND_H_

#include <cxxabi.h>

#include <cstddef>
#include <exception>

#ifdef _LIBCPP_VERSION
#include <unwind.h>

// The first member of __cxa_eh_globals (Itanium C++ ABI, "Exception Handling", 2.2.2).  The object
// after the header of the handled exception is the thrown object in the ABI's terms.
extern "C" void** allomon_caught_exceptions() noexcept __asm__("__cxa_get_globals");
#endif

namespace allomon::internal {

#ifdef _LIBCPP_VERSION

struct ForcedUnwind {};  // nobody throws it

inline void PassForcedUnwindOn() {
  if (abi::__cxa_current_exception_type() != nullptr) return;  // an exception of C++
  // The size of libc++abi's exception header on every 64-bit processor; the unwinder's header is
  // its end.
  constexpr size_t kHeaderBytes = 128;
  void*& caught = *allomon_caught_exceptions();
  auto* end = reinterpret_cast<_Unwind_Exception*>(static_cast<char*>(caught) + kHeaderBytes);
  const bool is_forced = end[-1].private_1 != 0;  // where the unwinding is to stop
  if (!is_forced) return;
  caught = nullptr;  // otherwise the end of the handler would delete it
  _Unwind_Resume_or_Rethrow(end - 1);
}

#else

using ForcedUnwind = abi::__forced_unwind;
inline void PassForcedUnwindOn() {}

#endif

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_FORCED_UNWIND_H_
