// Reads collapsed stacks.
#include <cmath>
#include <string>
#include <unordered_map>

#include "tools/heap/named_stacks.h"
#include "tools/load/import.h"
#include "tools/load/text_lines.h"
#include "tools/options/values.h"
#include "tools/text/numbers.h"

namespace allomon::interchange {
namespace {

using heap::HeapProfile;
using heap::Metric;

constexpr size_t kMostDigits = 40;

// A number of 0 or more, with or without a fraction.
bool ParseAmount(std::string_view text, double* number) {
  const bool has_digits = text.find_first_not_of("0123456789.") == text.npos;
  return has_digits && text.size() <= kMostDigits && options::ParseNumber(text, number);
}

struct Line {
  std::string_view stack;
  double bytes = 0;
};

// Splits a line at its last blank: the number comes after it.
bool Split(std::string_view text, Line* line) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  const size_t blank = text.find_last_of(" \t");
  if (blank == text.npos) return false;
  line->stack = text.substr(0, blank);
  return ParseAmount(text.substr(blank + 1), &line->bytes);
}

class Reader {
 public:
  Reader(std::string_view text, Metric metric, const ImportLimits& limits)
      : lines_(text), metric_(metric), limits_(limits) {}

  Imported Read() {
    profile_.origin = "collapsed";
    profile_.has_blocks = false;
    profile_.has[static_cast<size_t>(metric_)] = true;
    while (lines_.Next()) {
      if (lines_.line().find_first_not_of(" \t") == std::string_view::npos) continue;
      const absl::Status status = ReadLine();
      if (!status.ok()) return status;
    }
    return std::move(profile_);
  }

 private:
  absl::Status ReadLine() {
    Line line;
    if (!Split(lines_.line(), &line)) {
      return lines_.Error("not \"outermost;...;innermost BYTES\"");
    }
    if (profile_.samples.size() == limits_.samples) {
      return lines_.Error("more stacks than can be read");
    }
    profile_.samples.emplace_back();
    heap::Sample& sample = profile_.samples.back();
    sample[metric_].bytes = line.bytes;
    if (line.stack != kNoStack) ReadStack(line.stack, &sample.stack);
    if (frames_ > limits_.frames || profile_.locations.size() > limits_.locations) {
      return lines_.Error("more frames than can be read");
    }
    return absl::OkStatus();
  }

  // Reads the frames from the end of the text, where the innermost one is.
  void ReadStack(std::string_view text, std::vector<uint32_t>* stack) {
    while (true) {
      const size_t before = text.rfind(';');
      stack->push_back(LocationOf(text.substr(before + 1)));  // npos + 1 is 0
      ++frames_;
      if (before == text.npos) return;
      text = text.substr(0, before);
    }
  }

  // Each distinct frame gets a location and a function of its own, both with the same index.
  uint32_t LocationOf(std::string_view frame) {
    const auto number = static_cast<uint32_t>(profile_.locations.size());
    const auto [at, is_new] = numbers_.try_emplace(frame, number);
    if (is_new) {
      profile_.functions.push_back({UnescapedFrame(frame), "", "", 0});
      profile_.locations.emplace_back();
      profile_.locations.back().lines.push_back({number, 0});
    }
    return at->second;
  }

  TextLines lines_;
  const Metric metric_;
  const ImportLimits& limits_;
  HeapProfile profile_;
  std::unordered_map<std::string_view, uint32_t> numbers_;  // keys are views of the text
  size_t frames_ = 0;
};

}  // namespace

bool LooksLikeCollapsed(std::string_view first_bytes) {
  TextLines lines(first_bytes);
  Line line;
  if (!lines.Next() || lines.line().find('\0') != std::string_view::npos) return false;
  if (lines.line().size() == first_bytes.size()) {  // the line may continue after these bytes
    return first_bytes.find(';') != std::string_view::npos || Split(lines.line(), &line);
  }
  return Split(lines.line(), &line);
}

Imported ImportCollapsed(std::string_view text, Metric metric, const ImportLimits& limits) {
  if (text.size() > limits.text_bytes)
    return absl::InvalidArgumentError("is larger than can be read");
  return Reader(text, metric, limits).Read();
}

}  // namespace allomon::interchange
