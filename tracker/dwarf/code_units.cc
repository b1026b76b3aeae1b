#include "tracker/dwarf/code_units.h"

#include <dwarf.h>

#include <algorithm>
#include <utility>

#include "tracker/base/check.h"

namespace allomon {
namespace {

bool HoldsCode(int tag) {
  return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine ||
         tag == DW_TAG_lexical_block;
}

// Rust's functions are inside of these DIEs; C++'s are next to them.
bool HoldsFunctions(int tag) {
  return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_structure_type ||
         tag == DW_TAG_class_type || tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type;
}

template <typename Visit>
void ForEachChild(Dwarf_Die* parent, Visit visit) {
  Dwarf_Die child;
  for (int end = dwarf_child(parent, &child); end == 0; end = dwarf_siblingof(&child, &child)) {
    visit(&child);
  }
}

// Visits those that begin at `least` or above.
template <typename Visit>
void ForEachRange(Dwarf_Die* die, Dwarf_Addr least, Visit visit) {
  Dwarf_Addr base = 0;
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &begin, &end)) > 0;) {
    if (least <= begin && begin < end) visit(begin, end);
  }
}

// Finds the scopes around pc, outermost first. (libdw's own search does not enter namespaces, and
// continues with the scopes around an inlined function's definition.)
bool FindScopes(Dwarf_Die* parent, Dwarf_Addr pc, std::vector<Dwarf_Die>* scopes) {
  Dwarf_Die child;
  for (int end = dwarf_child(parent, &child); end == 0; end = dwarf_siblingof(&child, &child)) {
    const int tag = dwarf_tag(&child);
    if (HoldsCode(tag) && dwarf_haspc(&child, pc) == 1) {
      scopes->push_back(child);
      FindScopes(&child, pc, scopes);
      return true;
    }
    if (HoldsFunctions(tag) && FindScopes(&child, pc, scopes)) return true;
  }
  return false;
}

// Returns the lowest address of code in the module's session; 0 if it is not known.
Dwarf_Addr CodeBegin(Dwfl_Module* module) {
  GElf_Addr bias = 0;
  Elf* const elf = dwfl_module_getelf(module, &bias);
  if (elf == nullptr) return 0;
  Dwarf_Addr lowest = UINT64_MAX;
  for (Elf_Scn* scan = elf_nextscn(elf, nullptr); scan != nullptr; scan = elf_nextscn(elf, scan)) {
    GElf_Shdr section;
    if (gelf_getshdr(scan, &section) == nullptr || section.sh_size == 0) continue;
    const bool is_code = (section.sh_flags & SHF_EXECINSTR) != 0;
    if (is_code) lowest = std::min<Dwarf_Addr>(lowest, section.sh_addr + bias);
  }
  return lowest == UINT64_MAX ? 0 : lowest;
}

// Returns the range around pc; null if there is none.  The ranges are sorted, and do not overlap.
template <typename Range>
Range* FindRange(std::vector<Range>& sorted, Dwarf_Addr pc) {
  const auto after =
      std::upper_bound(sorted.begin(), sorted.end(), pc,
                       [](Dwarf_Addr value, const Range& range) { return value < range.begin; });
  if (after == sorted.begin() || pc >= (after - 1)->end) return nullptr;
  ALLOMON_DCHECK_LE("inv.dwarf.order", (after - 1)->begin, pc);
  return &*(after - 1);
}

