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

// The numbers of a message by field; 0 for those that it has not.
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

// A file that is being decoded: its fields, its strings, and what may still be read of it.
//
// A function that returns false has failed, for which status() has the line.  Only the first
// failure counts, so that callers need not look before their end.
class Source {
 public:
  Source(std::string_view file, size_t max_bytes)
      : file_(file), max_bytes_(max_bytes), left_bytes_(max_bytes) {}

  const absl::Status& status() const { return status_; }
  bool Fail(std::string line);
  // With a line that says what is damaged.
  bool Damaged(const char* what);

  // Counts memory that what is decoded takes.  Fails where it is too much.
  bool Spend(size_t bytes);

  bool ReadStrings();
  const std::vector<std::string_view>& strings() const { return strings_; }

  // One of the file's strings; "" and a failure if there is none of that number.
  std::string_view Text(uint64_t number);
  bool CopyText(uint64_t number, std::string* text);

  // Calls `read`, which returns false to end it, for each field of the file.
  template <typename Read>
  bool ForEachField(Read read) {
    WireReader reader(file_);
    while (reader.Next()) {
      if (!read(reader)) return false;
    }
    return !reader.failed() || Damaged("cut short, or no profile");
  }

  // Reads a message, `what` in failures.  Of a number that comes twice the last one counts.  Calls
  // `read`, which returns false for what is damaged, for each field.
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
