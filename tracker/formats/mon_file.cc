#include "tracker/formats/mon_file.h"

#include <algorithm>
#include <cstring>

#include "tracker/base/check.h"
#include "tracker/formats/mon_layout.h"

namespace allomon {
namespace {

using Header = struct hdr;
using Count = struct cnt;

uint64_t AddressOf(const char* pointer) { return reinterpret_cast<uint64_t>(pointer); }
char* PointerTo(uint64_t address) { return reinterpret_cast<char*>(address); }

bool Fail(std::string what, std::string* error) {
  *error = std::move(what);
  return false;
}

std::string HexOf(const unsigned char* bytes, size_t count) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (size_t i = 0; i < count; ++i) {
    hex += kDigits[bytes[i] >> 4];
    hex += kDigits[bytes[i] & 15];
  }
  return hex;
}

unsigned char NibbleOf(char digit) {
  return static_cast<unsigned char>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

bool RestIsZero(const unsigned char* bytes, size_t used, size_t size) {
  return std::all_of(bytes + used, bytes + size, [](unsigned char byte) { return byte == 0; });
}

bool CheckHeader(const Header& header, std::string* error) {
  if (header.magic != MON_MAGIC) return Fail("not a file of monitor()", error);
  if (header.nfns < 0 || header.id_bytes > sizeof(header.id) || header.hz == 0 ||
      header.cell_bytes < internal::kFinestCellBytes || header.lpc >= header.hpc ||
      (header.flags & ~(MON_SATURATED | MON_COUNTS_LOST)) != 0 ||
      !RestIsZero(header.id, header.id_bytes, sizeof(header.id))) {
    return Fail("damaged: a header has impossible values; run the program again", error);
  }
  const uint64_t bytes = AddressOf(header.hpc) - AddressOf(header.lpc);
  if (header.cell_bytes != internal::CellBytes(bytes, header.ncells)) {
    return Fail("damaged: the cells do not cover the range; run the program again", error);
  }
  return true;
}

MonRange RangeOf(const Header& header) {
  ALLOMON_DCHECK_LE("inv.formats.bounds", header.id_bytes, sizeof(header.id));
  MonRange range;
  range.low = AddressOf(header.lpc);
  range.high = AddressOf(header.hpc);
  ALLOMON_DCHECK_LT("inv.formats.range", range.low, range.high);
  range.bias = header.bias;
  range.ticks = header.ticks;
  range.other_ticks = header.other_ticks;
  range.cell_bytes = header.cell_bytes;
  range.hz = header.hz;
  range.saturated = (header.flags & MON_SATURATED) != 0;
  range.counts_lost = (header.flags & MON_COUNTS_LOST) != 0;
  range.build_id = HexOf(header.id, header.id_bytes);
  range.count_room = static_cast<uint32_t>(header.nfns);
  return range;
}

Header HeaderOf(const MonRange& range) {
  Header header = {};
  header.lpc = PointerTo(range.low);
  header.hpc = PointerTo(range.high);
  header.nfns = static_cast<int>(range.count_room);
  header.magic = MON_MAGIC;
  header.ncells = static_cast<unsigned int>(range.cells.size());
  header.cell_bytes = range.cell_bytes;
  header.hz = range.hz;
  header.flags = (range.saturated ? MON_SATURATED : 0) | (range.counts_lost ? MON_COUNTS_LOST : 0);
  header.bias = range.bias;
  header.ticks = range.ticks;
  header.other_ticks = range.other_ticks;
  header.id_bytes =
      static_cast<unsigned char>(std::min<size_t>(range.build_id.size() / 2, sizeof(header.id)));
  ALLOMON_DCHECK_LE("inv.formats.bounds", 2 * size_t{header.id_bytes}, range.build_id.size());
  for (size_t i = 0; i < header.id_bytes; ++i) {
    header.id[i] = static_cast<unsigned char>(NibbleOf(range.build_id[2 * i]) << 4 |
                                              NibbleOf(range.build_id[2 * i + 1]));
  }
  return header;
}

template <typename T>
void Append(const T& value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

template <typename T>
T Take(std::string_view* bytes) {
  ALLOMON_DCHECK_LE("inv.formats.bounds", sizeof(T), bytes->size());
  T value;
  memcpy(&value, bytes->data(), sizeof(value));
  bytes->remove_prefix(sizeof(value));
  return value;
}

bool ParseCounts(std::string_view* file, MonRange* range, std::string* error) {
  for (uint32_t i = 0; i < range->count_room; ++i) {
    const Count count = Take<Count>(file);
    if (count.fnpc == nullptr) {
      if (count.mcnt != 0) return Fail("damaged: calls of no function", error);
      continue;
    }
    if (range->counts.size() != i || count.mcnt < 0) {
      return Fail("damaged: call counts out of place; run the program again", error);
    }
    range->counts.push_back({AddressOf(count.fnpc), static_cast<uint64_t>(count.mcnt)});
  }
  return true;
}

bool ParseRange(std::string_view* file, MonRange* range, std::string* error) {
  if (file->size() < sizeof(Header)) {
    return Fail("cut off, or followed by something else: run the program again", error);
  }
  const Header header = Take<Header>(file);
  if (!CheckHeader(header, error)) return false;
  *range = RangeOf(header);
  // 64-bit arithmetic, in which no product of these 32-bit numbers wraps.
  const uint64_t wanted =
      uint64_t{range->count_room} * sizeof(Count) + uint64_t{header.ncells} * sizeof(WORD);
  if (file->size() < wanted) return Fail("cut off: run the program again", error);
  if (!ParseCounts(file, range, error)) return false;
  ALLOMON_DCHECK_LE("inv.formats.lengths", range->counts.size(), range->count_room);
  ALLOMON_DCHECK_LE("inv.formats.bounds", header.ncells * sizeof(WORD), file->size());
  range->cells.resize(header.ncells);
  if (header.ncells > 0) {
    memcpy(range->cells.data(), file->data(), header.ncells * sizeof(WORD));
  }
  file->remove_prefix(header.ncells * sizeof(WORD));
  return true;
}

}  // namespace

bool ParseMon(std::string_view file, std::vector<MonRange>* ranges, std::string* error) {
  ranges->clear();
  if (file.empty()) return Fail("empty: the program has not stopped its monitor", error);
  while (!file.empty()) {
    MonRange range;
    if (!ParseRange(&file, &range, error)) return false;
    ranges->push_back(std::move(range));
  }
  return true;
}

std::string FormatMon(const std::vector<MonRange>& ranges) {
  std::string file;
  for (const MonRange& range : ranges) {
    ALLOMON_DCHECK_LE("inv.formats.lengths", range.counts.size(), range.count_room);
    Append(HeaderOf(range), &file);
    for (uint32_t i = 0; i < range.count_room; ++i) {
      const MonCount count = i < range.counts.size() ? range.counts[i] : MonCount{};
      Append(Count{PointerTo(count.address), static_cast<long>(count.calls)}, &file);
    }
    file.append(reinterpret_cast<const char*>(range.cells.data()),
                range.cells.size() * sizeof(WORD));
  }
  return file;
}

}  // namespace allomon
