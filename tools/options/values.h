// Values of options: numbers, sizes in bytes, rates.  Pure functions.
#ifndef ALLOMON_TOOLS_OPTIONS_VALUES_H_
#define ALLOMON_TOOLS_OPTIONS_VALUES_H_

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/charconv.h"

namespace allomon::options {

absl::Status Bad(const std::string& what);
// "--rate: "5" is not a number ...".
absl::Status BadValue(const char* name, const std::string& value, const std::string& allowed);

// The whole text is a number that fits; no spaces, no plus sign.
template <typename Number>
bool ParseNumber(std::string_view text, Number* number) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *number);
  return error == std::errc() && rest == end;
}

// The id of a process.
absl::Status ParsePid(const std::string& text, uint32_t* pid);

// libc++ has std::from_chars for doubles from its version 20 on.  Abseil's takes 0x1, too.
inline bool ParseNumber(std::string_view text, double* number) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = absl::from_chars(text.data(), end, *number);
  const bool is_decimal = text.find_first_of("xX") == text.npos;
  return error == std::errc() && rest == end && is_decimal;
}

// Bytes, with k, m or g for powers of 1,024, in either case.
bool ParseBytes(std::string_view text, uint64_t* bytes);

// --top and --width of all commands.
absl::Status ParseTop(const std::string& value, size_t* rows);
absl::Status ParseWidth(const std::string& value, int* columns);

// Samples per word of 8 bytes, above 0 and at most 1.
absl::Status ParseRate(const std::string& value, double* rate);
// The same, as the bytes between two samples.
absl::Status ParseEvery(const std::string& value, double* rate);

}  // namespace allomon::options

#endif  // ALLOMON_TOOLS_OPTIONS_VALUES_H_
