// Names of addresses, as gperftools' and Go's servers answer /debug/pprof/symbol.
#ifndef ALLOMON_TOOLS_SERVE_SYMBOLS_H_
#define ALLOMON_TOOLS_SERVE_SYMBOLS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/heap/heap_profile.h"

namespace allomon::serve {

// Of "0x12+0x34".  What is none is left out.
std::vector<uint64_t> AddressesOf(std::string_view text);

// "num_symbols: 1", and a line for each address that the profile has a name for.
std::string SymbolText(const heap::HeapProfile& profile, const std::vector<uint64_t>& addresses);

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_SYMBOLS_H_
