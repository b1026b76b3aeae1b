// Makes the text of /metrics from recordings: sums over processes, and by values of their labels.
#ifndef ALLOMON_TOOLS_SERVE_METRICS_H_
#define ALLOMON_TOOLS_SERVE_METRICS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "tracker/formats/recording.h"

namespace allomon::serve {

// ---- Writes Prometheus' text format, version 0.0.4.

inline constexpr char kPrometheusType[] = "text/plain; version=0.0.4; charset=utf-8";

// Makes a text fit for a label's value: UTF-8 without zeros.  U+FFFD replaces other bytes, so two
// texts may become equal.
std::string LabelText(std::string_view text);

// Returns a LabelText() in quotes, with backslashes, quotes and line feeds escaped.
std::string QuotedLabel(std::string_view text);

// Returns "{pid="1",program="x"}"; empty for no labels.  The caller makes sure that names are
// valid.
using PrometheusLabels = std::vector<std::pair<std::string, std::string>>;
std::string LabelSet(const PrometheusLabels& labels);

// Returns a text that reads back as the same number.
std::string PrometheusNumber(double value);

// The sums of a process, or of its part with one value of a label.
struct Figures {
  double allocated_bytes = 0;
  double allocated_blocks = 0;
  double live_bytes = 0;
  double live_blocks = 0;
  double peak_bytes = 0;  // bytes live at the process's peak
  double samples = 0;
  double outlived_bytes = 0;  // of a label's value: live after the label's scopes have ended
};

// Limits for each process: the most values that a label has lines for, by allocated bytes, and the
// most labels, by name.  A metric says how many values are left out.
inline constexpr size_t kMostValues = 1000;
inline constexpr size_t kMostKeys = 16;

struct LabelFigures {
  std::map<std::string, Figures> values;  // by LabelText()
  uint64_t left_out = 0;
};

struct ProcessFigures {
  Figures sums;
  double dropped_samples = 0;
  double dropped_bytes = 0;
  double interval_bytes = 0;  // mean distance of two samples
  double start_seconds = 0;   // since 1970
  double resident_bytes = 0;  // of the process, at its last samples; 0: not known
  bool is_running = false;
  std::map<std::string, LabelFigures> labels;  // by the LabelText() of the key
};

ProcessFigures FiguresOf(const recording::Process& process);

// Counts of the requests to a collector of profiles.
struct PushFigures {
  double taken = 0;
  double refused = 0;
  double dropped = 0;
  double retries = 0;
  double queued = 0;
  double queued_bytes = 0;
  double last_taken_seconds = 0;  // since 1970; 0: never
};

class Metrics {
 public:
  // Adds a process.  Among processes with equal labels, the one that began last wins.
  void Add(const std::string& recording_name, const recording::Process& process, bool is_running);
  void AddUnreadable() { ++unreadable_; }

  // Adds the lines of a collector.
  void SetPushes(const PushFigures& figures) { pushes_ = figures; }

  std::string Text() const;

 private:
  using Key = std::tuple<std::string, uint32_t, std::string>;  // recording, pid, program

  static PrometheusLabels LabelsOf(const Key& key);
  std::string OfServer() const;
  std::string OfPushes() const;
  std::string OfProcesses() const;
  std::string OfLabels() const;
  std::string OfLeftOut() const;
  template <typename Visit>
  void VisitLabels(const Visit& visit) const;

  std::map<Key, ProcessFigures> processes_;
  uint64_t unreadable_ = 0;
  std::optional<PushFigures> pushes_;
};

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_METRICS_H_
