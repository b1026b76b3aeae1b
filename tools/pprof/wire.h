// Reads and writes the wire format of protocol buffers: as much of it as pprof's and
// OpenTelemetry's profiles need.
//
// Objects share nothing; a reader refers to the bytes that it was given, which must outlive it.
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

  // Writes nothing for 0, because readers take an absent number for 0.
  void Number(uint32_t field, uint64_t value);
  void Signed(uint32_t field, int64_t value) { Number(field, static_cast<uint64_t>(value)); }
  // Writes 0, too: of a choice between fields, the one that is there counts.
  void Chosen(uint32_t field, uint64_t value);
  void Fixed64(uint32_t field, uint64_t value);
  // Appends a string, or a message that has been written to a string of its own.
  void Bytes(uint32_t field, std::string_view bytes);

  // Writes the tag of a packed field and its length in bytes.  The caller writes the elements next.
  void BeginPacked(uint32_t field, size_t bytes);
  void Varint(uint64_t value);

 private:
  std::string* out_;
};

// The size of a number as a varint: 1 to 10 bytes.
size_t VarintSize(uint64_t value);

// Iterates over the fields of a message, whose bytes may be anything.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  // Goes to the next field.  False at the end, and at bytes that are no field: see failed().
  bool Next();
  // True if the message ends within a field, or has bytes that are no field.
  bool failed() const { return failed_; }

  // The number of the field that Next() has found.
  uint32_t field() const { return field_; }
  bool is_bytes() const { return is_bytes_; }
  uint64_t number() const { return number_; }        // 0 for bytes
  std::string_view bytes() const { return bytes_; }  // empty for numbers
  uint64_t fixed64() const { return fixed64_; }      // 0 for all but fields of 8 bytes

  // Appends the numbers of the field: a single one, or several that are packed.  False if they are
  // damaged.
  bool AppendNumbers(std::vector<uint64_t>* numbers) const;

 private:
  bool Fail();
  bool ReadValue(uint32_t wire_type);
  bool ReadFixed64();
  bool Skip(size_t bytes);

  std::string_view rest_;
  std::string_view bytes_;
  uint64_t number_ = 0;
  uint64_t fixed64_ = 0;
  uint32_t field_ = 0;
  bool is_bytes_ = false;
  bool failed_ = false;
};

// Removes a varint from the front of `bytes`.  False if the bytes do not begin with one.
bool TakeVarint(std::string_view* bytes, uint64_t* value);

}  // namespace allomon::pprof

#endif  // ALLOMON_TOOLS_PPROF_WIRE_H_
