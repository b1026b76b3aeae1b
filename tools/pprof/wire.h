// The wire format of protocol buffers: as much of it as profile.proto needs.
//
// Nothing is shared between objects; a reader refers to the bytes that it was given, which must
// outlive it.
#ifndef ALLOMON_TOOLS_PPROF_WIRE_H_
#define ALLOMON_TOOLS_PPROF_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace allomon::pprof {

// Appends fields to a string.
class WireWriter {
 public:
  explicit WireWriter(std::string* out) : out_(out) {}

  // Leaves out 0, which is what a reader takes an absent number for.
  void Number(uint32_t field, uint64_t value);
  void Signed(uint32_t field, int64_t value) { Number(field, static_cast<uint64_t>(value)); }
  // A string, or a message that has been written to a string of its own.
  void Bytes(uint32_t field, std::string_view bytes);

  // The elements of a packed field: its tag and its length in bytes come first.
  void BeginPacked(uint32_t field, size_t bytes);
  void Varint(uint64_t value);

 private:
  std::string* out_;
};

// Of a number as a varint: 1 to 10 bytes.
size_t VarintSize(uint64_t value);

// Goes over the fields of a message, whose bytes may be anything.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  // False at the end, and where the bytes are no field: see failed().
  bool Next();
  // Whether the bytes end within a field, or are none.
  bool failed() const { return failed_; }

  // Of the field that Next() has found.
  uint32_t field() const { return field_; }
  bool is_bytes() const { return is_bytes_; }
  uint64_t number() const { return number_; }        // 0 for bytes
  std::string_view bytes() const { return bytes_; }  // empty for numbers

  // Appends the field's numbers, of which it has one, or some that are packed.  False if they are
  // damaged.
  bool AppendNumbers(std::vector<uint64_t>* numbers) const;

 private:
  bool Fail();
  bool ReadValue(uint32_t wire_type);
  bool Skip(size_t bytes);

  std::string_view rest_;
  std::string_view bytes_;
  uint64_t number_ = 0;
  uint32_t field_ = 0;
  bool is_bytes_ = false;
  bool failed_ = false;
};

// Takes a varint off the front of `bytes`.  False if there is none.
bool TakeVarint(std::string_view* bytes, uint64_t* value);

}  // namespace allomon::pprof

#endif  // ALLOMON_TOOLS_PPROF_WIRE_H_
