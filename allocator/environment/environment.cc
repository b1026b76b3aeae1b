#include "allocator/environment/environment.h"

#include <signal.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "tracker/formats/recording_layout.h"
#include "tracker/profile/control/profile_control.h"
#include "tracker/triggers/settings.h"

namespace allomon {
namespace {

constexpr std::string_view kPrefix = "ALLOMON_";

// strtod() alone would accept "1e-4x", " 1", "0x1" and "nan".
bool ParseRate(const std::string& text, double* rate) {
  if (text.empty() || text.find_first_not_of("0123456789.eE+-") != std::string::npos) return false;
  char* end = nullptr;
  *rate = strtod(text.c_str(), &end);
  return *end == '\0' && *rate >= 0 && *rate <= 1;
}

bool ParseSeed(const std::string& text, uint64_t* seed) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos) return false;
  errno = 0;
  *seed = strtoull(text.c_str(), nullptr, 10);
  return errno == 0;
}

bool ParseFlag(const std::string& text, bool* flag) {
  *flag = text == "1";
  return text == "0" || text == "1";
}

bool ParseHz(const std::string& text, uint32_t* hz) {
  uint64_t value = 0;
  if (!ParseSeed(text, &value) || value < 1 || value > 10000) return false;
  *hz = static_cast<uint32_t>(value);
  return true;
}

// Accepts the signals that are left to the program's own use and whose default action ends the
// process.
bool ParseDumpSignal(const std::string& text, int* signal) {
  *signal = text == "USR1" ? SIGUSR1 : text == "USR2" ? SIGUSR2 : text == "HUP" ? SIGHUP : 0;
  return *signal != 0;
}

// Accepts 1/N with N from 1 to a million; or "no", which is 0.
bool ParseShare(std::string_view text, uint32_t* one_in) {
  *one_in = 0;
  if (text == "no") return true;
  uint64_t number = 0;
  if (text.substr(0, 2) != "1/" || !ParseSeed(std::string(text.substr(2)), &number)) return false;
  *one_in = static_cast<uint32_t>(number);
  return number >= 1 && number <= 1'000'000;
}

// Accepts what ParseShare() does; 1/N may be followed by :report.
bool ParseGuard(std::string_view text, EnvironmentOptions* options) {
  constexpr std::string_view kReport = ":report";
  options->guard_goes_on =
      text.size() > kReport.size() && text.substr(text.size() - kReport.size()) == kReport;
  if (options->guard_goes_on) text.remove_suffix(kReport.size());
  return ParseShare(text, &options->guard_one_in) &&
         (options->guard_one_in != 0 || !options->guard_goes_on);
}

// Accepts a number with an optional suffix k, m or g for powers of 1,024.
bool ParseBytes(std::string text, uint64_t* bytes) {
  if (text.empty()) return false;
  const char unit = text.back();
  const int shift = unit == 'k' ? 10 : unit == 'm' ? 20 : unit == 'g' ? 30 : 0;
  if (shift != 0) text.pop_back();
  if (!ParseSeed(text, bytes) || *bytes > (UINT64_MAX >> shift)) return false;
  *bytes <<= shift;
  return true;
}

bool ParseLimit(const std::string& text, uint64_t* bytes) {
  return ParseBytes(text, bytes) && *bytes >= recording::kLeastLimitBytes &&
         *bytes <= recording::kMostLimitBytes;
}

// Accepts bytes from 1k to 1g as ParseLimit() does, or 0.
bool ParseProbeGap(const std::string& text, std::optional<uint64_t>* gap_bytes) {
  uint64_t bytes = 0;
  const bool is_number = ParseBytes(text, &bytes);
  *gap_bytes = bytes;
  return is_number && (bytes == 0 || (bytes >= 1024 && bytes <= uint64_t{1} << 30));
}

bool ParseProcess(const std::string& text, uint64_t* process) {
  return ParseSeed(text, process) && *process != 0;
}

// "DEVICE:INODE"
bool ParseFile(const std::string& text, uint64_t* device, uint64_t* inode) {
  const size_t colon = text.find(':');
  return colon != std::string::npos && ParseSeed(text.substr(0, colon), device) &&
         ParseProcess(text.substr(colon + 1), inode);
}

// Rejects %n, which numbers files that follow each other.
bool IsRecordingPath(const std::string& text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') continue;
    const char next = ++i < text.size() ? text[i] : '\0';
    if (next != 'p' && next != '%') return false;
  }
  return !text.empty() && text.size() < PATH_MAX;
}

