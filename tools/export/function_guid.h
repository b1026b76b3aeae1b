// The numbers by which LLVM's profiles know functions.
#ifndef ALLOMON_TOOLS_EXPORT_FUNCTION_GUID_H_
#define ALLOMON_TOOLS_EXPORT_FUNCTION_GUID_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "tools/heap/heap_profile.h"

namespace allomon::interchange {

// Returns the name in the compiler's input: suffixes of clones, such as ".llvm.123" or ".cold", are
// added after that.  ".__uniq.123", of -funique-internal-linkage-names, stays: it tells apart local
// functions of one name.
std::string_view NameInSource(std::string_view linker_name);

// Returns the linker's name of a function, without such suffixes; empty if it has no name.  C's
// functions have only one name, and so have those of files without mangled names.
std::string_view LinkerNameOf(const heap::Function& function);

// Returns the low 64 bits of the name's MD5: the GUID of a function of external linkage.  LLVM
// counts all functions as such in profiles of memory, local ones too.
uint64_t FunctionGuid(std::string_view name);

// MD5 (RFC 1321).  A checksum for names, no protection against anybody.
using Md5Digest = std::array<uint8_t, 16>;
Md5Digest Md5(std::string_view bytes);

}  // namespace allomon::interchange

#endif  // ALLOMON_TOOLS_EXPORT_FUNCTION_GUID_H_
