#include "tools/symbols/symbol_pack.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "tools/symbols/name_sources.h"
#include "tracker/base/check.h"

namespace allomon {
namespace {

constexpr std::string_view kFirstLine = "allomon symbols 1";
constexpr std::string_view kFirstWords = "allomon symbols ";
constexpr std::string_view kLastLine = "end";
constexpr std::string_view kFileKey = "file";
constexpr int kHex = 16;
constexpr int kDecimal = 10;
// Deeper inlining is not written by compilers.
constexpr size_t kMostFrames = 4096;
// Programs of 100 MB of code have fewer.  A pack of these numbers takes some 1.5 GiB.
constexpr size_t kMostFunctions = 1 << 21, kMostFramesOfAll = 1 << 25, kMostAddresses = 1 << 23;
// The names and files of all frames at an address, which FramesAt() copies.
constexpr size_t kMostTextBytes = 1 << 20;

// ---- Lines are fields with tabs between.  A field has neither tabs nor ends of lines.

std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char each : text) {
    switch (each) {
      case '\t':
        escaped += "\\t";
        break;
      case '\n':
        escaped += "\\n";
        break;
      case '\\':
        escaped += "\\\\";
        break;
      default:
        escaped += each;
    }
  }
  return escaped;
}

// False if a backslash stands before something else.
bool Unescape(std::string_view text, std::string* plain) {
  plain->clear();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      *plain += text[i];
      continue;
    }
    if (++i == text.size()) return false;
    if (text[i] != 't' && text[i] != 'n' && text[i] != '\\') return false;
    *plain += text[i] == 't' ? '\t' : text[i] == 'n' ? '\n' : '\\';
  }
  return true;
}

template <typename Number>
bool Parse(std::string_view text, int base, Number* number) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *number, base);
  return error == std::errc() && rest == end;
}

std::string Hex(uint64_t number) {
  char text[2 * sizeof(number)];
  const auto [end, error] = std::to_chars(text, text + sizeof(text), number, kHex);
  ALLOMON_DCHECK("inv.packs.fields", error == std::errc());
  return {text, end};
}

class Fields {
 public:
  explicit Fields(std::string_view line) : rest_(line) {}

  bool AtEnd() const { return is_done_; }

  // Empty after the last one.
  std::string_view Take() {
    const size_t tab = rest_.find('\t');
    const std::string_view field = rest_.substr(0, tab);
    is_done_ = tab == rest_.npos;
    rest_.remove_prefix(is_done_ ? rest_.size() : tab + 1);
    return field;
  }
  bool TakeText(std::string* text) { return !is_done_ && Unescape(Take(), text); }
  template <typename Number>
  bool TakeNumber(int base, Number* number) {
    return !is_done_ && Parse(Take(), base, number);
  }

 private:
  std::string_view rest_;
  bool is_done_ = false;
};

void AppendLine(const std::vector<std::string>& fields, std::string* text) {
  for (size_t i = 0; i < fields.size(); ++i) *text += (i == 0 ? "" : "\t") + fields[i];
  *text += '\n';
}

}  // namespace

std::string PackKey(const std::string& build_id, const FileIdentity& file) {
  if (!build_id.empty()) return "build-id " + build_id;
  if (!file.is_known()) return "";
  std::string key(kFileKey);
  for (const uint64_t part : {file.device, file.inode, file.size_bytes, file.change_nanos}) {
    key += " " + std::to_string(part);
  }
  return key;
}

std::string PackKeyOfProcess(uint64_t pid, uint64_t start_nanos) {
  return "process " + std::to_string(pid) + " " + std::to_string(start_nanos);
}

// Reads line by line: a line is one of a letter and its fields.
class SymbolPackReader {
 public:
  explicit SymbolPackReader(SymbolPack* pack) : pack_(*pack) {}

  bool Read(std::string_view text, std::string* why) {
    size_t number = 0;
    for (; !text.empty() && !has_ended_; ++number) {
      const size_t end = text.find('\n');
      if (end == text.npos) break;
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(end + 1);
      if (number == 0 && line != kFirstLine) {
        const bool is_other = line.substr(0, kFirstWords.size()) == kFirstWords;
        *why = is_other ? "is a pack of symbols of another version: read it by the version of "
                          "Allomon that wrote it"
                        : "is no pack of symbols: allomon symbols pack writes them";
        return false;
      }
      if (number > 0 && !ReadLine(line)) {
        *why = "is a damaged pack of symbols (line " + std::to_string(number + 1) +
               "): make or copy it again";
        return false;
      }
    }
    if (has_ended_ && text.empty()) return true;
    *why = number == 0 ? "is no pack of symbols: allomon symbols pack writes them"
                       : "is a pack of symbols that is cut short: make or copy it again";
    return false;
  }

