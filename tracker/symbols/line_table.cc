#include "tracker/symbols/line_table.h"

#include <algorithm>

#include "tracker/base/check.h"
#include "tracker/symbols/line_program.h"

namespace allomon::internal {
namespace {

ByteReader DataOf(const ElfFile& file, std::string_view name) {
  const std::optional<ElfSection> section = file.FindSection(name);
  return section ? section->data : ByteReader();
}

ByteReader From(const ByteReader& whole, const uint8_t* position) {
  return ByteReader(position, whole.position() + whole.remaining());
}

}  // namespace

LineTable::LineTable(const ElfFile& file)
    : lines_(DataOf(file, ".debug_line")),
      line_strings_(DataOf(file, ".debug_line_str")),
      strings_(DataOf(file, ".debug_str")),
      index_(file) {}

void LineTable::AddAllUnits() {
  ByteReader units = lines_;
  while (!units.AtEnd()) {
    const uint8_t* unit = units.position();
    LineHeader header;
    if (ReadLineHeader(&units, {line_strings_, strings_}, &header)) AddSequences(unit, header);
  }
}

void LineTable::AddUnitAt(uint64_t offset) {
  const auto at = std::lower_bound(added_.begin(), added_.end(), offset);
  if (offset >= lines_.remaining() || (at != added_.end() && *at == offset)) return;
  added_.insert(at, offset);
  ALLOMON_DCHECK("inv.symbols.once", std::is_sorted(added_.begin(), added_.end()));
  ByteReader units = lines_;
  units.Skip(offset);
  const uint8_t* unit = units.position();
  LineHeader header;
  if (ReadLineHeader(&units, {line_strings_, strings_}, &header)) AddSequences(unit, header);
}

void LineTable::AddUnitsThatClaimNone() {
  has_silent_ = true;
  const std::optional<std::vector<uint64_t>> silent = index_.LinesOfSilentUnits();
  if (!silent) return AddAllUnits();
  for (const uint64_t offset : *silent) AddUnitAt(offset);
}

void LineTable::PrepareFor(uint64_t address) {
  const auto by_low = [](const Sequence& a, const Sequence& b) { return a.low < b.low; };
  const auto known = static_cast<std::ptrdiff_t>(sequences_.size());
  if (const std::optional<uint64_t> lines = index_.LinesOf(address)) {
    AddUnitAt(*lines);
  } else if (!has_silent_) {
    AddUnitsThatClaimNone();
  }
  std::sort(sequences_.begin() + known, sequences_.end(), by_low);
  std::inplace_merge(sequences_.begin(), sequences_.begin() + known, sequences_.end(), by_low);
  ALLOMON_DCHECK("inv.symbols.order", std::is_sorted(sequences_.begin(), sequences_.end(), by_low));
}

void LineTable::AddSequences(const uint8_t* unit, const LineHeader& header) {
  LineMachine machine(header, header.program);
  Sequence sequence = {0, 0, unit, machine.position()};
  bool is_first = true;
  LineRow row;
  while (machine.Next(&row)) {
    if (is_first) sequence.low = row.address;
    is_first = row.ends_sequence;
    if (!row.ends_sequence) continue;
    sequence.high = row.address;
    // The linker leaves the lines of code that it dropped at address 0.
    if (sequence.low != 0 && sequence.low < sequence.high) sequences_.push_back(sequence);
    sequence.program = machine.position();
  }
}

std::optional<SourceLine> LineTable::Find(uint64_t address) {
  PrepareFor(address);
  return FindPrepared(address);
}

std::optional<SourceLine> LineTable::FindPrepared(uint64_t address) const {
  const auto above =
      std::upper_bound(sequences_.begin(), sequences_.end(), address,
                       [](uint64_t a, const Sequence& sequence) { return a < sequence.low; });
  if (above == sequences_.begin()) return std::nullopt;
  const Sequence& sequence = above[-1];
  if (address >= sequence.high) return std::nullopt;
  ALLOMON_DCHECK("inv.symbols.found", sequence.low <= address && address < sequence.high);
  ByteReader unit = From(lines_, sequence.unit);
  LineHeader header;
  if (!ReadLineHeader(&unit, {line_strings_, strings_}, &header)) return std::nullopt;
  LineMachine machine(header, From(header.program, sequence.program));
  std::optional<LineRow> best;
  LineRow row;
  while (machine.Next(&row) && row.address <= address && !row.ends_sequence) {
    // Line 0 is code without a line. Of several rows of an address the first counts.
    if (row.line != 0 && (!best || row.address > best->address)) best = row;
  }
  if (!best) return std::nullopt;
  return SourceLine{header.PathOf(best->file), best->line};
}

}  // namespace allomon::internal
