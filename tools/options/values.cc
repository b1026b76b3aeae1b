#include "tools/options/values.h"

namespace allomon::options {
namespace {

constexpr uint64_t kWordBytes = 8;
constexpr int kMostColumns = 10000;
constexpr uint64_t kMostBetweenSamples = uint64_t{1} << 50;

// The power of two that a suffix stands for; 0 without one.
int SuffixShift(std::string_view text) {
  if (text.empty()) return 0;
  switch (text.back()) {
    case 'k':
    case 'K':
      return 10;
    case 'm':
    case 'M':
      return 20;
    case 'g':
    case 'G':
      return 30;
    default:
      return 0;
  }
}

}  // namespace

absl::Status Bad(const std::string& what) { return absl::InvalidArgumentError(what); }

absl::Status ParsePid(const std::string& text, uint32_t* pid) {
  if (ParseNumber(text, pid) && *pid != 0 && *pid <= INT32_MAX) return absl::OkStatus();
  return Bad("\"" + text + "\" is not the id of a process; allomon list shows them");
}

absl::Status BadValue(const char* name, const std::string& value, const std::string& allowed) {
  return Bad(std::string(name) + ": \"" + value + "\" is not " + allowed);
}

bool ParseBytes(std::string_view text, uint64_t* bytes) {
  const int shift = SuffixShift(text);
  if (shift != 0) text.remove_suffix(1);
  if (!ParseNumber(text, bytes) || *bytes > UINT64_MAX >> shift) return false;
  *bytes <<= shift;
  return true;
}

absl::Status ParseTop(const std::string& value, size_t* rows) {
  if (ParseNumber(value, rows)) return absl::OkStatus();
  return BadValue("--top", value, "a number of rows (0: all)");
}

absl::Status ParseWidth(const std::string& value, int* columns) {
  if (ParseNumber(value, columns) && *columns >= 0 && *columns <= kMostColumns) {
    return absl::OkStatus();
  }
  return BadValue("--width", value, "a number of columns (0: as many as it takes)");
}

absl::Status ParseRate(const std::string& value, double* rate) {
  if (ParseNumber(value, rate) && *rate > 0 && *rate <= 1) return absl::OkStatus();
  return BadValue("--rate", value, "a number of samples per word, above 0 and at most 1");
}

absl::Status ParseEvery(const std::string& value, double* rate) {
  uint64_t bytes = 0;
  if (!ParseBytes(value, &bytes) || bytes < kWordBytes || bytes > kMostBetweenSamples) {
    return BadValue("--every", value, "a number of bytes from 8 on, such as 80000 or 512k");
  }
  *rate = double{kWordBytes} / static_cast<double>(bytes);
  return absl::OkStatus();
}

}  // namespace allomon::options
