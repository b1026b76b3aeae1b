#include "tracker/formats/source_table.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "tracker/base/check.h"
#include "tracker/formats/line_parser.h"
#include "tracker/formats/scan.h"

namespace allomon {
namespace {

using internal::AppendDecimal;
using internal::ScanResult;

// A shell script whose last command prints the rest of the file:
//
//   #!/bin/sh
//   # comment             any number of them, of which the first may be "# live"
//   exec tail -n +4 "$0"  the number of the next line
constexpr std::string_view kStubHead = "#!/bin/sh\n";
constexpr std::string_view kLiveComment = "# live\n";
constexpr std::string_view kComment = "# ";

std::string TailLine(size_t first_line) {
  return "exec tail -n +" + std::to_string(first_line) + " \"$0\"\n";
}

bool StartsWith(std::string_view text, std::string_view head) {
  return text.substr(0, head.size()) == head;
}

void AppendNumberLine(size_t number, std::string* out) {
  AppendDecimal(static_cast<__int128>(number), out);
  out->push_back('\n');
}

void AppendName(const SourceName& name, std::string* out) {
  out->append(SanitizedName(name.name));
  if (!name.position.empty()) {
    out->append("\t").append(SanitizedPosition(name.position));
  }
  out->push_back('\n');
}

// Every index is followed by a space, including the last one.
void AppendSequence(const std::vector<uint32_t>& sequence, std::string* out) {
  for (uint32_t index : sequence) {
    AppendDecimal(index, out);
    out->push_back(' ');
  }
  out->push_back('\n');
}

// 32-bit FNV-1a (Fowler, Noll, Vo), with its published offset basis and prime.
class Fnv1a {
 public:
  void AddByte(uint8_t byte) { hash_ = (hash_ ^ byte) * 16777619u; }
  void AddWord(uint32_t word) {
    for (int shift = 0; shift < 32; shift += 8) {
      AddByte(static_cast<uint8_t>(word >> shift));
    }
  }
  // Adds the length first, so that {"ab", "c"} and {"a", "bc"} differ.
  void AddText(std::string_view text) {
    AddWord(static_cast<uint32_t>(text.size()));
    for (char c : text) AddByte(static_cast<uint8_t>(c));
  }
  uint32_t hash() const { return hash_; }

 private:
  uint32_t hash_ = 2166136261u;
};

class SourcesParser : private internal::LineParser {
 public:
  SourcesParser(std::string_view text, SourceTable* table, std::string* error)
      : LineParser(text, "unexpected end of show-sources data", error), table_(table) {}

  bool Parse() {
    *table_ = SourceTable();
    if (!ParseMagic("expected magic", &table_->magic) || !ParseNames()) {
      return false;
    }
    if (table_->names.empty()) return true;
    return ParseSourceLines() && ParseSequences() && CheckIndices() && ParseEnd();
  }

 private:
  bool ParseNames() {
    uint32_t length = 0;
    if (!ParseLength("source names", &length)) return false;
    for (uint32_t i = 0; i < length; ++i) {
      if (!NextLine()) return false;
      std::vector<std::string_view> tokens = internal::Tokens(line(), '\t');
      if (tokens.empty() || tokens.size() > 2) return Fail("strange source");
      SourceName& name = table_->names.emplace_back();
      name.name = tokens[0];
      if (tokens.size() == 2) name.position = tokens[1];
    }
    return true;
  }

  bool ParseIndex(std::string_view token, uint32_t* index) {
    return internal::ScanSize(token, index) == ScanResult::kOk ||
           Fail("Subscript: '" + std::string(token) + "' is not an index");
  }

  bool ParseSourceLines() {
    uint32_t length = 0;
    if (!ParseLength("sources", &length)) return false;
    for (uint32_t i = 0; i < length; ++i) {
      if (!NextLine()) return false;
      std::vector<std::string_view> tokens = internal::SpaceTokens(line());
      if (tokens.size() != 2) return Fail("AFile.new");
      Source& source = table_->sources.emplace_back();
      if (!ParseIndex(tokens[0], &source.name_index) ||
          !ParseIndex(tokens[1], &source.successor_sequence)) {
        return false;
      }
    }
    return true;
  }

  bool ParseSequences() {
    uint32_t length = 0;
    if (!ParseLength("source sequences", &length)) return false;
    for (uint32_t i = 0; i < length; ++i) {
      if (!NextLine()) return false;
      std::vector<uint32_t>& sequence = table_->sequences.emplace_back();
      for (std::string_view token : internal::SpaceTokens(line())) {
        if (!ParseIndex(token, &sequence.emplace_back())) return false;
      }
    }
    return true;
  }

  bool CheckIndex(uint32_t index, size_t length, const char* what) {
    if (index < length) return true;
    return Fail("Subscript: " + std::string(what) + " " + std::to_string(index) + " of " +
                std::to_string(length));
  }

