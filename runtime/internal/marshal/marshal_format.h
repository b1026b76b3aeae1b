// The bytes of a marshalled graph: constants, numbers, checksum.  Grammar: MARSHAL.md.
#ifndef ALLOMON_RUNTIME_INTERNAL_MARSHAL_MARSHAL_FORMAT_H_
#define ALLOMON_RUNTIME_INTERNAL_MARSHAL_MARSHAL_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace allomon::gc::internal {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are written as they lie in memory");

// The magic number has a byte above 127 and a line end, as PNG's has: text-only transports damage
// them.
inline constexpr char kMarshalMagic[8] = {'\x89', 'A', 'L', 'M', 'G', 'C', '\r', '\n'};
inline constexpr uint32_t kMarshalVersion = 1;

struct MarshalHeader {
  char magic[8];
  uint32_t version;
  uint32_t zero;
  uint64_t length_bytes;  // header included
  uint64_t checksum;      // of the bytes after the header
};
static_assert(sizeof(MarshalHeader) == 32);

// The sum protects against accidents, not against forgery.  Each step is a bijection of the state,
// so two texts that differ in only one word never have the same sum.
inline uint64_t MarshalChecksum(std::string_view bytes) {
  uint64_t sum = 0x9e3779b97f4a7c15;
  for (size_t i = 0; i < bytes.size(); i += 8) {
    uint64_t word = 0;
    memcpy(&word, bytes.data() + i, bytes.size() - i < 8 ? bytes.size() - i : 8);
    sum = (sum ^ word) * 0xd6e8feb86659fd93;
    sum ^= sum >> 32;
  }
  return sum;
}

// Reads bytes that may be malformed.  A read never goes beyond the end; there it returns false.
class MarshalSource {
 public:
  explicit MarshalSource(std::string_view bytes)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  size_t left() const { return static_cast<size_t>(end_ - at_); }

  // Reads seven bits a byte, lowest first; the high bit says that more bytes follow.  False at the
  // end of the bytes.  False also for a number that is written longer than it needs to be, so that
  // a graph has only one text.
  bool Number(uint64_t* value) {
    if (at_ == end_) return false;
    *value = static_cast<unsigned char>(*at_++);
    return *value < 0x80 || RestOfNumber(value);
  }

  bool Take(uint64_t size_bytes, const char** start) {
    if (size_bytes > left()) return false;
    *start = at_;
    at_ += size_bytes;
    return true;
  }

 private:
  bool RestOfNumber(uint64_t* value) {
    *value &= 0x7f;
    for (int shift = 7; shift < 64 && at_ != end_; shift += 7) {
      const uint64_t byte = static_cast<unsigned char>(*at_++);
      if (shift == 63 && byte > 1) return false;
      *value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return byte != 0;
    }
    return false;
  }

  const char* at_;
  const char* end_;
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_MARSHAL_MARSHAL_FORMAT_H_
