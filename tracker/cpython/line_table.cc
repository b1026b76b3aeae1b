#include "tracker/callstack/stack_window.h"
#include "tracker/cpython/code_names.h"

namespace allomon::cpython {
namespace {

// Kinds of rows.
constexpr int kNoLocation = 15;
constexpr int kLong = 14;
constexpr int kNoColumns = 13;
constexpr int kOneLine = 10;  // and 11 and 12: the number less this is the line difference

// Reads the bytes of a table once, in order.
class Rows {
 public:
  Rows(const uint8_t* table, size_t bytes) : at_(table), end_(table + bytes) {}
  bool AtEnd() const { return at_ == end_; }

  ALLOMON_READS_STACK uint8_t Byte() {
    if (at_ == end_) return 0;
    return *static_cast<const volatile uint8_t*>(at_++);
  }
  // Reads six bits from each byte, lowest first; bit 6 tells that more bytes follow.
  uint32_t Number() {
    uint32_t number = 0;
    uint32_t shift = 0;
    for (uint8_t byte = 0x40; (byte & 0x40) != 0 && shift < 32; shift += 6) {
      byte = Byte();
      number |= uint32_t{byte & 63u} << shift;
    }
    return number;
  }
  // The sign is the lowest bit.
  int64_t Signed() {
    const uint32_t number = Number();
    return (number & 1) != 0 ? -int64_t{number >> 1} : int64_t{number >> 1};
  }
  void Skip(int bytes) {
    for (int i = 0; i < bytes; ++i) Byte();
  }

 private:
  const uint8_t* at_;
  const uint8_t* const end_;
};

// Returns the difference of a row's line to the previous one; reads the rest of the row.
int64_t LinesOf(int kind, Rows* rows) {
  if (kind == kNoLocation) return 0;
  if (kind == kLong || kind == kNoColumns) {
    const int64_t lines = rows->Signed();
    for (int i = 0; kind == kLong && i < 3; ++i) rows->Number();
    return lines;
  }
  rows->Skip(kind >= kOneLine ? 2 : 1);
  return kind >= kOneLine ? kind - kOneLine : 0;
}

uint32_t Positive(int64_t line) {
  return line > 0 && line <= INT32_MAX ? static_cast<uint32_t>(line) : 0;
}

}  // namespace

uint32_t LineOfUnit(const uint8_t* table, size_t table_bytes, int first_line, int unit) {
  if (unit < 0) return Positive(first_line);
  Rows rows(table, table_bytes);
  int64_t line = first_line;
  for (int64_t end = 0; !rows.AtEnd();) {
    const uint8_t head = rows.Byte();
    if ((head & 0x80) == 0) return 0;  // no row begins here
    const int kind = head >> 3 & 15;
    line += LinesOf(kind, &rows);
    end += (head & 7) + 1;
    if (unit < end) return kind == kNoLocation ? 0 : Positive(line);
  }
  return 0;
}

}  // namespace allomon::cpython