  bool CheckIndices() {
    for (const Source& source : table_->sources) {
      if (!CheckIndex(source.name_index, table_->names.size(), "name") ||
          !CheckIndex(source.successor_sequence, table_->sequences.size(), "sequence")) {
        return false;
      }
    }
    for (const std::vector<uint32_t>& sequence : table_->sequences) {
      for (uint32_t index : sequence) {
        if (!CheckIndex(index, table_->sources.size(), "source")) return false;
      }
    }
    return true;
  }

  bool ParseEnd() { return AtEnd() || Fail("expected end of file"); }

  SourceTable* table_;
};

}  // namespace

SourceTable FixedSourceTable() {
  SourceTable table;
  table.names.reserve(std::size(kFixedSourceNames));
  table.sources.reserve(std::size(kFixedSourceNames));
  for (uint32_t i : {kUnknownSource, kGcSource, kMainSource}) {
    table.names.push_back({std::string(kFixedSourceNames[i]), ""});
    table.sources.push_back({i, kNoSuccessors});
  }
  table.sequences = {{kUnknownSource}, {kGcSource}, {}};
  ALLOMON_DCHECK_EQ("inv.formats.lengths", table.names.size(), table.sources.size());
  return table;
}

std::string SanitizedPosition(std::string_view position) {
  std::string clean(position);
  for (char& c : clean) {
    if (c == '\t' || c == '\n') c = ' ';
  }
  ALLOMON_DCHECK("inv.formats.line", clean.find_first_of("\t\n") == std::string::npos);
  return clean;
}

std::string SanitizedName(std::string_view name) {
  return name.empty() ? "<unnamed>" : SanitizedPosition(name);
}

std::string FormatSources(const SourceTable& table) {
  std::string out;
  out.reserve(256);  // a short one grows in one piece
  internal::AppendHexWord(table.magic, &out);
  out.push_back('\n');
  AppendNumberLine(table.names.size(), &out);
  for (const SourceName& name : table.names) AppendName(name, &out);
  AppendNumberLine(table.sources.size(), &out);
  ALLOMON_DCHECK("inv.formats.line", !out.empty() && out.back() == '\n');
  for (const Source& source : table.sources) {
    ALLOMON_DCHECK_LT("inv.formats.number", source.name_index, table.names.size());
    ALLOMON_DCHECK_LT("inv.formats.number", source.successor_sequence, table.sequences.size());
    AppendDecimal(source.name_index, &out);
    out.push_back(' ');
    AppendNumberLine(source.successor_sequence, &out);
  }
  AppendNumberLine(table.sequences.size(), &out);
  for (const auto& sequence : table.sequences) AppendSequence(sequence, &out);
  return out;
}

std::string FormatSourcesStub(const SourceTable& table, StubOf what, std::string_view comments) {
  std::string stub(kStubHead);
  if (what == StubOf::kLive) stub += kLiveComment;
  stub += comments;
  const auto lines = static_cast<size_t>(std::count(stub.begin(), stub.end(), '\n'));
  return stub + TailLine(lines + 2) + FormatSources(table);
}

std::string_view AnswerOfStub(std::string_view script) {
  if (!StartsWith(script, kStubHead)) return {};
  script.remove_prefix(kStubHead.size());
  size_t lines = 1;
  for (; StartsWith(script, kComment); ++lines) {
    const size_t end = script.find('\n');
    if (end == std::string_view::npos) return {};
    script.remove_prefix(end + 1);
  }
  const std::string tail = TailLine(lines + 2);
  return StartsWith(script, tail) ? script.substr(tail.size()) : std::string_view();
}

bool IsStubOfLive(std::string_view script) {
  return StartsWith(script, kStubHead) && StartsWith(script.substr(kStubHead.size()), kLiveComment);
}

bool ParseSources(std::string_view text, SourceTable* table, std::string* error) {
  return SourcesParser(text, table, error).Parse();
}

uint32_t ContentMagic(const SourceTable& table) {
  Fnv1a hash;
  hash.AddWord(static_cast<uint32_t>(table.names.size()));
  for (const SourceName& name : table.names) {
    hash.AddText(name.name);
    hash.AddText(name.position);
  }
  hash.AddWord(static_cast<uint32_t>(table.sources.size()));
  for (const Source& source : table.sources) {
    hash.AddWord(source.name_index);
    hash.AddWord(source.successor_sequence);
  }
  hash.AddWord(static_cast<uint32_t>(table.sequences.size()));
  for (const auto& sequence : table.sequences) {
    hash.AddWord(static_cast<uint32_t>(sequence.size()));
    for (uint32_t index : sequence) hash.AddWord(index);
  }
  return hash.hash();
}

}  // namespace allomon
