// Names addresses in the form in which gperftools' and Go's servers answer /debug/pprof/symbol.
#ifndef ALLOMON_TOOLS_SERVE_SYMBOLS_H_
#define ALLOMON_TOOLS_SERVE_SYMBOLS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/heap/heap_profile.h"

namespace allomon::serve {

// Parses "0x12+0x34".  Leaves out parts that are no addresses.
std::vector<uint64_t> AddressesOf(std::string_view text);

// Returns "num_symbols: 1", and a line for each address for which the profile has a name.
std::string SymbolText(const heap::HeapProfile& profile, const std::vector<uint64_t>& addresses);

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_SYMBOLS_H_
