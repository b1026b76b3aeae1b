#include "tracker/formats/call_sites.h"

#include <algorithm>

#include "tracker/base/check.h"
#include "tracker/formats/scan.h"

namespace allomon {
namespace {

using internal::AppendDecimal;
using internal::ScanResult;
using Words = std::vector<std::string_view>;

constexpr std::string_view kHead = "# allomon call sites 1\n";
constexpr std::string_view kNoBuildId = "-";
constexpr char kFileMark = '@';

void AppendHex(uint64_t value, std::string* out) {
  constexpr char kDigits[] = "0123456789abcdef";
  char text[16];
  size_t at = sizeof(text);
  do {
    ALLOMON_DCHECK_LT("inv.formats.room", size_t{0}, at);
    text[--at] = kDigits[value % 16];
    value /= 16;
  } while (value != 0);
  out->append(text + at, sizeof(text) - at);
}

bool ScanHex(std::string_view text, uint64_t* value) {
  *value = 0;
  for (const char c : text) {
    const bool is_digit = '0' <= c && c <= '9';
    if (!is_digit && (c < 'a' || 'f' < c)) return false;
    *value = *value * 16 + static_cast<uint64_t>(is_digit ? c - '0' : c - 'a' + 10);
  }
  return !text.empty() && text.size() <= 16;
}

// Replaces a missing build id: readers that do not know this form find no file with such an id.
std::string IdOf(const CodeModule& module) {
  if (!module.build_id.empty()) return module.build_id;
  if (!module.file.is_known()) return std::string(kNoBuildId);
  std::string id(1, kFileMark);
  const FileIdentity& file = module.file;
  for (const uint64_t number : {file.device, file.inode, file.size_bytes, file.change_nanos}) {
    if (id.size() > 1) id.push_back(',');
    AppendHex(number, &id);
  }
  return id;
}

bool ScanFile(std::string_view text, FileIdentity* file) {
  for (uint64_t* number : {&file->device, &file->inode, &file->size_bytes, &file->change_nanos}) {
    const size_t end = std::min(text.find(','), text.size());
    const bool is_last = number == &file->change_nanos;
    if (!ScanHex(text.substr(0, end), number) || is_last != (end == text.size())) return false;
    text.remove_prefix(is_last ? end : end + 1);
  }
  return true;
}

std::string OneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

void AppendNumbers(std::string_view word, uint32_t index, MlmonInt number, std::string* out) {
  out->append("# ").append(word).push_back(' ');
  AppendDecimal(index, out);
  out->push_back(' ');
  AppendDecimal(number, out);
}

void AppendSite(const CallSite& site, std::string* out) {
  AppendNumbers("site", site.name_index, site.amount, out);
  for (const CodeAddress& frame : site.frames) {
    out->push_back(' ');
    AppendDecimal(frame.module, out);
    out->push_back(':');
    AppendHex(frame.start, out);
    out->push_back('+');
    ALLOMON_DCHECK_LE("inv.formats.range", frame.start, frame.address);
    AppendHex(frame.address - frame.start, out);
  }
  out->push_back('\n');
}

class Parser {
 public:
  explicit Parser(size_t names) : names_(names) {}

  // Returns false for a malformed line.
  bool Take(std::string_view line) {
    const Words words = internal::SpaceTokens(line);
    if (words.size() < 2) return false;
    if (words[1] == "wrappers") return TakeWrappers(line);
    if (words[1] == "module") return TakeModule(words, line);
    return words[1] == "callers" ? TakeCallers(words) : words[1] == "site" && TakeSite(words);
  }

  CallSites& sites() { return sites_; }

 private:
  bool TakeWrappers(std::string_view line) {
    sites_.wrappers = line.substr(line.find("wrappers") + std::string_view("wrappers").size());
    sites_.wrappers.erase(0, 1);
    return true;
  }

  // The path may hold blanks.
  bool TakeModule(const Words& words, std::string_view line) {
    if (words.size() < 4) return false;
    const size_t path = static_cast<size_t>(words[3].data() - line.data());
    CodeModule& module = sites_.modules.emplace_back();
    module.path = line.substr(path);
    const std::string_view id = words[2];
    if (id[0] == kFileMark) return ScanFile(id.substr(1), &module.file);
    if (id != kNoBuildId) module.build_id = id;
    return true;
  }

  bool TakeName(std::string_view word, uint32_t* index) const {
    return internal::ScanSize(word, index) == ScanResult::kOk && *index < names_;
  }

  bool TakeCallers(const Words& words) {
    uint32_t name = 0, callers = 0;
    if (words.size() != 4 || !TakeName(words[2], &name) ||
        internal::ScanSize(words[3], &callers) != ScanResult::kOk) {
      return false;
    }
    sites_.callers.resize(names_);
    ALLOMON_DCHECK_LT("inv.formats.number", name, sites_.callers.size());
    sites_.callers[name] = callers;
    return true;
  }

  bool TakeFrame(std::string_view word, CallSite* site) const {
    CodeAddress& frame = site->frames.emplace_back();
    const size_t colon = word.find(':');
    const size_t plus = word.find('+');
    if (colon == std::string_view::npos || plus == std::string_view::npos || plus < colon) {
      return false;
    }
    uint64_t offset = 0;
    const bool is_good =
        internal::ScanSize(word.substr(0, colon), &frame.module) == ScanResult::kOk &&
        frame.module < sites_.modules.size() &&
        ScanHex(word.substr(colon + 1, plus - colon - 1), &frame.start) &&
        ScanHex(word.substr(plus + 1), &offset);
    frame.address = frame.start + offset;
    return is_good;
  }

  bool TakeSite(const Words& words) {
    CallSite& site = sites_.sites.emplace_back();
    if (words.size() < 5 || !TakeName(words[2], &site.name_index) ||
        internal::ScanInteger(words[3], &site.amount) != ScanResult::kOk || site.amount < 0) {
      return false;
    }
    return std::all_of(words.begin() + 4, words.end(),
                       [&](std::string_view word) { return TakeFrame(word, &site); });
  }

  const size_t names_;
  CallSites sites_;
};

}  // namespace

std::string FormatCallSites(const CallSites& sites) {
  if (sites.sites.empty()) return "";
  std::string out(kHead);
  out += "# wrappers " + OneLine(sites.wrappers) + "\n";
  for (const CodeModule& module : sites.modules) {
    out += "# module " + IdOf(module) + " " + OneLine(module.path) + "\n";
  }
  for (uint32_t i = 0; i < sites.callers.size(); ++i) {
    if (sites.callers[i] == 0) continue;
    AppendNumbers("callers", i, sites.callers[i], &out);
    out.push_back('\n');
  }
  ALLOMON_DCHECK("inv.formats.line", out.back() == '\n');
  for (const CallSite& site : sites.sites) AppendSite(site, &out);
  return out;
}

CallSites ParseCallSites(std::string_view script, size_t names) {
  size_t at = script.find(kHead);
  if (at == std::string_view::npos || script.substr(0, at).find("\nexec ") != script.npos)
    return {};
  Parser parser(names);
  at += kHead.size();
  while (script.substr(at, 2) == "# ") {
    const size_t end = script.find('\n', at);
    if (end == std::string_view::npos || !parser.Take(script.substr(at, end - at))) return {};
    at = end + 1;
  }
  return std::move(parser.sites());
}

}  // namespace allomon