 private:
  bool ReadLine(std::string_view line) {
    if (line == kLastLine) return has_ended_ = true;
    Fields fields(line);
    const std::string_view kind = fields.Take();
    bool is_sound = false;
    if (kind == "F") is_sound = ReadFunction(&fields);
    if (kind == "C") is_sound = ReadCode(&fields);
    if (kind == "S") is_sound = ReadSegment(&fields);
    if (kind == "A") is_sound = ReadAddress(&fields);
    return is_sound && fields.AtEnd();
  }

  bool ReadFunction(Fields* fields) {
    PackedFunction function;
    if (!fields->TakeText(&function.name) || !fields->TakeText(&function.symbol) ||
        !fields->TakeText(&function.file) || !fields->TakeNumber(kDecimal, &function.start_line) ||
        function.start_line < 0) {
      return false;
    }
    if (pack_.functions_.size() == kMostFunctions) return false;
    pack_.functions_.push_back(std::move(function));
    return true;
  }

  bool ReadCode(Fields* fields) {
    std::string key;
    PackedCode code;
    std::string program;
    if (!fields->TakeText(&key) || !fields->TakeText(&code.path) || !fields->TakeText(&program) ||
        key.empty() || (program != "program" && program != "library")) {
      return false;
    }
    code.is_program = program == "program";
    const auto [place, is_new] = pack_.code_.emplace(std::move(key), std::move(code));
    code_ = &place->second;
    return is_new;
  }

  bool ReadSegment(Fields* fields) {
    LoadedSegment segment;
    if (code_ == nullptr || !fields->TakeNumber(kHex, &segment.file_offset) ||
        !fields->TakeNumber(kHex, &segment.address) ||
        !fields->TakeNumber(kHex, &segment.file_bytes) ||
        !fields->TakeNumber(kHex, &segment.memory_bytes) || fields->AtEnd()) {
      return false;
    }
    const std::string_view kind = fields->Take();
    segment.is_code = kind == "code";
    if (!segment.is_code && kind != "data") return false;
    code_->segments.push_back(segment);
    return true;
  }

  bool ReadAddress(Fields* fields) {
    PackedAddress address;
    if (code_ == nullptr || !fields->TakeNumber(kHex, &address.address) ||
        !fields->TakeNumber(kHex, &address.start) || fields->AtEnd() ||
        !ReadFrames(fields->Take(), &address)) {
      return false;
    }
    std::vector<PackedAddress>& known = code_->addresses;
    if (!known.empty() && known.back().address >= address.address) return false;
    if (++addresses_ > kMostAddresses) return false;
    known.push_back(address);
    return true;
  }

  // "3:12:5 0:7:0": a function, a line and a column each.
  bool ReadFrames(std::string_view text, PackedAddress* address) {
    address->first_frame = pack_.frames_.size();
    size_t text_bytes = 0;
    while (!text.empty()) {
      const size_t space = std::min(text.find(' '), text.size());
      const std::string_view pair = text.substr(0, space);
      text.remove_prefix(std::min(space + 1, text.size()));
      const size_t colon = pair.find(':'), last = pair.rfind(':');
      PackedFrame frame;
      if (colon == last || !Parse(pair.substr(0, colon), kDecimal, &frame.function) ||
          !Parse(pair.substr(colon + 1, last - colon - 1), kDecimal, &frame.line) ||
          !Parse(pair.substr(last + 1), kDecimal, &frame.column) || frame.line < 0 ||
          frame.column < 0 || frame.function >= pack_.functions_.size() ||
          ++address->frames > kMostFrames) {
        return false;
      }
      const PackedFunction& function = pack_.functions_[frame.function];
      text_bytes += function.name.size() + function.symbol.size() + function.file.size();
      if (text_bytes > kMostTextBytes || pack_.frames_.size() == kMostFramesOfAll) return false;
      pack_.frames_.push_back(frame);
    }
    return address->frames > 0;
  }

  SymbolPack& pack_;
  PackedCode* code_ = nullptr;  // that of the lines that follow
  size_t addresses_ = 0;
  bool has_ended_ = false;
};

bool SymbolPack::Parse(std::string_view text, SymbolPack* pack, std::string* why) {
  *pack = SymbolPack();
  return SymbolPackReader(pack).Read(text, why);
}

const PackedCode* SymbolPack::Find(const std::string& key) const {
  const auto found = key.empty() ? code_.end() : code_.find(key);
  return found == code_.end() ? nullptr : &found->second;
}

