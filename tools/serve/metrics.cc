#include "tools/serve/metrics.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "tools/heap/program_name.h"
#include "tools/text/plain_text.h"
#include "tracker/formats/version.h"

namespace allomon::serve {
namespace {

constexpr char kReplacement[] = "\xef\xbf\xbd";  // U+FFFD

// A metric of a process.
struct ProcessMetric {
  const char* name;
  const char* type;
  const char* help;
  double (*value)(const ProcessFigures& process);  // NaN: not known, and no line
};
constexpr ProcessMetric kOfProcesses[] = {
    {"allomon_allocated_bytes_total", "counter",
     "Bytes allocated since the recording began, as estimated from samples.",
     [](const ProcessFigures& process) { return process.sums.allocated_bytes; }},
    {"allomon_allocated_blocks_total", "counter",
     "Blocks allocated since the recording began, as estimated from samples.",
     [](const ProcessFigures& process) { return std::round(process.sums.allocated_blocks); }},
    {"allomon_live_bytes", "gauge", "Bytes of blocks that have not been freed.",
     [](const ProcessFigures& process) { return process.sums.live_bytes; }},
    {"allomon_live_blocks", "gauge", "Blocks that have not been freed.",
     [](const ProcessFigures& process) { return std::round(process.sums.live_blocks); }},
    {"allomon_peak_bytes", "gauge", "Bytes that were live when most were.",
     [](const ProcessFigures& process) { return process.sums.peak_bytes; }},
    {"process_resident_memory_bytes", "gauge",
     "Resident memory of the process at its last samples, of which live bytes are a part.",
     [](const ProcessFigures& process) {
       return process.resident_bytes > 0 ? process.resident_bytes : std::nan("");
     }},
    {"allomon_samples_total", "counter", "Blocks that were sampled.",
     [](const ProcessFigures& process) { return process.sums.samples; }},
    {"allomon_dropped_samples_total", "counter",
     "Sampled blocks that the recording had no room for.",
     [](const ProcessFigures& process) { return process.dropped_samples; }},
    {"allomon_dropped_bytes_total", "counter", "Bytes of those blocks.",
     [](const ProcessFigures& process) { return process.dropped_bytes; }},
    {"allomon_sample_interval_bytes", "gauge", "Mean distance of samples; 8: every block.",
     [](const ProcessFigures& process) { return process.interval_bytes; }},
    {"allomon_recording_start_time_seconds", "gauge", "When the recording began, since 1970.",
     [](const ProcessFigures& process) { return process.start_seconds; }},
    {"allomon_recording_running", "gauge", "1: the process runs and records; 0: it does not.",
     [](const ProcessFigures& process) { return process.is_running ? 1.0 : 0.0; }},
};

// A metric of a label's value in a process.
struct LabelMetric {
  const char* name;
  const char* type;
  const char* help;
  double Figures::*value;
};
constexpr LabelMetric kOfLabels[] = {
    {"allomon_label_allocated_bytes_total", "counter",
     "Bytes allocated under a value of a label, as estimated from samples.",
     &Figures::allocated_bytes},
    {"allomon_label_live_bytes", "gauge", "Bytes of blocks that have not been freed.",
     &Figures::live_bytes},
    {"allomon_label_peak_bytes", "gauge", "Bytes that were live when the process had most.",
     &Figures::peak_bytes},
    {"allomon_label_outlived_bytes", "gauge",
     "Bytes of blocks that are live after their scope of the label has ended.",
     &Figures::outlived_bytes},
    {"allomon_label_samples_total", "counter", "Blocks that were sampled.", &Figures::samples},
};

struct PushMetric {
  const char* name;
  const char* type;
  const char* help;
  double PushFigures::*value;
};
constexpr PushMetric kOfPushes[] = {
    {"allomon_otlp_taken_total", "counter", "Requests that the collector took.",
     &PushFigures::taken},
    {"allomon_otlp_refused_total", "counter",
     "Requests that the collector refused, in whole or in part.", &PushFigures::refused},
    {"allomon_otlp_dropped_total", "counter", "Requests that found no room in the queue.",
     &PushFigures::dropped},
    {"allomon_otlp_retries_total", "counter", "Failures after which a request was sent again.",
     &PushFigures::retries},
    {"allomon_otlp_queued", "gauge", "Requests that wait.", &PushFigures::queued},
    {"allomon_otlp_queued_bytes", "gauge", "Their bytes, compressed.", &PushFigures::queued_bytes},
    {"allomon_otlp_last_taken_time_seconds", "gauge",
     "When the collector last took a request; 0: never.", &PushFigures::last_taken_seconds},
};

std::string Head(const char* name, const char* type, const char* help) {
  return std::string("# HELP ") + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
}

std::string Line(const std::string& name, const PrometheusLabels& labels, double value) {
  return name + LabelSet(labels) + " " + PrometheusNumber(value) + "\n";
}

}  // namespace

std::string LabelText(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto code_point = FirstCodePoint(text);
    const bool is_good = code_point && code_point->value != 0;
    const size_t length = code_point ? code_point->length_bytes : 1;
    out += is_good ? text.substr(0, length) : std::string_view(kReplacement);
    text.remove_prefix(length);
  }
  return out;
}

