// C++ names without their parameters, from their mangled form, where __cxa_demangle may not be
// called because it allocates.
//
// Reads what most functions' names are made of: namespaces and classes (with template
// arguments, which are left out), constructors, destructors and common operators, by the
// grammar of the Itanium C++ ABI, section 5.1.  Lambdas and local classes it leaves alone.
#ifndef ALLOMON_ALLOCATOR_GUARD_SHORT_NAME_H_
#define ALLOMON_ALLOCATOR_GUARD_SHORT_NAME_H_

#include <cstddef>
#include <string_view>

namespace allomon::internal {

// Writes at most `room` bytes of the short name, and returns their number.  A name that is
// not understood, or not mangled, is copied as it is, so that c++filt can read it.
// Async-signal-safe.
size_t ShortName(std::string_view symbol, char* out, size_t room);

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_GUARD_SHORT_NAME_H_
