#include "tools/symbols/demangle.h"

// libiberty's header would declare basename() as C does, which contradicts the C++ declaration of
// the C library.
#define HAVE_DECL_BASENAME 1
#include <libiberty/demangle.h>

#include <cstdlib>
#include <memory>

#include "tracker/names/readable_name.h"

namespace allomon {

std::string DemangledForeign(const std::string& name) {
  const bool is_rust = name.rfind("_R", 0) == 0;
  const bool is_d = name.rfind("_D", 0) == 0;
  if (!is_rust && !is_d) return name;
  const std::unique_ptr<char, void (*)(void*)> readable(
      is_rust ? rust_demangle(name.c_str(), 0) : dlang_demangle(name.c_str(), 0), std::free);
  return readable == nullptr ? name : readable.get();
}

std::string Demangled(const std::string& symbol) { return DemangledForeign(ReadableName(symbol)); }

}  // namespace allomon