std::string QuotedLabel(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string LabelSet(const PrometheusLabels& labels) {
  std::string out;
  for (const auto& [name, value] : labels) {
    out += (out.empty() ? "{" : ",") + name + "=" + QuotedLabel(value);
  }
  return out.empty() ? out : out + "}";
}

std::string PrometheusNumber(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Inf" : "+Inf";
  constexpr double kWhole = 9007199254740992;  // 2^53: integers below are exact
  if (std::fabs(value) < kWhole && value == std::trunc(value)) {
    return std::to_string(static_cast<int64_t>(value));
  }
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return std::string(text, end);
}

void Metrics::Add(const std::string& recording_name, const recording::Process& process,
                  bool is_running) {
  const std::string program = heap::ProgramName(process.program, process.command);
  const Key key(LabelText(recording_name), process.record.pid, LabelText(program));
  ProcessFigures figures = FiguresOf(process);
  figures.is_running = is_running;
  const auto [place, is_new] = processes_.try_emplace(key);
  if (is_new || place->second.start_seconds <= figures.start_seconds) {
    place->second = std::move(figures);
  }
}

PrometheusLabels Metrics::LabelsOf(const Key& key) {
  return {{"pid", std::to_string(std::get<1>(key))},
          {"program", std::get<2>(key)},
          {"recording", std::get<0>(key)}};
}

std::string Metrics::OfServer() const {
  const auto metric = [](const char* name, const char* help, const PrometheusLabels& labels,
                         double value) {
    return Head(name, "gauge", help) + Line(name, labels, value);
  };
  return metric("allomon_build_info", "The version of the server.", {{"version", kVersion}}, 1) +
         metric("allomon_processes", "Processes in the recordings.", {},
                static_cast<double>(processes_.size())) +
         metric("allomon_recordings_unreadable", "Recordings left out.", {},
                static_cast<double>(unreadable_));
}

std::string Metrics::OfPushes() const {
  std::string text;
  if (!pushes_) return text;
  for (const PushMetric& metric : kOfPushes) {
    text += Head(metric.name, metric.type, metric.help) +
            Line(metric.name, {}, (*pushes_).*metric.value);
  }
  return text;
}

std::string Metrics::OfProcesses() const {
  std::string text;
  for (const ProcessMetric& metric : kOfProcesses) {
    text += Head(metric.name, metric.type, metric.help);
    for (const auto& [key, process] : processes_) {
      const double value = metric.value(process);
      if (!std::isnan(value)) text += Line(metric.name, LabelsOf(key), value);
    }
  }
  return text;
}

template <typename Visit>
void Metrics::VisitLabels(const Visit& visit) const {
  for (const auto& [key, process] : processes_) {
    for (const auto& [label, figures] : process.labels) {
      PrometheusLabels labels = LabelsOf(key);
      labels.emplace_back("label", label);
      visit(std::move(labels), figures);
    }
  }
}

std::string Metrics::OfLabels() const {
  std::string text;
  for (const LabelMetric& metric : kOfLabels) {
    text += Head(metric.name, metric.type, metric.help);
    VisitLabels([&](PrometheusLabels labels, const LabelFigures& figures) {
      labels.emplace_back("value", "");
      for (const auto& [value, sums] : figures.values) {
        labels.back().second = value;
        text += Line(metric.name, labels, sums.*metric.value);
      }
    });
  }
  return text;
}

std::string Metrics::OfLeftOut() const {
  constexpr char kName[] = "allomon_label_values_left_out";
  std::string text =
      Head(kName, "gauge", "Values of a label that have no lines, since there are too many.");
  VisitLabels([&](const PrometheusLabels& labels, const LabelFigures& figures) {
    text += Line(kName, labels, static_cast<double>(figures.left_out));
  });
  return text;
}

std::string Metrics::Text() const {
  return OfServer() + OfPushes() + OfProcesses() + OfLabels() + OfLeftOut();
}

}  // namespace allomon::serve
