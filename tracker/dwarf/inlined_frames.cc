#include "tracker/dwarf/inlined_frames.h"

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace allomon {
namespace {

std::string TextOf(const char* text) { return text == nullptr ? "" : text; }

std::string NameOf(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  const char* linkage = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));
  return TextOf(linkage != nullptr ? linkage : dwarf_diename(die));
}

int NumberOf(Dwarf_Die* die, unsigned int name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_formudata(dwarf_attr(die, name, &attribute), &value) != 0) return 0;
  return static_cast<int>(value);
}

// The folder that the compiler ran in, with a slash.
std::string FolderOf(Dwarf_Die* unit) {
  Dwarf_Attribute attribute;
  const char* folder = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
  return folder == nullptr ? "" : std::string(folder) + "/";
}

// Bazel compiles in /proc/self/cwd, the root of the workspace; "./" is the same place.
std::string Relative(std::string_view path, const std::string& folder) {
  for (const std::string_view root :
       {std::string_view(folder), std::string_view("/proc/self/cwd/"), std::string_view("./")}) {
    if (path.substr(0, root.size()) == root) path.remove_prefix(root.size());
  }
  return std::string(path);
}

// One line of source.  Moves outwards, from an inlined call to the line that made it.
class Position {
 public:
  Position(Dwfl_Module* module, Dwarf_Addr pc, Dwarf_Die* unit) : folder_(FolderOf(unit)) {
    size_t count = 0;
    if (dwarf_getsrcfiles(unit, &files_, &count) != 0) files_ = nullptr;
    Dwfl_Line* line = dwfl_module_getsrc(module, pc);
    if (line == nullptr) return;
    const char* file = dwfl_lineinfo(line, nullptr, &line_, nullptr, nullptr, nullptr);
    if (file != nullptr) file_ = file;
  }

  void MoveToCallOf(Dwarf_Die* inlined) {
    const int file = NumberOf(inlined, DW_AT_call_file);
    const char* path =
        files_ == nullptr || file == 0 ? nullptr : dwarf_filesrc(files_, file, nullptr, nullptr);
    file_ = TextOf(path);
    line_ = path == nullptr ? 0 : NumberOf(inlined, DW_AT_call_line);
  }

  DwarfFrame FrameOf(std::string symbol) const {
    return {std::move(symbol), Relative(file_, folder_), line_};
  }

 private:
  const std::string folder_;
  Dwarf_Files* files_ = nullptr;
  std::string file_;
  int line_ = 0;
};

bool HoldsCode(int tag) {
  return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine ||
         tag == DW_TAG_lexical_block;
}

// Rust's functions are in these; C++'s beside them.
bool HoldsFunctions(int tag) {
  return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_structure_type ||
         tag == DW_TAG_class_type || tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type;
}

// Appends the physical nesting around pc below `parent`, outermost first.  (libdw's own search does
// not look into namespaces, and goes on with what surrounds an inlined function's definition.)
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

// Innermost first.
std::vector<Dwarf_Die> ScopesAround(Dwarf_Die* unit, Dwarf_Addr pc) {
  std::vector<Dwarf_Die> scopes;
  FindScopes(unit, pc, &scopes);
  std::reverse(scopes.begin(), scopes.end());
  return scopes;
}

}  // namespace

// libdw answers with the nearest symbol below, which is a stranger's unless its size covers pc.
std::string SymbolAt(Dwfl_Module* module, Dwarf_Addr pc, Dwarf_Addr start) {
  GElf_Sym symbol;
  GElf_Off offset = 0;
  const char* name = dwfl_module_addrinfo(module, pc, &offset, &symbol, nullptr, nullptr, nullptr);
  if (name == nullptr) return "";
  const bool covers = symbol.st_size != 0 ? offset < symbol.st_size : pc - offset == start;
  return covers ? name : "";
}

std::vector<DwarfFrame> FramesAt(Dwfl_Module* module, Dwarf_Addr pc, Dwarf_Addr start) {
  std::string symbol = SymbolAt(module, pc, start);
  Dwarf_Addr bias = 0;
  Dwarf_Die* unit = dwfl_module_addrdie(module, pc, &bias);
  if (unit == nullptr) return {{symbol, "", 0}};
  std::vector<DwarfFrame> frames;
  Position position(module, pc, unit);
  for (Dwarf_Die& scope : ScopesAround(unit, pc - bias)) {
    if (symbol.empty() && dwarf_tag(&scope) == DW_TAG_subprogram) symbol = NameOf(&scope);
    if (dwarf_tag(&scope) != DW_TAG_inlined_subroutine) continue;
    // A name may be in a file that several debug files share, and that is not there.
    std::string inlined = NameOf(&scope);
    if (!inlined.empty()) frames.push_back(position.FrameOf(std::move(inlined)));
    position.MoveToCallOf(&scope);
  }
  frames.push_back(position.FrameOf(symbol));
  return frames;
}

}  // namespace allomon
