#include "tracker/dwarf/live_lines.h"

#include <dwarf.h>
#include <gelf.h>

#include <algorithm>
#include <string_view>
#include <tuple>

#include "tracker/base/byte_reader.h"
#include "tracker/base/check.h"
#include "tracker/symbols/line_program.h"

namespace allomon {
namespace {

using internal::ByteReader;
using internal::LineHeader;
using internal::LineMachine;
using internal::LineRow;

// Address, end of a sequence, line, file.
using Row = std::tuple<uint64_t, bool, uint64_t, uint64_t>;

// libdw has expanded compressed sections already, in place.
ByteReader LineSection(Dwarf* dwarf) {
  Elf* const elf = dwarf_getelf(dwarf);
  size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return {};
  for (Elf_Scn* scan = elf_nextscn(elf, nullptr); scan != nullptr; scan = elf_nextscn(elf, scan)) {
    GElf_Shdr section;
    if (gelf_getshdr(scan, &section) == nullptr) continue;
    const char* const name = elf_strptr(elf, names, section.sh_name);
    if (name == nullptr || section.sh_type == SHT_NOBITS) continue;
    if (std::string_view(name) != ".debug_line" && std::string_view(name) != ".zdebug_line") {
      continue;
    }
    const Elf_Data* const data = elf_rawdata(scan, nullptr);
    if (data == nullptr || data->d_buf == nullptr) return {};
    const auto* const begin = static_cast<const uint8_t*>(data->d_buf);
    return {begin, begin + data->d_size};
  }
  return {};
}

// Sorted.
std::vector<Row> RowsOfLiveCode(Dwarf_Die* unit, Dwarf_Addr code_begin) {
  std::vector<Row> live;
  Dwarf_Attribute attribute;
  Dwarf_Word offset = 0;
  if (dwarf_formudata(dwarf_attr(unit, DW_AT_stmt_list, &attribute), &offset) != 0) return live;
  ByteReader lines = LineSection(dwarf_cu_getdwarf(unit->cu));
  lines.Skip(offset);
  LineHeader header;
  if (!internal::ReadLineHeader(&lines, {}, &header)) return live;
  LineMachine machine(header, header.program);
  size_t begin = 0;  // of the sequence
  LineRow row;
  while (machine.Next(&row)) {
    live.push_back({row.address, row.ends_sequence, row.line, row.file});
    if (!row.ends_sequence) continue;
    if (std::get<0>(live[begin]) < code_begin) live.resize(begin);
    begin = live.size();
  }
  std::sort(live.begin(), live.end());
  return live;
}

Dwarf_Addr AddressOf(Dwarf_Line* line) {
  Dwarf_Addr address = 0;
  return dwarf_lineaddr(line, &address) == 0 ? address : 0;
}

bool EndsSequence(Dwarf_Line* line) {
  bool ends = false;
  return dwarf_lineendsequence(line, &ends) == 0 && ends;
}

Row RowOf(Dwarf_Line* line) {
  int number = 0;
  size_t file = 0;
  Dwarf_Files* files = nullptr;
  dwarf_lineno(line, &number);
  dwarf_line_file(line, &files, &file);
  return {AddressOf(line), EndsSequence(line), static_cast<uint64_t>(number), file};
}

}  // namespace

bool LiveLines::AreNeeded(Dwarf_Die* unit, Dwarf_Addr code_begin) {
  Dwarf_Lines* lines = nullptr;
  size_t count = 0;
  return dwarf_getsrclines(unit, &lines, &count) == 0 && count != 0 &&
         AddressOf(dwarf_onesrcline(lines, 0)) < code_begin;
}

LiveLines::LiveLines(Dwarf_Die* unit, Dwarf_Addr code_begin) {
  const std::vector<Row> live = RowsOfLiveCode(unit, code_begin);
  Dwarf_Lines* lines = nullptr;
  size_t count = 0;
  if (dwarf_getsrclines(unit, &lines, &count) != 0) return;
  for (size_t i = 0; i < count; ++i) {
    Dwarf_Line* const line = dwarf_onesrcline(lines, i);
    if (std::binary_search(live.begin(), live.end(), RowOf(line))) rows_.push_back(line);
  }
}

Dwarf_Line* LiveLines::At(Dwarf_Addr pc) const {
  const auto after =
      std::upper_bound(rows_.begin(), rows_.end(), pc,
                       [](Dwarf_Addr value, Dwarf_Line* line) { return value < AddressOf(line); });
  if (after == rows_.begin() || EndsSequence(after[-1])) return nullptr;
  ALLOMON_DCHECK_LE("inv.dwarf.order", AddressOf(after[-1]), pc);
  return after[-1];
}

}  // namespace allomon
