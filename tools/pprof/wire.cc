#include "tools/pprof/wire.h"

namespace allomon::pprof {
namespace {

enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

constexpr uint32_t kTypeBits = 3;
constexpr uint32_t kTypeMask = (1 << kTypeBits) - 1;
constexpr uint64_t kMaxField = (1 << 29) - 1;
constexpr int kMaxVarintBytes = 10;

uint64_t Tag(uint32_t field, WireType type) { return uint64_t{field} << kTypeBits | type; }

}  // namespace

size_t VarintSize(uint64_t value) {
  size_t bytes = 1;
  for (; value >= 0x80; value >>= 7) ++bytes;
  return bytes;
}

void WireWriter::Varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) out_->push_back(static_cast<char>(value | 0x80));
  out_->push_back(static_cast<char>(value));
}

void WireWriter::Number(uint32_t field, uint64_t value) {
  if (value != 0) Chosen(field, value);
}

void WireWriter::Chosen(uint32_t field, uint64_t value) {
  Varint(Tag(field, kVarint));
  Varint(value);
}

void WireWriter::Fixed64(uint32_t field, uint64_t value) {
  if (value == 0) return;
  Varint(Tag(field, kFixed64));
  for (int bit = 0; bit < 64; bit += 8) out_->push_back(static_cast<char>(value >> bit));
}

void WireWriter::Bytes(uint32_t field, std::string_view bytes) {
  BeginPacked(field, bytes.size());
  out_->append(bytes);
}

void WireWriter::BeginPacked(uint32_t field, size_t bytes) {
  Varint(Tag(field, kLengthDelimited));
  Varint(bytes);
}

bool TakeVarint(std::string_view* bytes, uint64_t* value) {
  *value = 0;
  for (int i = 0; i < kMaxVarintBytes && static_cast<size_t>(i) < bytes->size(); ++i) {
    const auto byte = static_cast<unsigned char>((*bytes)[i]);
    *value |= uint64_t{byte & 0x7fu} << (7 * i);
    if (byte >= 0x80) continue;
    bytes->remove_prefix(i + 1);
    return true;
  }
  return false;
}

bool WireReader::Fail() {
  failed_ = true;
  rest_ = {};
  return false;
}

bool WireReader::Skip(size_t bytes) {
  if (rest_.size() < bytes) return Fail();
  rest_.remove_prefix(bytes);
  return true;
}

bool WireReader::ReadFixed64() {
  if (rest_.size() < 8) return Fail();
  for (int i = 7; i >= 0; --i) fixed64_ = fixed64_ << 8 | static_cast<unsigned char>(rest_[i]);
  return Skip(8);
}

bool WireReader::ReadValue(uint32_t wire_type) {
  switch (wire_type) {
    case kVarint:
      return TakeVarint(&rest_, &number_) || Fail();
    case kFixed64:
      return ReadFixed64();
    case kFixed32:
      return Skip(4);
    case kLengthDelimited: {
      uint64_t size = 0;
      if (!TakeVarint(&rest_, &size) || size > rest_.size()) return Fail();
      bytes_ = rest_.substr(0, size);
      is_bytes_ = true;
      return Skip(size);
    }
    default:  // groups, which profile.proto does not use
      return Fail();
  }
}

bool WireReader::Next() {
  if (rest_.empty()) return false;
  number_ = 0;
  fixed64_ = 0;
  bytes_ = {};
  is_bytes_ = false;
  uint64_t tag = 0;
  if (!TakeVarint(&rest_, &tag)) return Fail();
  if (tag >> kTypeBits == 0 || tag >> kTypeBits > kMaxField) return Fail();
  field_ = static_cast<uint32_t>(tag >> kTypeBits);
  return ReadValue(tag & kTypeMask);
}

bool WireReader::AppendNumbers(std::vector<uint64_t>* numbers) const {
  if (!is_bytes_) {
    numbers->push_back(number_);
    return true;
  }
  std::string_view packed = bytes_;
  while (!packed.empty()) {
    uint64_t value = 0;
    if (!TakeVarint(&packed, &value)) return false;
    numbers->push_back(value);
  }
  return true;
}

}  // namespace allomon::pprof
