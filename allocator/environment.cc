#include "allocator/environment.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "tracker/profile/profile_control.h"

namespace allomon {
namespace {

constexpr std::string_view kPrefix = "ALLOMON_";

// strtod alone would take "1e-4x", " 1", "0x1" and "nan".
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

bool Fail(const std::string& name, const std::string& value, const char* allowed,
          std::string* error) {
  *error = name + "=" + value + ": expected " + allowed;
  return false;
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

// 1/N, N from 1 to a million, and perhaps :report; or no.
bool ParseGuard(std::string_view text, EnvironmentOptions* options) {
  constexpr std::string_view kReport = ":report";
  options->guard_one_in = 0;
  if (text == "no") return true;
  options->guard_goes_on =
      text.size() > kReport.size() && text.substr(text.size() - kReport.size()) == kReport;
  if (options->guard_goes_on) text.remove_suffix(kReport.size());
  uint64_t one_in = 0;
  if (text.substr(0, 2) != "1/" || !ParseSeed(std::string(text.substr(2)), &one_in)) return false;
  options->guard_one_in = static_cast<uint32_t>(one_in);
  return one_in >= 1 && one_in <= 1'000'000;
}

bool IsProfile(const std::string& text) {
  ProfileKind kind;
  ProfileStyle style;
  return internal::ParseProfile(text, &kind, &style);
}

bool SetOption(const std::string& name, const std::string& value, EnvironmentOptions* options,
               std::string* error) {
  if (name == "ALLOMON_RATE") {
    return ParseRate(value, &options->rate) ||
           Fail(name, value, "a number in [0, 1] (samples per word), such as 1e-4", error);
  }
  if (name == "ALLOMON_OUT") {
    options->out = value;
    return !value.empty() || Fail(name, value, "the name of a file, such as mlmon.%p.out", error);
  }
  if (name == "ALLOMON_SEED") {
    uint64_t seed = 0;
    if (!ParseSeed(value, &seed)) return Fail(name, value, "a number below 2^64", error);
    options->seed = seed;
    return true;
  }
  if (name == "ALLOMON_SUMMARY") {
    return ParseFlag(value, &options->summary) || Fail(name, value, "0 or 1", error);
  }
  if (name == "ALLOMON_SIGTERM") {
    return ParseFlag(value, &options->sigterm) || Fail(name, value, "0 or 1", error);
  }
  if (name == "ALLOMON_PROFILE") {
    options->profile = value;
    return value == "no" || IsProfile(value) || Fail(name, value, internal::kProfileSyntax, error);
  }
  if (name == "ALLOMON_HZ") {
    return ParseHz(value, &options->hz) ||
           Fail(name, value, "a whole number from 1 to 10000 (looks per second)", error);
  }
  if (name == "ALLOMON_GUARD") {
    return ParseGuard(value, options) ||
           Fail(name, value, "1/N (one of N sampled blocks), 1/N:report, or no", error);
  }
  *error = name +
           ": unknown; known are ALLOMON_PROFILE, ALLOMON_RATE, ALLOMON_HZ, ALLOMON_OUT, "
           "ALLOMON_SEED, ALLOMON_SUMMARY, ALLOMON_SIGTERM, ALLOMON_GUARD";
  return false;
}

}  // namespace

bool ReadEnvironment(char** variables, EnvironmentOptions* options, std::string* error) {
  for (; variables != nullptr && *variables != nullptr; ++variables) {
    const std::string_view variable = *variables;
    if (variable.substr(0, kPrefix.size()) != kPrefix) continue;
    const size_t equals = variable.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string name(variable.substr(0, equals));
    if (!SetOption(name, std::string(variable.substr(equals + 1)), options, error)) return false;
  }
  return true;
}

bool NamesProcess(const std::string& out) { return ExpandOut(out, 1) != ExpandOut(out, 2); }

std::string ExpandOut(const std::string& out, int64_t process_id) {
  std::string expanded;
  for (size_t i = 0; i < out.size(); ++i) {
    const char next = out[i] == '%' && i + 1 < out.size() ? out[i + 1] : '\0';
    if (next == 'p') expanded += std::to_string(process_id);
    if (next == '%') expanded += '%';
    if (next == 'p' || next == '%') {
      ++i;
    } else {
      expanded += out[i];
    }
  }
  return expanded;
}

}  // namespace allomon
