#include "tracker/symbols/unit_index.h"

#include <algorithm>

#include "tracker/base/check.h"

namespace allomon::internal {
namespace {

ByteReader DataOf(const ElfFile& file, std::string_view name) {
  const std::optional<ElfSection> section = file.FindSection(name);
  return section ? section->data : ByteReader();
}

}  // namespace

UnitIndex::UnitIndex(const ElfFile& file)
    : units_(DataOf(file, ".debug_info")), abbreviations_(DataOf(file, ".debug_abbrev")) {
  ByteReader sets = DataOf(file, ".debug_aranges");
  while (!sets.AtEnd()) {
    const SizedPiece set = ReadSizedPiece(&sets);
    ReadSet(set.data, set.is_64_bit);
  }
  std::sort(ranges_.begin(), ranges_.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  std::sort(sets_.begin(), sets_.end());
}

// A set has: version, unit, the sizes of an address and of a segment; then pairs of an address and
// a size, each at a multiple of its own size from the set's start, and at the end a pair of zeros.
void UnitIndex::ReadSet(ByteReader set, bool is_64_bit) {
  const size_t whole_bytes = set.remaining();
  if (set.Read<uint16_t>() != 2) return;
  const uint64_t unit = SizedPiece::ReadOffset(&set, is_64_bit);
  if (set.Read<uint8_t>() != sizeof(uint64_t) || set.Read<uint8_t>() != 0) return;
  const size_t head_bytes = whole_bytes - set.remaining() + (is_64_bit ? 12 : 4);
  set.Skip((2 * sizeof(uint64_t) - head_bytes % (2 * sizeof(uint64_t))) % (2 * sizeof(uint64_t)));
  sets_.push_back(unit);
  while (set.remaining() >= 2 * sizeof(uint64_t)) {
    const auto begin = set.Read<uint64_t>();
    const auto size = set.Read<uint64_t>();
    // The linker leaves the ranges of code that it dropped at address 0.
    if (begin != 0 && begin + size > begin) ranges_.push_back({begin, begin + size, unit});
  }
}

std::optional<uint64_t> UnitIndex::LinesOfUnit(uint64_t unit) const {
  ByteReader units = units_;
  units.Skip(unit);
  return internal::LinesOfUnit(ReadSizedPiece(&units), abbreviations_);
}

std::optional<uint64_t> UnitIndex::LinesOf(uint64_t address) const {
  const auto above =
      std::upper_bound(ranges_.begin(), ranges_.end(), address,
                       [](uint64_t a, const Range& range) { return a < range.begin; });
  if (above == ranges_.begin() || address >= above[-1].end) return std::nullopt;
  ALLOMON_DCHECK_LE("inv.symbols.found", above[-1].begin, address);
  return LinesOfUnit(above[-1].unit);
}

std::optional<std::vector<uint64_t>> UnitIndex::LinesOfSilentUnits() const {
  if (sets_.empty() || units_.AtEnd()) return std::nullopt;
  std::vector<uint64_t> silent;
  ByteReader units = units_;
  while (!units.AtEnd()) {
    const auto unit = static_cast<uint64_t>(units.position() - units_.position());
    const SizedPiece piece = ReadSizedPiece(&units);
    if (std::binary_search(sets_.begin(), sets_.end(), unit)) continue;
    const std::optional<uint64_t> lines = internal::LinesOfUnit(piece, abbreviations_);
    if (lines) silent.push_back(*lines);
  }
  return silent;
}

}  // namespace allomon::internal
