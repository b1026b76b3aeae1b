#include "tracker/names/readable_name.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>

#include "tracker/base/check.h"

namespace allomon {
namespace {

bool StartsWith(std::string_view text, std::string_view head) {
  return text.substr(0, head.size()) == head;
}

bool IsHexDigit(char c) { return ('0' <= c && c <= '9') || ('a' <= c && c <= 'f'); }
bool IsDigit(char c) { return '0' <= c && c <= '9'; }

// Whether g++ and clang append this word after a dot.  Other dots belong to the name: those of Go,
// and of versions that a programmer asked for (`.avx2`).
bool IsCloneWord(std::string_view word) {
  static constexpr std::string_view kWords[] = {"constprop", "isra",     "part",       "cold",
                                                "lto_priv",  "llvm",     "localalias", "clone",
                                                "unlikely",  "coldclone"};
  return std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords);
}

bool IsNumber(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), IsDigit);
}

// Cuts off ".word", ".word.0" and the like, as many as there are.
std::string_view WithoutCloneSuffix(std::string_view symbol) {
  std::string_view head = symbol;
  std::string_view number_cut = symbol;  // with trailing numbers cut, too
  for (size_t dot; (dot = number_cut.rfind('.')) != std::string_view::npos && dot != 0;) {
    const std::string_view word = number_cut.substr(dot + 1);
    number_cut = number_cut.substr(0, dot);
    if (IsCloneWord(word)) {
      head = number_cut;
    } else if (!IsNumber(word)) {
      break;
    }
  }
  ALLOMON_DCHECK_EQ("inv.names.part", head.data(), symbol.data());
  ALLOMON_DCHECK_EQ("inv.names.part", head.empty(), symbol.empty());
  return head;
}

std::string Demangled(const std::string& name) {
  if (!StartsWith(name, "_Z")) return name;
  int status = 0;
  char* demangled = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  if (demangled == nullptr) return name;
  std::string result = demangled;
  std::free(demangled);
  return result;
}

void DropAbiTags(std::string* name) {
  for (size_t at; (at = name->find("[abi:")) != std::string::npos;) {
    const size_t end = name->find(']', at);
    if (end == std::string::npos) return;
    name->erase(at, end + 1 - at);
  }
}

bool IsWordCharacter(char c) {
  return IsDigit(c) || c == '_' || ('a' <= (c | 0x20) && (c | 0x20) <= 'z');
}

// Removes libc++'s inline namespace.  Its name is a version of the ABI: std::__1::vector.
void DropVersionsOfLibcxx(std::string* name) {
  static constexpr std::string_view kVersions[] = {"__1::", "__2::", "__ndk1::", "__Cr::"};
  constexpr std::string_view kStd = "std::";
  for (size_t at = 0; (at = name->find("std::__", at)) != std::string::npos; at += kStd.size()) {
    if (at != 0 && IsWordCharacter((*name)[at - 1])) continue;
    const size_t begin = at + kStd.size();
    for (std::string_view version : kVersions) {
      if (name->compare(begin, version.size(), version) == 0) name->erase(begin, version.size());
    }
  }
}

// Removes a hash.  Rust's older mangling is that of C++, with a hash as the last name.
bool CutRustHash(std::string* name) {
  constexpr size_t kHashBytes = 16;
  constexpr std::string_view kHead = "::h";
  if (name->size() < kHead.size() + kHashBytes) return false;
  const size_t at = name->size() - kHead.size() - kHashBytes;
  const bool is_hash = name->compare(at, kHead.size(), kHead) == 0 &&
                       std::all_of(name->end() - kHashBytes, name->end(), IsHexDigit);
  if (is_hash) name->resize(at);
  return is_hash;
}

// Returns the character for `escape` (between two dollar signs); empty if it is not known.
std::string RustEscape(std::string_view escape) {
  static constexpr struct {
    std::string_view escape;
    const char* text;
  } kEscapes[] = {{"SP", "@"}, {"BP", "*"}, {"RF", "&"}, {"LT", "<"},
                  {"GT", ">"}, {"LP", "("}, {"RP", ")"}, {"C", ","}};
  for (const auto& known : kEscapes) {
    if (known.escape == escape) return known.text;
  }
  if (!StartsWith(escape, "u") || escape.size() != 3) return "";
  const auto code = std::strtoul(std::string(escape.substr(1)).c_str(), nullptr, 16);
  return ' ' <= code && code <= '~' ? std::string(1, static_cast<char>(code)) : "";
}

// Decodes "_$LT$T$u20$as$u20$a..B$GT$" to "<T as a::B>".
std::string RustDecoded(std::string_view name) {
  std::string text;
  for (size_t at = 0; at < name.size();) {
    const std::string_view rest = name.substr(at);
    const size_t end = rest[0] == '$' ? rest.find('$', 1) : std::string_view::npos;
    const std::string escape =
        end == std::string_view::npos ? "" : RustEscape(rest.substr(1, end - 1));
    const bool is_segment = at == 0 || StartsWith(name.substr(at - 1), ":");
    if (!escape.empty()) {
      text += escape;
      at += end + 1;
    } else if (StartsWith(rest, "..")) {
      text += "::";
      at += 2;
    } else if (is_segment && StartsWith(rest, "_$")) {
      ++at;  // a mangled name may not begin with a dollar sign
    } else {
      text += name[at++];
    }
  }
  ALLOMON_DCHECK_LE("inv.names.shorter", text.size(), name.size());
  return text;
}

}  // namespace

std::string ReadableName(std::string_view symbol) {
  std::string name = Demangled(std::string(WithoutCloneSuffix(symbol)));
  if (CutRustHash(&name)) return RustDecoded(name);
  DropAbiTags(&name);
  DropVersionsOfLibcxx(&name);
  return name;
}

}  // namespace allomon
