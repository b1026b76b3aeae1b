#ifndef ALLOMON_TOOLS_SYMBOLS_DEMANGLE_H_
#define ALLOMON_TOOLS_SYMBOLS_DEMANGLE_H_

#include <string>

namespace allomon {

// Demangles Rust's v0 names and D's names, by GNU libiberty.  Returns other names unchanged.
std::string DemangledForeign(const std::string& name);

// The form of a symbol for people: ReadableName (tracker/names/readable_name.h), and the above.
std::string Demangled(const std::string& symbol);

}  // namespace allomon

#endif  // ALLOMON_TOOLS_SYMBOLS_DEMANGLE_H_
