#ifndef ALLOMON_TOOLS_PPROF_SOURCE_H_
#define ALLOMON_TOOLS_PPROF_SOURCE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "tools/pprof/fields.h"
#include "tools/pprof/wire.h"

namespace allomon::pprof {

// The numeric fields of a message; 0 for fields that it does not have.
class Numbers {
 public:
  static constexpr uint32_t kFields = 16;

  uint64_t operator[](uint32_t field) const { return numbers_[field]; }
  void Set(uint32_t field, uint64_t number) {
    if (field < kFields) numbers_[field] = number;
  }

 private:
  std::array<uint64_t, kFields> numbers_ = {};
};

// A file that is being decoded: its fields, its strings, and the memory that decoding may still
// take.
//
// A function that returns false has failed, and status() has the error line.  Only the first
// failure counts, so callers may look once, at their end.
class Source {
 public:
  Source(std::string_view file, size_t max_bytes)
      : file_(file), max_bytes_(max_bytes), left_bytes_(max_bytes) {}

  const absl::Status& status() const { return status_; }
  bool Fail(std::string line);
  // Fails with a line that names the damaged part, `what`.
  bool Damaged(const char* what);

  // Counts memory that the decoded profile takes.  Fails if it exceeds the limit.
  bool Spend(size_t bytes);

  bool ReadStrings();
  const std::vector<std::string_view>& strings() const { return strings_; }

  // Returns one of the file's strings; "" and a failure if the number is out of range.
  std::string_view Text(uint64_t number);
  bool CopyText(uint64_t number, std::string* text);

  // Calls `read` for each field of the file, until `read` returns false.
  template <typename Read>
  bool ForEachField(Read read) {
    WireReader reader(file_);
    while (reader.Next()) {
      if (!read(reader)) return false;
    }
    return !reader.failed() || Damaged("cut short, or no profile");
  }

  // Reads a message, which failures call `what`.  If a numeric field comes twice, the last one
  // counts.  Calls `read` for each field; it returns false for damaged fields.
  template <typename Read>
  bool ReadMessage(std::string_view message, const char* what, Numbers* numbers, Read read) {
    WireReader reader(message);
    while (reader.Next()) {
      numbers->Set(reader.field(), reader.number());
      if (!read(reader)) return Damaged(what);
    }
    return !reader.failed() || Damaged(what);
  }
  bool ReadMessage(std::string_view message, const char* what, Numbers* numbers) {
    return ReadMessage(message, what, numbers, [](const WireReader&) { return true; });
  }

 private:
  const std::string_view file_;
  const size_t max_bytes_;
  std::vector<std::string_view> strings_;
  size_t left_bytes_;
  absl::Status status_;
};

}  // namespace allomon::pprof

#endif  // ALLOMON_TOOLS_PPROF_SOURCE_H_
