// What /metrics says, from recordings: sums of processes, and of values of their labels.
#ifndef ALLOMON_TOOLS_SERVE_METRICS_H_
#define ALLOMON_TOOLS_SERVE_METRICS_H_

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "tools/serve/prometheus_text.h"
#include "tracker/formats/recording.h"

namespace allomon::serve {

// Of a process, or of what of it has one value of a label.
struct Figures {
  double allocated_bytes = 0;
  double allocated_blocks = 0;
  double live_bytes = 0;
  double live_blocks = 0;
  double peak_bytes = 0;  // live when the process had most
  double samples = 0;
};

// For a label of a process at most so many values have lines, those of which most was allocated; a
// process has at most so many labels, by name.  A metric says how many are left out.
inline constexpr size_t kMostValues = 1000;
inline constexpr size_t kMostKeys = 16;

struct LabelFigures {
  std::map<std::string, Figures> values;  // by LabelText
  uint64_t left_out = 0;
};

struct ProcessFigures {
  Figures sums;
  double dropped_samples = 0;
  double dropped_bytes = 0;
  double interval_bytes = 0;  // between two samples
  double start_seconds = 0;   // since 1970
  bool is_running = false;
  std::map<std::string, LabelFigures> labels;  // by the LabelText of the key
};

ProcessFigures FiguresOf(const recording::Process& process);

class Metrics {
 public:
  // Of two processes with equal labels, the one that began later counts.
  void Add(const std::string& recording_name, const recording::Process& process, bool is_running);
  void AddUnreadable() { ++unreadable_; }

  std::string Text() const;

 private:
  using Key = std::tuple<std::string, uint32_t, std::string>;  // recording, pid, program

  static PrometheusLabels LabelsOf(const Key& key);
  std::string OfServer() const;
  std::string OfProcesses() const;
  std::string OfLabels() const;
  std::string OfLeftOut() const;
  template <typename Visit>
  void VisitLabels(const Visit& visit) const;

  std::map<Key, ProcessFigures> processes_;
  uint64_t unreadable_ = 0;
};

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_METRICS_H_