// Sorts the ranges, and cuts out of each what belongs to one that begins inside of it: an assembler
// statement of a file may have a unit of its own within the compiler's.  There are at most twice as
// many ranges then.
template <typename Range>
void SortAndDivide(std::vector<Range>* ranges) {
  std::sort(ranges->begin(), ranges->end(), [](const Range& a, const Range& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  std::vector<Range> divided;
  std::vector<Range> open;  // those around `done`, the innermost last
  Dwarf_Addr done = 0;
  const auto close_until = [&](Dwarf_Addr end) {
    if (done >= end) return;
    divided.push_back(open.back());
    divided.back().begin = done;
    divided.back().end = end;
    done = end;
  };
  for (const Range& range : *ranges) {
    for (; !open.empty() && open.back().end <= range.begin; open.pop_back()) {
      close_until(open.back().end);
    }
    if (!open.empty()) close_until(range.begin);
    done = range.begin;
    open.push_back(range);
  }
  for (; !open.empty(); open.pop_back()) close_until(open.back().end);
  *ranges = std::move(divided);
}

// The unit of a DIE that has the lines.
CodeUnit WholeUnitOf(Dwarf_Die lines) {
  CodeUnit unit = {lines, lines, nullptr};
  Dwarf_Die split = {};
  uint8_t type = 0;
  const int known =
      dwarf_cu_info(lines.cu, nullptr, &type, nullptr, &split, nullptr, nullptr, nullptr);
  if (known == 0 && type == DW_UT_skeleton && split.addr != nullptr) unit.functions = split;
  return unit;
}

// The physical nesting around pc below `parent`, innermost first.
std::vector<Dwarf_Die> ScopesBelow(Dwarf_Die* parent, Dwarf_Addr pc) {
  std::vector<Dwarf_Die> scopes;
  FindScopes(parent, pc, &scopes);
  std::reverse(scopes.begin(), scopes.end());
  return scopes;
}

}  // namespace

CodeUnits::CodeUnits(Dwfl_Module* module) : symbols_(module) {
  Dwarf* const dwarf = dwfl_module_getdwarf(module, &bias_);
  if (dwarf == nullptr) return;
  const Dwarf_Addr code_begin = CodeBegin(module);
  code_begin_ = code_begin > bias_ ? code_begin - bias_ : 0;
  const char* program = nullptr;
  const char* debug = nullptr;
  dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, &program, &debug);
  for (const char* const file : {program, debug}) {
    if (file != nullptr) packages_.push_back(std::string(file) + ".dwp");
  }
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  while (dwarf_get_units(dwarf, unit, &unit, nullptr, nullptr, &die, nullptr) == 0) AddUnit(&die);
  SortAndDivide(&ranges_);
}

void CodeUnits::AddUnit(Dwarf_Die* die) {
  const size_t before = ranges_.size();
  ForEachRange(die, code_begin_, [this](Dwarf_Addr begin, Dwarf_Addr end) {
    ranges_.push_back({begin, end, units_.size()});
  });
  if (ranges_.size() == before) return;
  units_.emplace_back();
  units_.back().lines = *die;
}

CodeUnits::Unit* CodeUnits::Find(Dwarf_Addr pc) {
  const Range* const range = FindRange(ranges_, pc);
  ALLOMON_DCHECK("inv.dwarf.unit", range == nullptr || range->unit < units_.size());
  return range == nullptr ? nullptr : &units_[range->unit];
}

const CodeUnit* CodeUnits::At(Dwarf_Addr pc) {
  Unit* const unit = Find(pc);
  if (unit == nullptr) return nullptr;
  if (!unit->is_read) {
    unit->is_read = true;
    unit->whole = WholeUnitOf(unit->lines);
    AskPackages(&unit->whole);
    if (LiveLines::AreNeeded(&unit->lines, code_begin_)) {
      unit->live_lines = std::make_unique<const LiveLines>(&unit->lines, code_begin_);
      unit->whole.live_lines = unit->live_lines.get();
    }
    ReadFunctions(&unit->whole.functions, &unit->functions);
    SortAndDivide(&unit->functions);
  }
  return &unit->whole;
}

// Searches packages if the functions of the unit are not in a .dwo file.
void CodeUnits::AskPackages(CodeUnit* unit) {
  uint8_t type = 0;
  uint64_t identity = 0;
  const int known =
      dwarf_cu_info(unit->lines.cu, nullptr, &type, nullptr, nullptr, &identity, nullptr, nullptr);
  const bool is_split = known == 0 && type == DW_UT_skeleton;
  if (!is_split || unit->functions.addr != unit->lines.addr) return;
  while (package_ == nullptr && !packages_.empty()) {
    package_ = SplitPackage::Open(packages_.front(), dwarf_cu_getdwarf(unit->lines.cu));
    packages_.erase(packages_.begin());
  }
  Dwarf_Die functions = {};
  if (package_ != nullptr && package_->Find(&unit->lines, identity, &functions)) {
    unit->functions = functions;
  }
}

void CodeUnits::ReadFunctions(Dwarf_Die* parent, std::vector<Function>* functions) const {
  ForEachChild(parent, [this, functions](Dwarf_Die* child) {
    const int tag = dwarf_tag(child);
    if (HoldsFunctions(tag)) ReadFunctions(child, functions);
    if (!HoldsCode(tag)) return;
    ForEachRange(child, code_begin_, [functions, child](Dwarf_Addr begin, Dwarf_Addr end) {
      functions->push_back({begin, end, *child});
    });
  });
}

std::vector<Dwarf_Die> CodeUnits::ScopesAround(Dwarf_Addr pc) {
  Unit* const unit = Find(pc);
  ALLOMON_DCHECK("inv.dwarf.unit", unit == nullptr || unit->is_read);
  Function* const function = unit == nullptr ? nullptr : FindRange(unit->functions, pc);
  if (function == nullptr) return {};
  std::vector<Dwarf_Die> scopes = ScopesBelow(&function->die, pc);
  scopes.push_back(function->die);
  return scopes;
}

}  // namespace allomon
