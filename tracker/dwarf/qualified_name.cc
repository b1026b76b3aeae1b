#include <dwarf.h>

#include "tracker/dwarf/code_units.h"

namespace allomon {
namespace {

constexpr int kMostSteps = 16;  // references of a damaged file may form a cycle

bool IsScope(int tag) {
  return tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
         tag == DW_TAG_union_type;
}

// Returns the declaration: an inlined or copied function refers to it.
Dwarf_Die DeclarationOf(Dwarf_Die die) {
  for (int step = 0; step < kMostSteps; ++step) {
    Dwarf_Attribute attribute;
    Dwarf_Die next;
    const bool is_known = dwarf_attr(&die, DW_AT_abstract_origin, &attribute) != nullptr ||
                          dwarf_attr(&die, DW_AT_specification, &attribute) != nullptr;
    if (!is_known || dwarf_formref_die(&attribute, &next) == nullptr) break;
    die = next;
  }
  return die;
}

std::string NameOfScope(Dwarf_Die* scope) {
  if (!IsScope(dwarf_tag(scope))) return "";
  const char* const name = dwarf_diename(scope);
  if (name != nullptr) return std::string(name) + "::";
  return dwarf_tag(scope) == DW_TAG_namespace ? "(anonymous namespace)::" : "";
}

// Finds the child of `parent` that is the DIE at `offset` or contains it: the last one that begins
// at or before it.
bool FindChildAround(Dwarf_Die* parent, Dwarf_Off offset, Dwarf_Die* around) {
  bool found = false;
  Dwarf_Die child;
  for (int end = dwarf_child(parent, &child); end == 0; end = dwarf_siblingof(&child, &child)) {
    if (dwarf_dieoffset(&child) > offset) break;
    *around = child;
    found = true;
  }
  return found;
}

bool HasScopes(Dwarf_Die* unit) {
  switch (dwarf_srclang(unit)) {
    case DW_LANG_C:
    case DW_LANG_C89:
    case DW_LANG_C99:
    case DW_LANG_C11:
      return false;
    default:
      return true;
  }
}

std::string NameOf(Dwarf_Die* declaration) {
  const char* const name = dwarf_diename(declaration);
  if (name == nullptr) return "";
  Dwarf_Die around;
  if (dwarf_diecu(declaration, &around, nullptr, nullptr) == nullptr) return name;
  if (!HasScopes(&around)) return name;
  const Dwarf_Off offset = dwarf_dieoffset(declaration);
  std::string scopes;
  while (FindChildAround(&around, offset, &around) && dwarf_dieoffset(&around) != offset) {
    scopes += NameOfScope(&around);
  }
  return scopes + name;
}

}  // namespace

std::string QualifiedNames::Of(Dwarf_Die* function) {
  Dwarf_Die declaration = DeclarationOf(*function);
  const auto [place, is_new] = name_of_.try_emplace(declaration.addr);
  if (is_new) place->second = NameOf(&declaration);
  return place->second;
}

}  // namespace allomon
