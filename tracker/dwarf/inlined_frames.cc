#include "tracker/dwarf/inlined_frames.h"

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <string_view>
#include <utility>

namespace allomon {
namespace {

std::string TextOf(const char* text) { return text == nullptr ? "" : text; }

std::string NameOf(Dwarf_Die* die, QualifiedNames* names) {
  Dwarf_Attribute attribute;
  const char* linkage = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));
  return linkage != nullptr ? linkage : names->Of(die);
}

// Rust's older mangling is that of C++, with "17h", 16 digits of a hash and "E" at the end.
bool IsOldRust(std::string_view symbol) {
  constexpr std::string_view kMark = "17h";
  constexpr size_t kEnd = 20;  // of the mark, the hash and the last letter
  return symbol.substr(0, 3) == "_ZN" && symbol.size() > kEnd && symbol.back() == 'E' &&
         symbol.substr(symbol.size() - kEnd, kMark.size()) == kMark;
}

std::string RustTypesOf(const std::string& symbol, Dwarf_Die* function) {
  if (function == nullptr || !IsOldRust(symbol)) return "";
  const std::string name = TextOf(dwarf_diename(function));
  const size_t begin = name.find('<');
  if (begin == 0 || begin == name.npos || name.back() != '>') return "";
  return name.substr(begin);
}

int NumberOf(Dwarf_Die* die, unsigned int name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_formudata(dwarf_attr(die, name, &attribute), &value) != 0) return 0;
  return static_cast<int>(value);
}

