// The module and the function of an address, for code that cannot allocate, take locks or call the
// dynamic loader.  They are read from /proc/thread-self/maps and from the ELF file, by direct
// system calls only.
//
// (tracker/symbols/symbols.h finds more, but calls malloc.)
#ifndef ALLOMON_ALLOCATOR_GUARD_CODE_PLACE_H_
#define ALLOMON_ALLOCATOR_GUARD_CODE_PLACE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace allomon::internal {

struct CodePlace {
  // The mapped file's path, "[vdso]" or "[anon]"; truncated if longer; "" if not found.
  char module[512];
  // The address that `objdump -d` and `addr2line -e` use; if the file cannot be read, the offset in
  // the file.
  uint64_t offset;
  // The function's symbol, mangled, or "".
  char symbol[512];
};

// Fills in the fields that can be found for the code at `pc` (for a return address, pass one less).
// Async-signal-safe; one caller at a time, since it uses static buffers.  Cost: reads the maps and
// the file's symbols, in about a millisecond, for a very large program some tens.
void FindCodePlace(uintptr_t pc, CodePlace* place);

// ---- Derives C++ names without parameters from their mangled form, for code that must not call
// __cxa_demangle(), which allocates.
//
// The reader knows the parts of most functions' names: namespaces and classes (with template
// arguments, which are left out), constructors, destructors and common operators.  The grammar is
// that of the Itanium C++ ABI, section 5.1.  The reader does not know lambdas and local classes.

// Writes at most `room` bytes of the short name, and returns their number.  Suffixes of clones
// (`.constprop.0`) and hashes of Rust are left out.  A name that is not
// mangled or not understood is copied unchanged, so that c++filt can read it.  Async-signal-safe.
size_t ShortName(std::string_view symbol, char* out, size_t room);

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_GUARD_CODE_PLACE_H_