bool IsProfile(const std::string& text) {
  internal::RecordingOptions options;
  return internal::ParseProfile(text, &options);
}

// An unknown sequence such as %q could be part of a name, but is more likely a mistyped %p.
bool IsOut(const std::string& text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') continue;
    const char next = ++i < text.size() ? text[i] : '\0';
    if (next != 'p' && next != 'n' && next != '%') return false;
  }
  return !text.empty();
}

bool IsSave(const std::string& text) {
  triggers::Settings settings;
  std::string_view wrong;
  return triggers::ParseSettings(text, &settings, &wrong);
}

// Whether the first invalid word of the list is empty.
bool IsEmptyWord(const std::string& text) {
  return text.empty() || text.front() == ',' || text.back() == ',' ||
         text.find(",,") != std::string::npos;
}

// Explains the error of an invalid text.
std::string WhatIsWrongWithSave(const std::string& text) {
  triggers::Settings settings;
  std::string_view wrong;
  triggers::ParseSettings(text, &settings, &wrong);
  if (wrong.empty() && IsEmptyWord(text)) return "a word is empty; ";
  if (wrong.empty()) return "it does not say when; ";
  return "'" + std::string(wrong) + "' is not known, out of range or there twice; ";
}

struct Setting {
  const char* name;
  bool (*set)(const std::string& value, EnvironmentOptions* options);
  const char* expected;
  std::string (*what_is_wrong)(const std::string& value) = nullptr;
};

using Options = EnvironmentOptions;

constexpr Setting kSettings[] = {
    {"ALLOMON_PROFILE",
     [](const std::string& value, Options* options) {
       options->profile = value;
       return value == "no" || value == "idle" || IsProfile(value);
     },
     internal::kProfileSyntax},
    {"ALLOMON_PROBES",
     [](const std::string& value, Options* options) {
       return ParseProbeGap(value, &options->probe_gap_bytes);
     },
     "bytes between samples, from 1k to 1g, such as 512k; or 0"},
    {"ALLOMON_RATE",
     [](const std::string& value, Options* options) { return ParseRate(value, &options->rate); },
     "a number in [0, 1] (samples per word), such as 1e-4"},
    {"ALLOMON_HZ",
     [](const std::string& value, Options* options) { return ParseHz(value, &options->hz); },
     "a whole number from 1 to 10000 (looks per second)"},
    {"ALLOMON_OUT",
     [](const std::string& value, Options* options) {
       options->out = value;
       return IsOut(value);
     },
     "the name of a file, such as mlmon.%p.out (%p: the process id; %n: the number of the file; "
     "%%: a percent sign; no other %)"},
    {"ALLOMON_SEED",
     [](const std::string& value, Options* options) {
       return ParseSeed(value, &options->seed.emplace());
     },
     "a number below 2^64"},
    {"ALLOMON_SUMMARY",
     [](const std::string& value, Options* options) { return ParseFlag(value, &options->summary); },
     "0 or 1"},
    {"ALLOMON_SIGTERM",
     [](const std::string& value, Options* options) { return ParseFlag(value, &options->sigterm); },
     "0 or 1"},
    {"ALLOMON_SIGINT",
     [](const std::string& value, Options* options) { return ParseFlag(value, &options->sigint); },
     "0 or 1"},
    {"ALLOMON_EXCLUDE",
     [](const std::string& value, Options* options) {
       options->exclude = value;
       return true;
     },
     "names of functions that are charged to their callers, such as 'MyAlloc,pool::*'; empty: not "
     "even the known ones"},
    {"ALLOMON_DUMP",
     [](const std::string& value, Options* options) {
       return ParseDumpSignal(value, &options->dump_signal);
     },
     "a signal at which to write: USR1, USR2 or HUP"},
    {"ALLOMON_LUA",
     [](const std::string& value, Options* options) { return ParseFlag(value, &options->lua); },
     "0 or 1"},
    {"ALLOMON_BACKEND",
     [](const std::string& value, Options* options) {
       options->backend = value;
       return value == "mimalloc" || value == "host" || value == "system";
     },
     "mimalloc, or host: the program's own malloc, by liballomon-host.so"},
    {"ALLOMON_LEAKS",
     [](const std::string& value, Options* options) {
       options->leaks = value == "exit";
       return value == "exit" || value == "no";
     },
     "exit, or no"},
    {"ALLOMON_MMAP",
     [](const std::string& value, Options* options) { return ParseFlag(value, &options->mmap); },
     "0 or 1"},
    {"ALLOMON_PYTHON",
     [](const std::string& value, Options* options) { return ParseFlag(value, &options->python); },
     "0 or 1"},
    {"ALLOMON_RECORD",
     [](const std::string& value, Options* options) {
       options->record = value;
       return IsRecordingPath(value);
     },
     "the name of a file, such as /tmp/program.%p.rec (%p: the process id; %%: a percent sign; no "
     "other %)"},
    {"ALLOMON_RECORD_INODE",
     [](const std::string& value, Options* options) {
       return ParseFile(value, &options->record_device, &options->record_inode);
     },
     "the numbers of the memory file's device and inode, such as 1:4711"},
    {"ALLOMON_RECORD_LIMIT",
     [](const std::string& value, Options* options) {
       return ParseLimit(value, &options->record_limit_bytes);
     },
     "bytes from 1m to 16g, such as 256m"},
    {"ALLOMON_RECORD_ONLY",
     [](const std::string& value, Options* options) {
       return ParseProcess(value, &options->record_only);
     },
     "the id of the process that is to record"},
    {"ALLOMON_SAVE",
     [](const std::string& value, Options* options) {
       options->save = value;
       return IsSave(value);
     },
     triggers::kSettingsSyntax, WhatIsWrongWithSave},
    {"ALLOMON_GUARD",
     [](const std::string& value, Options* options) { return ParseGuard(value, options); },
     "1/N (one of N sampled blocks), 1/N:report, or no"},
    {"ALLOMON_IN_PLACE",
     [](const std::string& value, Options* options) {
       return ParseShare(value, &options->in_place_one_in);
     },
     "1/N (one of N followed samples), or no"},
};

