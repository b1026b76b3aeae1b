#include "tracker/symbols/function_table.h"

#include <algorithm>
#include <tuple>

#include "tracker/base/check.h"
#include "tracker/callstack/cfi_entry.h"
#include "tracker/symbols/elf_functions.h"

namespace allomon::internal {
namespace {

bool StartsWithUnderscore(std::string_view name) {
  return name[0] == '_' && name.substr(0, 2) != "_Z";
}

// Returns the index + 1 of the element with the greatest begin that is not above `address`.
template <typename Range, typename Begin>
size_t UpperBound(const std::vector<Range>& ranges, uint64_t address, Begin begin) {
  return std::upper_bound(ranges.begin(), ranges.end(), address,
                          [&](uint64_t a, const Range& r) { return a < begin(r); }) -
         ranges.begin();
}

bool Contains(const FunctionRange& range, uint64_t address) {
  return range.begin <= address && address < range.end;
}

}  // namespace

void SymbolTable::Add(const ElfFile& file) {
  candidates_.reserve(candidates_.size() + SymbolsIn(file));
  std::vector<uint64_t> section_ends;
  for (size_t i = 0; i < file.section_count(); ++i) {
    const ElfSection section = file.Section(i);
    section_ends.push_back(section.address + section.size);
  }
  ForEachFunction(file, [&](const Elf64_Sym& symbol, std::string_view name) {
    const uint64_t section_end =
        symbol.st_shndx < section_ends.size() ? section_ends[symbol.st_shndx] : UINT64_MAX;
    const FunctionRange range = {symbol.st_value, symbol.st_value + symbol.st_size};
    candidates_.push_back({{range, name}, section_end, ELF64_ST_BIND(symbol.st_info) == STB_LOCAL});
  });
}

void SymbolTable::Add(ByteReader symbols, ByteReader strings) {
  ForEachFunctionIn(symbols, strings, [&](const Elf64_Sym& symbol, std::string_view name) {
    const FunctionRange range = {symbol.st_value, symbol.st_value + symbol.st_size};
    candidates_.push_back({{range, name}, UINT64_MAX, ELF64_ST_BIND(symbol.st_info) == STB_LOCAL});
  });
}

bool SymbolTable::IsBetterName(const Candidate& a, const Candidate& b) {
  const auto rank = [](const Candidate& c) {
    const std::string_view name = c.symbol.name;
    return std::make_tuple(c.symbol.range.end == c.symbol.range.begin, c.is_local,
                           StartsWithUnderscore(name), name.size(), name);
  };
  return rank(a) < rank(b);
}

void SymbolTable::Sort() {
  // Smaller than a Candidate, which sorting would move a dozen times.
  struct Place {
    uint64_t begin;
    const Candidate* candidate;
  };
  std::vector<Place> places;
  places.reserve(candidates_.size());
  for (const Candidate& c : candidates_) places.push_back({c.symbol.range.begin, &c});
  std::sort(places.begin(), places.end(),
            [](const Place& a, const Place& b) { return a.begin < b.begin; });
  functions_.reserve(places.size());
  for (auto first = places.begin(); first != places.end();) {
    const auto last = std::find_if(first, places.end(),
                                   [&](const Place& place) { return place.begin != first->begin; });
    functions_.push_back(*std::min_element(first, last, [](const Place& a, const Place& b) {
                            return IsBetterName(*a.candidate, *b.candidate);
                          })->candidate);
    first = last;
  }
  ALLOMON_DCHECK_LE("inv.symbols.once", functions_.size(), places.size());
  [[maybe_unused]] const auto by_begin = [](const Candidate& a, const Candidate& b) {
    return a.symbol.range.begin < b.symbol.range.begin;
  };
  ALLOMON_DCHECK("inv.symbols.order",
                 std::is_sorted(functions_.begin(), functions_.end(), by_begin));
  candidates_ = {};
  NoteHighestEnds();
}

void SymbolTable::NoteHighestEnds() {
  highest_end_.reserve(functions_.size());
  uint64_t highest = 0;
  for (const Candidate& function : functions_) {
    highest = std::max(highest, function.symbol.range.end);
    ALLOMON_DCHECK("inv.symbols.order", highest_end_.empty() || highest_end_.back() <= highest);
    highest_end_.push_back(highest);
  }
}

const FunctionSymbol* SymbolTable::Find(uint64_t address) const {
  ALLOMON_DCHECK_EQ("inv.symbols.ends", highest_end_.size(), functions_.size());
  const size_t above =
      UpperBound(functions_, address, [](const Candidate& c) { return c.symbol.range.begin; });
  for (size_t i = above; i > 0 && highest_end_[i - 1] > address; --i) {
    const FunctionSymbol& symbol = functions_[i - 1].symbol;
    if (Contains(symbol.range, address)) return &symbol;
  }
  if (above == 0) return nullptr;
  ALLOMON_DCHECK_LE("inv.symbols.found", functions_[above - 1].symbol.range.begin, address);
  const Candidate& nearest = functions_[above - 1];
  const bool has_size = nearest.symbol.range.end != nearest.symbol.range.begin;
  return has_size || address >= nearest.section_end ? nullptr : &nearest.symbol;
}

namespace {

CfiBytes BytesOf(const ElfSection& section) {
  const uint8_t* begin = section.data.position();
  return {begin, begin + section.data.remaining(), section.address};
}

}  // namespace

FdeTable::FdeTable(const ElfFile& file) {
  const std::optional<ElfSection> frames = file.FindSection(".eh_frame");
  if (!frames || frames->data.AtEnd()) return;
  frames_ = BytesOf(*frames);
  if (const std::optional<ElfSection> header = file.FindSection(".eh_frame_hdr")) {
    const CfiBytes bytes = BytesOf(*header);
    has_header_ = header_.Read(bytes, bytes.begin);
  }
  if (!has_header_) ReadAll();
}

FdeTable::FdeTable(const CfiBytes& frames, const CfiBytes& header) {
  if (frames.begin == frames.end) return;
  frames_ = frames;
  has_header_ = header_.Read(header, header.begin);
  if (!has_header_) ReadAll();
}

void FdeTable::ReadAll() {
  const uint8_t* record = frames_.begin;
  do {
    CfiEntry entry;
    if (ParseFde(frames_, record, &entry)) ranges_.push_back({entry.pc_begin, entry.pc_end});
  } while (NextCfiRecord(frames_, &record));
  std::sort(ranges_.begin(), ranges_.end(),
            [](const FunctionRange& a, const FunctionRange& b) { return a.begin < b.begin; });
}

std::optional<FunctionRange> FdeTable::FindByHeader(uint64_t address) const {
  const uint64_t offset = header_.AddressOfFde(address) - frames_.address;
  CfiEntry entry;
  if (offset >= static_cast<uint64_t>(frames_.end - frames_.begin) ||
      !ParseFde(frames_, frames_.begin + offset, &entry)) {
    return std::nullopt;
  }
  const FunctionRange range = {entry.pc_begin, entry.pc_end};
  ALLOMON_DCHECK_LE("inv.symbols.range", range.begin, range.end);
  return Contains(range, address) ? std::optional(range) : std::nullopt;
}

std::optional<FunctionRange> FdeTable::Find(uint64_t address) const {
  if (has_header_) return FindByHeader(address);
  const size_t above = UpperBound(ranges_, address, [](const FunctionRange& r) { return r.begin; });
  if (above == 0 || !Contains(ranges_[above - 1], address)) return std::nullopt;
  ALLOMON_DCHECK_LE("inv.symbols.found", ranges_[above - 1].begin, address);
  return ranges_[above - 1];
}

}  // namespace allomon::internal
