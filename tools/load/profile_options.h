// Options of all commands that read heap profiles, each with one meaning everywhere.  Options is
// the type of a command's options.
#ifndef ALLOMON_TOOLS_LOAD_PROFILE_OPTIONS_H_
#define ALLOMON_TOOLS_LOAD_PROFILE_OPTIONS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tools/heap/born.h"
#include "tools/heap/heap_profile.h"
#include "tools/heap/labels.h"
#include "tools/options/choices.h"
#include "tools/options/command_line.h"
#include "tools/options/values.h"
#include "tools/symbols/name_sources.h"

namespace allomon::load {

constexpr options::Choice<heap::Metric> Named(heap::Metric metric) {
  return {heap::MetricName(metric), metric};
}
inline constexpr options::Choice<heap::Metric> kMetrics[] = {
    Named(heap::Metric::kAllocated), Named(heap::Metric::kLive),
    Named(heap::Metric::kPeak),      Named(heap::Metric::kTemporary),
    Named(heap::Metric::kPromoted),  Named(heap::Metric::kDiedYoung)};

inline absl::Status ParseDebugDir(const std::string& value, std::string* folder) {
  *folder = value;
  if (!value.empty() && value[0] == '/') return absl::OkStatus();
  return options::BadValue("--debug-dir", value, "a folder such as /sysroot/usr/lib/debug");
}

// Fails with one line if the output is one of the files that are read: writing it would be the end
// of that profile.
absl::Status CheckOutput(const std::string& option, const std::string& output,
                         const std::vector<std::string>& files);

// Reads a pack of symbols.  Fails with one line that names the file.
absl::Status AddSymbols(const std::string& file, NameSources* sources);

// Names the servers that are asked; "" stands for those of $DEBUGINFOD_URLS.
absl::Status SetDebuginfod(const std::string& urls, NameSources* sources);

inline absl::Status ParseByLabel(const std::string& value, std::string* key) {
  const auto parsed = heap::KeyOfBy(value);
  *key = parsed.value_or("");
  if (parsed.has_value()) return absl::OkStatus();
  return options::BadValue("--by", value, "label:KEY, such as label:tenant, or type, or source");
}

inline absl::Status AddLabelMatch(const char* name, const std::string& value,
                                  std::vector<heap::LabelMatch>* matches) {
  heap::LabelMatch match;
  if (!heap::ParseLabelMatch(value, &match)) {
    return options::BadValue(name, value, "KEY=VALUE, such as tenant=acme, or KEY");
  }
  matches->push_back(std::move(match));
  return absl::OkStatus();
}

inline absl::Status ParseBorn(const std::string& value, heap::Born* born) {
  const auto parsed = heap::ParseBorn(value);
  *born = parsed.value_or(heap::Born());
  if (parsed.has_value()) return absl::OkStatus();
  return options::BadValue("--born", value,
                           "two ages such as 10m..2m, or one: 10m.. or ..2m (ms, s, m, h, d)");
}

template <typename Options>
options::Option<Options> BornOption(heap::Born Options::*born) {
  return {"--born", "AGE..AGE", "",
          "only what is live of blocks born in that time, as ages at the profile's end: 10m..2m",
          [born](const std::string& value, Options* options) {
            return ParseBorn(value, &(options->*born));
          }};
}

template <typename Options>
options::Option<Options> OutlivedOption(heap::Outlived Options::*outlived) {
  return {"--outlived", options::Argument::Optional("KEY"), "",
          "only what is live of scopes of labels that have ended, or of scopes of the label KEY",
          [outlived](const std::string& value, Options* options) {
            options->*outlived = {true, value};
            return absl::OkStatus();
          }};
}

template <typename Options>
options::Option<Options> DebugDirOption(NameSources Options::*sources) {
  return {"--debug-dir", "DIR", "", "debug files are looked for there, too",
          [sources](const std::string& value, Options* options) {
            return ParseDebugDir(value, &(options->*sources).debug_dir);
          }};
}

template <typename Options>
options::Option<Options> SymbolsOption(NameSources Options::*sources) {
  return {"--symbols", "FILE", "",
          "names of code whose files are not here, by allomon symbols pack; again for more",
          [sources](const std::string& value, Options* options) {
            return AddSymbols(value, &(options->*sources));
          }};
}

// --symbols and --debuginfod.
template <typename Options>
std::vector<options::Option<Options>> NamesFromElsewhere(NameSources Options::*sources) {
  return {SymbolsOption(sources),
          {"--debuginfod", options::Argument::Optional("URL"), "",
           "asks this server of debuginfod for files that are missing, or those that "
           "DEBUGINFOD_URLS names",
           [sources](const std::string& value, Options* options) {
             return SetDebuginfod(value, &(options->*sources));
           }}};
}

// --debug-dir, --symbols and --debuginfod.
template <typename Options>
std::vector<options::Option<Options>> NameOptions(NameSources Options::*sources) {
  return std::vector<options::Option<Options>>{DebugDirOption(sources)} +
         NamesFromElsewhere(sources);
}

// --by, --focus-label and --ignore-label.
template <typename Options>
std::vector<options::Option<Options>> LabelOptions(
    const char* meaning_of_by, std::string Options::*key,
    heap::LabelSelection& (*labels)(Options* options)) {
  return {{"--by", "label:KEY|type|source", "", meaning_of_by,
           [key](const std::string& value, Options* options) {
             return ParseByLabel(value, &(options->*key));
           }},
          {"--focus-label", "KEY=VALUE", "",
           "only blocks with that label.  KEY alone: with any value of it",
           [labels](const std::string& value, Options* options) {
             return AddLabelMatch("--focus-label", value, &labels(options).focus);
           }},
          {"--ignore-label", "KEY=VALUE", "", "only blocks without that label",
           [labels](const std::string& value, Options* options) {
             return AddLabelMatch("--ignore-label", value, &labels(options).ignore);
           }}};
}

}  // namespace allomon::load

#endif  // ALLOMON_TOOLS_LOAD_PROFILE_OPTIONS_H_
