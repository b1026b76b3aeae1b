#include "tools/text/amounts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tools/text/numbers.h"
#include "tracker/formats/scan.h"

namespace allomon::report {
namespace {

constexpr double kTicksPerSecond = 100;

std::string Fixed(double value, int digits, const char* unit) {
  char text[400];  // the largest double has 309 digits before the point
  const int length = snprintf(text, sizeof text, "%.*f%s", digits, value, unit);
  return std::string(text, static_cast<size_t>(length));
}

std::string Bytes(MlmonInt value) {
  constexpr const char* kUnits[] = {" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
  constexpr size_t kLast = sizeof kUnits / sizeof kUnits[0] - 1;
  double scaled = static_cast<double>(value);
  size_t unit = 0;
  // Rounds the value first: 1023.95 would otherwise be shown as 1024.0 of a unit that ends at 1024.
  while (unit < kLast &&
         (scaled >= (unit == 0 ? 1024 : 1023.95) || scaled <= (unit == 0 ? -1024 : -1023.95))) {
    scaled /= 1024;
    ++unit;
  }
  return Fixed(scaled, unit == 0 ? 0 : 1, kUnits[unit]);
}

std::string Seconds(MlmonInt ticks) {
  return Fixed(static_cast<double>(ticks) / kTicksPerSecond, 2, " s");
}

std::string Formatted(const char* format, double value) {
  char text[64];
  snprintf(text, sizeof text, format, value);
  return text;
}

std::string Whole(double value) { return Formatted("%.0f", value); }

std::string Collector(const Mlmon& data) {
  if (data.total_gc == 0) return "";
  return ", and " + Amount(data.kind, data.total_gc) + " by the collector";
}

}  // namespace

const char* UnitName(ProfileKind kind) {
  switch (kind) {
    case ProfileKind::kAlloc:
      return "bytes";
    case ProfileKind::kTime:
      return "hundredths of a second";
    case ProfileKind::kCount:
      return "calls";
  }
  return "";
}

std::string Amount(ProfileKind kind, MlmonInt value) {
  switch (kind) {
    case ProfileKind::kAlloc:
      return Bytes(value);
    case ProfileKind::kTime:
      return Seconds(value);
    case ProfileKind::kCount:
      return Exact(value);
  }
  return "";
}

std::string SignedAmount(ProfileKind kind, MlmonInt value) {
  return (value > 0 ? "+" : "") + Amount(kind, value);
}

std::string SecondsText(double seconds) {
  seconds = std::isfinite(seconds) ? std::clamp(seconds, 0.0, 1e15) : 0;
  if (seconds == 0) return "0 s";
  if (seconds < 1e-6) return Formatted("%.0f ns", seconds * 1e9);
  if (seconds < 1e-3) return Formatted("%.0f us", seconds * 1e6);
  if (seconds < 1) return Formatted("%.0f ms", seconds * 1e3);
  if (seconds < 59.95) return Formatted("%.1f s", seconds);
  // Rounds first: 119.5 s would otherwise be "1 min 60 s".
  seconds = std::round(seconds);
  const double minutes = std::floor(seconds / 60);
  if (minutes < 60) return Whole(minutes) + " min " + Whole(seconds - 60 * minutes) + " s";
  const double hours = std::floor(minutes / 60);
  return Whole(hours) + " h " + Whole(minutes - 60 * hours) + " min";
}

std::string Percentage(double percent) { return Fixed(percent, 1, "%"); }

std::string Times(double ratio) { return "x" + Fixed(ratio, 1, ""); }

std::string Exact(MlmonInt value) {
  std::string text = mlprof::FormatCommas(value);
  if (text[0] == '~') text[0] = '-';  // Standard ML's minus sign
  return text;
}

std::string Digits(MlmonInt value) {
  std::string text;
  internal::AppendDecimal(value, &text);
  return text;
}

std::string TotalsText(const Mlmon& data, bool live) {
  switch (data.kind) {
    case ProfileKind::kAlloc:
      return Bytes(data.total) + (live ? " live (" : " allocated (") + Exact(data.total) +
             " bytes)" + Collector(data);
    case ProfileKind::kTime:
      return Seconds(data.total) + " of CPU time" + Collector(data);
    case ProfileKind::kCount:
      return Exact(data.total) + " calls" + Collector(data);
  }
  return "";
}

double Whole(const Mlmon& data) {
  return static_cast<double>(data.total) + static_cast<double>(data.total_gc);
}

double PercentOf(MlmonInt part, double whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / whole;
}

}  // namespace allomon::report