const Setting* FindSetting(std::string_view name) {
  for (const Setting& setting : kSettings) {
    if (name == setting.name) return &setting;
  }
  return nullptr;
}

constexpr size_t CountOfPreload() {
  size_t count = 0;
  for (const KnownVariable& variable : kVariables) {
    if (variable.reader == VariableReader::kPreload) ++count;
  }
  return count;
}
static_assert(CountOfPreload() == sizeof(kSettings) / sizeof(kSettings[0]),
              "kVariables has the same variables");

// Reports an unknown variable; accepts variables that other components read.
bool PassOver(const std::string& name, void (*say)(const std::string& line), std::string* error) {
  if (FindVariable(name) != nullptr) return true;
  const KnownVariable* const meant = NearestVariable(name);
  std::string line = name + ": unknown";
  if (meant != nullptr && meant->bounds_what_is_written) {
    *error = line + "; " + meant->name + " is known, and would bound what is written";
    return false;
  }
  line += ", and ignored";
  if (meant != nullptr) line += std::string("; ") + meant->name + " is known";
  say(line);
  return true;
}

bool SetOption(const Setting& setting, const std::string& value, EnvironmentOptions* options,
               std::string* error) {
  if (setting.set(value, options)) return true;
  const std::string wrong = setting.what_is_wrong == nullptr ? "" : setting.what_is_wrong(value);
  *error = std::string(setting.name) + "=" + value + ": " + wrong + "expected " + setting.expected;
  return false;
}

}  // namespace

bool ReadEnvironment(char** variables, EnvironmentOptions* options,
                     void (*say)(const std::string& line), std::string* error) {
  for (; variables != nullptr && *variables != nullptr; ++variables) {
    const std::string_view variable = *variables;
    if (variable.substr(0, kPrefix.size()) != kPrefix) continue;
    const size_t equals = variable.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string name(variable.substr(0, equals));
    const Setting* const setting = FindSetting(name);
    const bool goes_on =
        setting == nullptr
            ? PassOver(name, say, error)
            : SetOption(*setting, std::string(variable.substr(equals + 1)), options, error);
    if (!goes_on) return false;
  }
  return true;
}

bool NamesProcess(const std::string& out) { return ExpandOut(out, 1, 0) != ExpandOut(out, 2, 0); }

std::string ExpandOut(const std::string& out, int64_t process_id, uint64_t file_number) {
  std::string expanded;
  for (size_t i = 0; i < out.size(); ++i) {
    const char next = out[i] == '%' && i + 1 < out.size() ? out[i + 1] : '\0';
    if (next == 'p') expanded += std::to_string(process_id);
    if (next == 'n') expanded += std::to_string(file_number);
    if (next == '%') expanded += '%';
    if (next == 'p' || next == 'n' || next == '%') {
      ++i;
    } else {
      expanded += out[i];
    }
  }
  return expanded;
}

}  // namespace allomon
