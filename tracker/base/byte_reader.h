// Reads little-endian and LEB128 values out of a byte range and never past its end.
//
// A read that does not fit returns 0 and makes ok() false for good; callers may read a whole record
// and ask once.  No allocation, no lock: may be used while capturing a call stack inside malloc or
// a signal handler.  Does not own the bytes.
#ifndef ALLOMON_TRACKER_BASE_BYTE_READER_H_
#define ALLOMON_TRACKER_BASE_BYTE_READER_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace allomon::internal {

class ByteReader {
 public:
  ByteReader() = default;
  ByteReader(const uint8_t* begin, const uint8_t* end)
      : position_(begin), end_(begin <= end ? end : begin) {}

  const uint8_t* position() const { return position_; }
  size_t remaining() const { return static_cast<size_t>(end_ - position_); }
  bool ok() const { return ok_; }
  // True when nothing is left to read, which a failed read also makes true.
  bool AtEnd() const { return position_ == end_; }

  template <typename T>
  T Read() {
    T value{};
    if (remaining() < sizeof(T)) {
      Fail();
      return value;
    }
    std::memcpy(&value, position_, sizeof(T));
    position_ += sizeof(T);
    return value;
  }

  // Bits past the 64th are dropped, as every reader of DWARF does.
  uint64_t ReadUleb() {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const uint8_t byte = Read<uint8_t>();
      if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) == 0) return value;
    }
  }

  int64_t ReadSleb() {
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
      byte = Read<uint8_t>();
      if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
      shift += 7;
    } while ((byte & 0x80) != 0);
    if (shift < 64 && (byte & 0x40) != 0) value |= ~uint64_t{0} << shift;
    return static_cast<int64_t>(value);
  }

  // Returns a string that ends inside the range, or "" and a failed reader.
  const char* ReadCString() {
    const void* nul = AtEnd() ? nullptr : std::memchr(position_, 0, remaining());
    if (nul == nullptr) {
      Fail();
      return "";
    }
    const char* text = reinterpret_cast<const char*>(position_);
    position_ = static_cast<const uint8_t*>(nul) + 1;
    return text;
  }

  // Returns the string that starts `offset` bytes ahead; the reader does not move.
  const char* StringAt(uint64_t offset) const {
    ByteReader reader = *this;
    reader.Skip(offset);
    return reader.ReadCString();
  }

  void Skip(uint64_t bytes) { (void)Take(bytes); }

  // Returns a reader of the next `bytes` bytes and moves past them.
  ByteReader Take(uint64_t bytes) {
    if (bytes > remaining()) {
      Fail();
      return ByteReader();
    }
    ByteReader part(position_, position_ + bytes);
    position_ += bytes;
    return part;
  }

 private:
  void Fail() {
    ok_ = false;
    position_ = end_;
  }

  const uint8_t* position_ = nullptr;
  const uint8_t* end_ = nullptr;
  bool ok_ = true;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_BASE_BYTE_READER_H_
