// Options of all commands that begin a recording: how often it samples, and how large it gets.
#ifndef ALLOMON_TOOLS_OPTIONS_RECORDING_OPTIONS_H_
#define ALLOMON_TOOLS_OPTIONS_RECORDING_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/options/command_line.h"

namespace allomon::options {

// The rate, by one of several options.
struct GivenRate {
  std::optional<double> samples_per_word;  // unset: the default
  std::string text;                        // the same as ALLOMON_RATE takes it: the user's own
  std::string option;                      // the one that has set it
  std::string second_option;               // another, which is a contradiction
};

// `option` is shown if it contradicts another.
absl::Status SetRate(const char* option, const std::string& value, GivenRate* rate);
absl::Status SetEvery(const std::string& value, GivenRate* rate);
absl::Status SetExact(GivenRate* rate);
absl::Status CheckRate(const GivenRate& rate);

// --rate, --every and --exact.  The presets are texts of the help.
template <typename Options>
std::vector<Option<Options>> RateOptions(GivenRate Options::*rate, const char* preset_rate = "",
                                         const char* preset_every = "") {
  const auto text = [](std::string sentence, const char* preset) {
    return *preset == '\0' ? sentence : sentence + ".";
  };
  return {{"--rate", "R", preset_rate,
           text("samples per word of 8 bytes, above 0 and at most 1", preset_rate).c_str(),
           [rate](const std::string& value, Options* options) {
             return SetRate("--rate", value, &(options->*rate));
           }},
          {"--every", "BYTES", preset_every,
           text("the same, as bytes for each sample (suffixes k, m, g)", preset_every).c_str(),
           [rate](const std::string& value, Options* options) {
             return SetEvery(value, &(options->*rate));
           }},
          {"--exact", "", "", "every block (--rate=1); slow",
           [rate](const std::string&, Options* options) { return SetExact(&(options->*rate)); }}};
}

// --limit: whole segments of a recording, and no more than a reader takes.
absl::Status ParseLimit(const std::string& value, uint64_t* bytes);

}  // namespace allomon::options

#endif  // ALLOMON_TOOLS_OPTIONS_RECORDING_OPTIONS_H_
