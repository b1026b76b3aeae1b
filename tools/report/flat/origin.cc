#include "tools/report/flat/origin.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "tools/text/names.h"
#include "tracker/names/base_name.h"
#include "tracker/names/wrappers.h"

namespace allomon::report {
namespace {

bool StartsWith(std::string_view text, std::string_view head) {
  return text.substr(0, head.size()) == head;
}

template <size_t kSize>
bool StartsWithAny(std::string_view text, const std::string_view (&heads)[kSize]) {
  return std::any_of(std::begin(heads), std::end(heads),
                     [text](std::string_view head) { return StartsWith(text, head); });
}

// Beginnings of the file names of shared objects that belong to a language runtime.
constexpr std::string_view kRuntimeModules[] = {
    "libc.so",    "libm.so",      "libstdc++.so", "libgcc_s.so",  "libpthread.so", "libdl.so",
    "librt.so",   "libc++.so",    "libc++abi.so", "libsupc++.so", "ld-linux",      "[vdso]",
    "linux-vdso", "libresolv.so", "libutil.so",   "libatomic.so", "libanl.so"};

// Beginnings of qualified names, and the folders of the languages' own headers and sources.
constexpr std::string_view kRuntimeNames[] = {"std::", "__gnu_cxx::", "operator new",
                                              "operator delete"};
constexpr std::string_view kInstalled[] = {"/usr/include/", "/usr/local/include/", "/usr/src/",
                                           "/usr/lib/",     "/usr/share/",         "/build/"};

Origin OriginOfModule(std::string_view module) {
  if (StartsWithAny(BaseName(module), kRuntimeModules)) return Origin::kRuntime;
  return module.find(".so") == std::string_view::npos ? Origin::kProgram : Origin::kLibrary;
}

Origin OriginOfSource(std::string_view file) {
  if (file.find("/include/c++/") != std::string_view::npos || StartsWith(file, "/rustc/")) {
    return Origin::kRuntime;
  }
  return StartsWithAny(file, kInstalled) ? Origin::kLibrary : Origin::kProgram;
}

}  // namespace

Origin OriginOf(const SourceName& name) {
  if (name.position.empty()) return Origin::kNone;
  if (StartsWithAny(QualifiedName(name.name), kRuntimeNames)) return Origin::kRuntime;
  const std::string_view position = name.position;
  const size_t colon = position.rfind(": ");
  const std::string_view file = position.substr(0, colon);
  // "libc.so.6: 0xcfcf0" is an address of a module; a source file has a line in its place.
  const bool is_module =
      colon != std::string_view::npos && StartsWith(position.substr(colon + 2), "0x");
  return is_module ? OriginOfModule(file) : OriginOfSource(file);
}

const char* NameOf(Origin origin) {
  switch (origin) {
    case Origin::kProgram:
      return "the program";
    case Origin::kLibrary:
      return "libraries";
    case Origin::kRuntime:
      return "language runtime";
    case Origin::kNone:
      return "no function";
  }
  return "";
}

namespace {

constexpr int kLeastPercent = 60;
// A function that does work itself is rarely called from more places, and a wrapper rarely from
// fewer.
constexpr uint32_t kLeastCallers = 8;

bool TakesMost(MlmonInt part, MlmonInt total) { return part / kLeastPercent >= total / 100; }

// Quotes a name for a shell, and escapes it for fnmatch(3).
std::string Quoted(std::string_view name) {
  std::string text = "'";
  for (const char c : name) {
    const bool is_special = c == '*' || c == '?' || c == '[' || c == '\\' || c == ',' || c == '\'';
    text += is_special ? '?' : c;
  }
  return text + "'";
}

}  // namespace

std::string SuggestWrapper(const Profile& profile) {
  const std::vector<uint32_t>& callers = profile.call_sites.callers;
  const std::vector<SourceName>& names = profile.program.table.names;
  if (profile.data.kind != ProfileKind::kAlloc || profile.data.total <= 0) return "";
  for (size_t i = 0; i < callers.size() && i < names.size(); ++i) {
    if (callers[i] < kLeastCallers) continue;
    if (!TakesMost(profile.data.masters[i].current, profile.data.total)) continue;
    return names[i].name + " takes most, and was called from " + std::to_string(callers[i]) +
           " places: if it only passes memory on, profile again with ALLOMON_EXCLUDE=" +
           Quoted(BareName(names[i].name)) + ", which charges its callers";
  }
  return "";
}

}  // namespace allomon::report
