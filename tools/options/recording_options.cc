#include "tools/options/recording_options.h"

#include <cstdio>

#include "tools/options/values.h"
#include "tracker/formats/recording_layout.h"

namespace allomon::options {
namespace {

void Note(const char* option, GivenRate* rate) {
  if (rate->option.empty()) rate->option = option;
  if (rate->option != option) rate->second_option = option;
}

}  // namespace

absl::Status SetRate(const char* option, const std::string& value, GivenRate* rate) {
  Note(option, rate);
  rate->text = value;
  return ParseRate(value, &rate->samples_per_word.emplace());
}

absl::Status SetEvery(const std::string& value, GivenRate* rate) {
  Note("--every", rate);
  const absl::Status status = ParseEvery(value, &rate->samples_per_word.emplace());
  char text[32];
  snprintf(text, sizeof text, "%.17g", *rate->samples_per_word);
  rate->text = text;
  return status;
}

absl::Status SetExact(GivenRate* rate) {
  Note("--exact", rate);
  rate->samples_per_word = 1;
  rate->text = "1";
  return absl::OkStatus();
}

absl::Status CheckRate(const GivenRate& rate) {
  if (rate.second_option.empty()) return absl::OkStatus();
  return Bad(rate.option + " and " + rate.second_option + ": choose one");
}

absl::Status ParseLimit(const std::string& value, uint64_t* bytes) {
  if (!ParseBytes(value, bytes) || *bytes < recording::kLeastLimitBytes ||
      *bytes > recording::kMostReadBytes) {
    const std::string most = std::to_string(recording::kMostReadBytes >> 30) + "g";
    return BadValue("--limit", value, "a size from 1m to " + most + ", such as 256m");
  }
  *bytes = *bytes / recording::kSegmentBytes * recording::kSegmentBytes;
  return absl::OkStatus();
}

}  // namespace allomon::options
