// Profiles written field by field, as another writer might write them, or as no writer would.
#ifndef ALLOMON_TESTS_PPROF_HAND_MADE_H_
#define ALLOMON_TESTS_PPROF_HAND_MADE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/pprof/wire.h"

namespace allomon::pprof::testing {

// A message.  Unlike the writer of files, it also writes zeros.
class Message {
 public:
  Message& Number(uint32_t field, uint64_t number) {
    WireWriter writer(&bytes_);
    writer.Varint(uint64_t{field} << 3);
    writer.Varint(number);
    return *this;
  }
  Message& Bytes(uint32_t field, std::string_view bytes) {
    WireWriter(&bytes_).Bytes(field, bytes);
    return *this;
  }
  Message& Add(uint32_t field, const Message& message) { return Bytes(field, message.bytes_); }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// The table of strings of a profile.
inline Message Strings(const std::vector<std::string>& strings) {
  Message table;
  for (const std::string& text : strings) table.Bytes(6, text);
  return table;
}

// Returns a profile's two sample types, whose names and units are the strings 1, 2 and 3, 4.
inline Message TwoTypes() {
  return Message()
      .Add(1, Message().Number(1, 1).Number(2, 2))
      .Add(1, Message().Number(1, 3).Number(2, 4));
}

}  // namespace allomon::pprof::testing

#endif  // ALLOMON_TESTS_PPROF_HAND_MADE_H_