bool SymbolPack::FramesAt(const PackedCode& code, uint64_t address, const std::string& path,
                          uint64_t* start, std::vector<CodeFrame>* frames) const {
  const auto at = std::lower_bound(
      code.addresses.begin(), code.addresses.end(), address,
      [](const PackedAddress& each, uint64_t value) { return each.address < value; });
  if (at == code.addresses.end() || at->address != address) return false;
  ALLOMON_DCHECK_LE("inv.packs.frames", at->first_frame + at->frames, frames_.size());
  *start = at->start;
  frames->clear();
  for (size_t i = at->first_frame; i < at->first_frame + at->frames; ++i) {
    const PackedFunction& function = functions_[frames_[i].function];
    const bool named = !function.name.empty();
    frames->push_back({named ? function.name : NameByAddress(path, at->start), function.file,
                       frames_[i].line, named, function.symbol, function.start_line,
                       frames_[i].column, ""});
  }
  return true;
}

void SymbolPackWriter::AddCode(const std::string& key, const std::string& path, bool is_program,
                               std::vector<LoadedSegment> segments) {
  if (key.empty()) return;
  const auto [place, is_new] = code_.try_emplace(key);
  Code& code = place->second;
  // One file may have several paths: the least is taken, so that the order is not seen.
  if (is_new || path < code.path) code.path = path;
  code.is_program |= is_program;
  if (code.segments.empty()) code.segments = std::move(segments);
}

void SymbolPackWriter::AddAddress(const std::string& key, uint64_t address, uint64_t start,
                                  const std::vector<CodeFrame>& frames) {
  const auto code = code_.find(key);
  if (code == code_.end() || frames.empty() || frames.size() > kMostFrames) return;
  size_t text_bytes = 0;
  for (const CodeFrame& frame : frames) {
    text_bytes += frame.name.size() + frame.symbol.size() + frame.file.size();
  }
  if (text_bytes > kMostTextBytes) return;  // a reader would refuse it
  const auto [place, is_new] = code->second.addresses.try_emplace(address);
  if (!is_new) return;
  place->second.start = start;
  for (const CodeFrame& frame : frames) {
    const PackedFunction function = {frame.named ? frame.name : "", frame.symbol, frame.file,
                                     std::max(frame.start_line, 0)};
    place->second.frames.push_back({function, std::max(frame.line, 0), std::max(frame.column, 0)});
  }
  ++addresses_;
  if (frames.front().named) ++named_;
}

std::string SymbolPackWriter::Text() const {
  std::map<PackedFunction, size_t> number_of;
  for (const auto& [key, code] : code_) {
    for (const auto& [at, address] : code.addresses) {
      for (const Frame& frame : address.frames) number_of.emplace(frame.function, 0);
    }
  }
  std::string text = std::string(kFirstLine) + "\n";
  size_t number = 0;
  for (auto& [function, place] : number_of) {
    place = number++;
    AppendLine({"F", Escaped(function.name), Escaped(function.symbol), Escaped(function.file),
                std::to_string(function.start_line)},
               &text);
  }
  for (const auto& [key, code] : code_) {
    AppendLine({"C", Escaped(key), Escaped(code.path), code.is_program ? "program" : "library"},
               &text);
    for (const LoadedSegment& segment : code.segments) {
      AppendLine({"S", Hex(segment.file_offset), Hex(segment.address), Hex(segment.file_bytes),
                  Hex(segment.memory_bytes), segment.is_code ? "code" : "data"},
                 &text);
    }
    for (const auto& [at, address] : code.addresses) {
      std::string frames;
      for (const Frame& frame : address.frames) {
        frames += (frames.empty() ? "" : " ") + std::to_string(number_of.at(frame.function)) + ":" +
                  std::to_string(frame.line) + ":" + std::to_string(frame.column);
      }
      AppendLine({"A", Hex(at), Hex(address.start), frames}, &text);
    }
  }
  return text + std::string(kLastLine) + "\n";
}

bool PackedFramesAt(const NameSources& sources, const std::string& key, uint64_t address,
                    const std::string& path, uint64_t* start, std::vector<CodeFrame>* frames) {
  for (const NamedPack& each : sources.packs) {
    const PackedCode* const code = each.pack->Find(key);
    if (code != nullptr && each.pack->FramesAt(*code, address, path, start, frames)) return true;
  }
  return false;
}

std::vector<LoadedSegment> PackedSegments(const NameSources& sources, const std::string& build_id,
                                          const std::string& path) {
  for (const NamedPack& each : sources.packs) {
    const PackedCode* code = each.pack->Find(PackKey(build_id, {}));
    for (const auto& [key, other] : each.pack->code()) {
      const bool is_file = key.rfind(kFileKey, 0) == 0;
      if (build_id.empty() && is_file && other.path == path) code = &other;
    }
    if (code != nullptr) return code->segments;
  }
  return {};
}

}  // namespace allomon
