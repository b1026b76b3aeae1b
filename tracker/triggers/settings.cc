#include "tracker/triggers/settings.h"

#include <climits>

namespace allomon::triggers {
namespace {

constexpr uint64_t kNanosPerSecond = 1'000'000'000;
constexpr uint64_t kMostSeconds = uint64_t{1000} * 86'400;

bool TakePrefix(std::string_view prefix, std::string_view* text) {
  if (text->substr(0, prefix.size()) != prefix) return false;
  text->remove_prefix(prefix.size());
  return true;
}

// Parses at most nine digits, so that nothing overflows.
bool ParseNumber(std::string_view text, uint64_t least, uint64_t most, uint64_t* number) {
  if (text.empty() || text.size() > 9) return false;
  *number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    *number = *number * 10 + static_cast<uint64_t>(c - '0');
  }
  return *number >= least && *number <= most;
}

bool SetPercent(std::string_view text, uint64_t most, uint32_t* percent) {
  uint64_t number = 0;
  if (*percent != 0 || text.empty() || text.back() != '%') return false;
  text.remove_suffix(1);
  if (!ParseNumber(text, 1, most, &number)) return false;
  *percent = static_cast<uint32_t>(number);
  return true;
}

uint64_t SecondsOf(char unit) {
  return unit == 's' ? 1 : unit == 'm' ? 60 : unit == 'h' ? 3600 : unit == 'd' ? 86'400 : 0;
}

bool SetTime(std::string_view text, uint64_t* nanos) {
  uint64_t number = 0;
  if (*nanos != 0 || text.empty()) return false;
  const uint64_t unit = SecondsOf(text.back());
  text.remove_suffix(1);
  if (unit == 0 || !ParseNumber(text, 1, kMostSeconds / unit, &number)) return false;
  *nanos = number * unit * kNanosPerSecond;
  return true;
}

bool SetKeep(std::string_view text, uint32_t* keep) {
  uint64_t number = 0;
  if (*keep != 0 || !ParseNumber(text, 1, 99, &number)) return false;
  *keep = static_cast<uint32_t>(number);
  return true;
}

bool SetDirectory(std::string_view text, std::string_view* directory) {
  if (!directory->empty() || text.empty() || text.size() >= PATH_MAX) return false;
  *directory = text;
  return true;
}

bool SetWord(std::string_view word, Settings* settings) {
  if (TakePrefix("peak+", &word)) return SetPercent(word, 1000, &settings->peak_percent);
  if (TakePrefix("every=", &word)) return SetTime(word, &settings->every_nanos);
  if (TakePrefix("limit=", &word)) return SetPercent(word, 99, &settings->limit_percent);
  if (TakePrefix("age=", &word)) return SetTime(word, &settings->age_nanos);
  if (TakePrefix("keep=", &word)) return SetKeep(word, &settings->keep);
  return TakePrefix("dir=", &word) && SetDirectory(word, &settings->directory);
}

bool HasTrigger(const Settings& settings) {
  return settings.peak_percent != 0 || settings.every_nanos != 0 || settings.limit_percent != 0 ||
         settings.age_nanos != 0;
}

}  // namespace

bool ParseSettings(std::string_view text, Settings* settings, std::string_view* wrong) {
  *settings = {};
  settings->keep = 0;  // not said yet
  while (true) {
    const size_t comma = text.find(',');
    *wrong = text.substr(0, comma);
    if (!SetWord(*wrong, settings)) return false;
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  *wrong = {};
  if (settings->keep == 0) settings->keep = Settings().keep;
  return HasTrigger(*settings);
}

}  // namespace allomon::triggers