int VersionOf(Dwarf_Die* unit) {
  Dwarf_Half version = 0;
  dwarf_cu_info(unit->cu, &version, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  return version;
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

// The line that declares a function.
int StartOf(Dwarf_Die* function) {
  Dwarf_Attribute attribute;
  Dwarf_Word line = 0;
  const bool is_known =
      function != nullptr &&
      dwarf_formudata(dwarf_attr_integrate(function, DW_AT_decl_line, &attribute), &line) == 0;
  return is_known ? static_cast<int>(line) : 0;
}

// Clang's attribute of a call site, which libdw has no name for.
constexpr unsigned int kLlvmAllocType = 0x3e0e;
constexpr int kMostTypeSteps = 16;  // references of a damaged file may form a cycle

// Returns "shop::Order", "shop::Order*", "char const*"; empty if a type on the way has no name.
std::string TypeNameOf(Dwarf_Die type, QualifiedNames* names) {
  std::string end;
  for (int step = 0; step < kMostTypeSteps; ++step) {
    switch (dwarf_tag(&type)) {
      case DW_TAG_pointer_type:
        end.insert(0, "*");
        break;
      case DW_TAG_const_type:
        end.insert(0, " const");
        break;
      case DW_TAG_array_type:
        end.insert(0, "[]");
        break;
      default: {
        const std::string name = names->Of(&type);
        return name.empty() ? "" : name + end;
      }
    }
    Dwarf_Attribute attribute;
    const bool has_type = dwarf_attr(&type, DW_AT_type, &attribute) != nullptr;
    if (!has_type) return "void" + end;
    if (dwarf_formref_die(&attribute, &type) == nullptr) return "";
  }
  return "";
}

bool IsCallThatReturnsTo(Dwarf_Die* site, Dwarf_Addr address) {
  const int tag = dwarf_tag(site);
  if (tag != DW_TAG_call_site && tag != DW_TAG_GNU_call_site) return false;
  const unsigned int name = tag == DW_TAG_call_site ? DW_AT_call_return_pc : DW_AT_low_pc;
  Dwarf_Attribute attribute;
  Dwarf_Addr returns_to = 0;
  return dwarf_formaddr(dwarf_attr(site, name, &attribute), &returns_to) == 0 &&
         returns_to == address;
}

// Compilers put call sites into the scope of the call, or into the function.
std::string NewTypeAt(Dwarf_Addr pc, std::vector<Dwarf_Die>* scopes, QualifiedNames* names) {
  for (Dwarf_Die& scope : *scopes) {
    Dwarf_Die site;
    for (int end = dwarf_child(&scope, &site); end == 0; end = dwarf_siblingof(&site, &site)) {
      if (!IsCallThatReturnsTo(&site, pc + 1)) continue;
      Dwarf_Attribute attribute;
      Dwarf_Die type;
      const bool has_type =
          dwarf_formref_die(dwarf_attr(&site, kLlvmAllocType, &attribute), &type) != nullptr;
      return has_type ? TypeNameOf(type, names) : "";
    }
  }
  return "";
}

// One line of source.  It moves outwards, from an inlined call to the line of the call.
class Position {
 public:
  // Call files are numbers in the functions' unit, which may be split from the lines'.
  Position(CodeUnit unit, Dwarf_Addr pc) : folder_(FolderOf(&unit.lines)) {
    size_t count = 0;
    if (dwarf_getsrcfiles(&unit.functions, &files_, &count) != 0 &&
        dwarf_getsrcfiles(&unit.lines, &files_, &count) != 0) {
      files_ = nullptr;
    }
    counts_from_zero_ = VersionOf(&unit.functions) >= 5;
    Dwarf_Line* const line =
        unit.live_lines != nullptr ? unit.live_lines->At(pc) : dwarf_getsrc_die(&unit.lines, pc);
    if (line == nullptr || dwarf_lineno(line, &line_) != 0) return;
    if (dwarf_linecol(line, &column_) != 0) column_ = 0;
    file_ = TextOf(dwarf_linesrc(line, nullptr, nullptr));
  }

  void MoveToCallOf(Dwarf_Die* inlined) {
    const int file = NumberOf(inlined, DW_AT_call_file);
    const bool has_file =
        file != 0 || (counts_from_zero_ && dwarf_hasattr(inlined, DW_AT_call_file));
    const char* path =
        files_ == nullptr || !has_file ? nullptr : dwarf_filesrc(files_, file, nullptr, nullptr);
    file_ = TextOf(path);
    line_ = path == nullptr ? 0 : NumberOf(inlined, DW_AT_call_line);
    column_ = path == nullptr ? 0 : NumberOf(inlined, DW_AT_call_column);
  }

  DwarfFrame FrameOf(std::string symbol, Dwarf_Die* function) const {
    std::string rust_types = RustTypesOf(symbol, function);
    return {std::move(symbol),
            Relative(file_, folder_),
            line_,
            StartOf(function),
            std::move(rust_types),
            column_,
            ""};
  }

 private:
  const std::string folder_;
  Dwarf_Files* files_ = nullptr;
  bool counts_from_zero_ = false;  // DWARF 5: file 0 is the unit's own
  std::string file_;
  int line_ = 0;
  int column_ = 0;
};

// Scopes are innermost first.
std::vector<DwarfFrame> FramesOf(const CodeUnit& unit, Dwarf_Addr pc, std::vector<Dwarf_Die> scopes,
                                 std::string symbol, QualifiedNames* names) {
  std::vector<DwarfFrame> frames;
  Position position(unit, pc);
  Dwarf_Die* function = nullptr;
  for (Dwarf_Die& scope : scopes) {
    const int tag = dwarf_tag(&scope);
    if (function == nullptr && tag == DW_TAG_subprogram) function = &scope;
    if (symbol.empty() && tag == DW_TAG_subprogram) symbol = NameOf(&scope, names);
    if (tag != DW_TAG_inlined_subroutine) continue;
    // A name may be in a file that several debug files share, and which is missing.
    std::string inlined = NameOf(&scope, names);
    if (!inlined.empty()) frames.push_back(position.FrameOf(std::move(inlined), &scope));
    position.MoveToCallOf(&scope);
  }
  frames.push_back(position.FrameOf(std::move(symbol), function));
  frames.front().new_type = NewTypeAt(pc, &scopes, names);
  return frames;
}

}  // namespace

std::vector<DwarfFrame> FramesAt(CodeUnits* units, Dwarf_Addr pc, Dwarf_Addr start) {
  std::string symbol = units->symbols().At(pc, start);
  const Dwarf_Addr here = pc - units->bias();
  const CodeUnit* const unit = units->At(here);
  if (unit == nullptr) return {{std::move(symbol), "", 0, 0, "", 0, ""}};
  return FramesOf(*unit, here, units->ScopesAround(here), std::move(symbol), &units->names());
}

}  // namespace allomon
