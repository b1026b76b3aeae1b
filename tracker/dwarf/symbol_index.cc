#include <gelf.h>

#include <algorithm>
#include <tuple>

#include "tracker/base/check.h"
#include "tracker/dwarf/code_units.h"

namespace allomon {
namespace {

// Maximum number of symbols that begin in a function, or end before pc: labels of assembler code.
constexpr int kMostInside = 64;

int RankOf(const GElf_Sym& symbol) {
  switch (GELF_ST_BIND(symbol.st_info)) {
    case STB_GLOBAL:
      return 0;
    case STB_WEAK:
      return 1;
    default:
      return 2;
  }
}

bool IsNamedPlace(const GElf_Sym& symbol) {
  const int type = GELF_ST_TYPE(symbol.st_info);
  return symbol.st_shndx != SHN_UNDEF && type != STT_SECTION && type != STT_FILE && type != STT_TLS;
}

}  // namespace

SymbolIndex::SymbolIndex(Dwfl_Module* module) {
  const int count = dwfl_module_getsymtab(module);
  for (int i = 1; i < count; ++i) {
    GElf_Sym symbol;
    const char* const name = dwfl_module_getsym(module, i, &symbol, nullptr);
    if (name != nullptr && *name != '\0' && IsNamedPlace(symbol)) Add(name, symbol);
  }
  std::stable_sort(symbols_.begin(), symbols_.end(), IsBefore);
}

void SymbolIndex::Add(const char* name, const GElf_Sym& symbol) {
  symbols_.push_back({symbol.st_value, symbol.st_size, name, RankOf(symbol)});
}

// Puts the best symbol of one address last, where the search begins.
bool SymbolIndex::IsBefore(const Symbol& a, const Symbol& b) {
  return std::tie(a.begin, b.rank) < std::tie(b.begin, a.rank);
}

std::string SymbolIndex::At(Dwarf_Addr pc, Dwarf_Addr start) const {
  const auto behind =
      std::upper_bound(symbols_.begin(), symbols_.end(), pc,
                       [](Dwarf_Addr value, const Symbol& symbol) { return value < symbol.begin; });
  const Symbol* at_start = nullptr;
  auto next = behind;
  for (int steps = 0; next != symbols_.begin() && steps < kMostInside; ++steps) {
    const Symbol& symbol = *--next;
    ALLOMON_DCHECK_LE("inv.dwarf.order", symbol.begin, pc);
    if (pc - symbol.begin < symbol.bytes) return symbol.name;
    if (symbol.bytes == 0 && symbol.begin == start && at_start == nullptr) at_start = &symbol;
  }
  return at_start == nullptr ? "" : at_start->name;
}

}  // namespace allomon
