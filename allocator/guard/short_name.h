// Derives C++ names without parameters from their mangled form, for code that must not call
// __cxa_demangle(), which allocates.
//
// The reader knows the parts of most functions' names: namespaces and classes (with template
// arguments, which are left out), constructors, destructors and common operators.  The grammar is
// that of the Itanium C++ ABI, section 5.1.  The reader does not know lambdas and local classes.
#ifndef ALLOMON_ALLOCATOR_GUARD_SHORT_NAME_H_
#define ALLOMON_ALLOCATOR_GUARD_SHORT_NAME_H_

#include <cstddef>
#include <string_view>

namespace allomon::internal {

// Writes at most `room` bytes of the short name, and returns their number.  Suffixes of clones
// (`.constprop.0`) and hashes of Rust are left out.  A name that is not
// mangled or not understood is copied unchanged, so that c++filt can read it.  Async-signal-safe.
size_t ShortName(std::string_view symbol, char* out, size_t room);

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_GUARD_SHORT_NAME_H_
