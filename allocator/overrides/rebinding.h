// References to a function, pointed to another one: those that the loader has bound, and
// those that it will bind.  No code is changed, and no page gets another protection.
//
//   const char* const error = Rebind(rebindings, count);
#ifndef ALLOMON_ALLOCATOR_OVERRIDES_REBINDING_H_
#define ALLOMON_ALLOCATOR_OVERRIDES_REBINDING_H_

#include <link.h>

#include <cstddef>
#include <cstdint>

namespace allomon::internal {

struct Rebinding {
  const char* name;
  const link_map* definer;   // the executable, or this library
  const ElfW(Sym) * symbol;  // of the definer's table: a function, under that name
  uintptr_t to;              // the address that callers get from now on; 0: nobody defines it
  bool is_hidden;            // the loader finds the next definition; else it finds `to`
};

// Points the slots of all loaded objects, but of this library and of the definer, that hold the
// address of a definer's function under its name to `to`; and changes the symbols, by which the
// loader binds everything later.  Slots that hold another address are left alone, and so are those
// that would be null, unless the module asks for the function weakly: it expects a null then.
//
// Returns nullptr, or the reason for which nothing was changed.  The process has one thread, and
// the loader does not work.  Allocates nothing, needs /proc, keeps errno.  Cost: a look at each
// slot, and two system calls for each one that changes.
const char* Rebind(const Rebinding* rebindings, size_t count);

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_OVERRIDES_REBINDING_H_
