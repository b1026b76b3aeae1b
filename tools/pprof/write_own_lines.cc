#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/heap/missing.h"
#include "tools/pprof/own_lines.h"
#include "tools/pprof/sample_types.h"

namespace allomon::pprof {
namespace {

using heap::AgeCell;
using heap::Amount;
using heap::HeapProfile;
using heap::Sample;
using heap::Thread;
using heap::TimelinePoint;
using OrderedJson = nlohmann::ordered_json;

constexpr size_t kLineBytes = 4000;  // a list continues on another line after so many bytes
constexpr size_t kPointsOfLine = 64;

std::string Line(std::string_view head, const OrderedJson& json) {
  return std::string(head) + json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

std::string ProfileLine(const HeapProfile& profile) {
  char fingerprint[20];
  snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64, Fingerprint(profile));
  const OrderedJson json = {{"version", kLinesVersion},
                            {"rate", profile.rate},
                            {"has_halves", profile.has_halves},
                            {"seed", profile.seed},
                            {"samples", fingerprint}};
  return Line(kProfileLine, json);
}

std::string RunLine(const HeapProfile& profile) {
  OrderedJson json = {
      {"program", profile.program},
      {"command", profile.command},
      {"allocator", profile.allocator},
      {"malloc_file", profile.malloc_file},
      {"pid", profile.pid},
      {"is_sum", profile.is_sum},
      {"has_ends", profile.has_ends},
      {"samples_have_threads",
       std::any_of(profile.samples.begin(), profile.samples.end(),
                   [](const Sample& sample) { return sample.thread != heap::kNone; })},
      {"peak_seconds", profile.peak_seconds},
      {"notes", profile.notes},
      {"origin", profile.origin},
  };
  for (const heap::MissingKind& kind : heap::kMissingKinds) {
    json[kind.key] = profile.missing.*kind.count;
  }
  if (profile.memory.resident_bytes != 0) {
    json["memory"] = {{"seconds", profile.memory.seconds},
                      {"resident_bytes", profile.memory.resident_bytes},
                      {"live_bytes", profile.memory.live_bytes},
                      {"most_resident_bytes", profile.memory.most_resident_bytes}};
  }
  return Line(kRunLine, json);
}

OrderedJson Pair(const Amount& amount) { return {amount.blocks, amount.bytes}; }

std::string ThreadLine(const Thread& thread) {
  const OrderedJson json = {
      {"name", thread.name},
      {"tid", thread.tid},
      {"exact_words", thread.exact_words},
      {"estimated_words", thread.estimated_words},
      {"estimated_words_variance", thread.estimated_words_variance},
      {"allocated", Pair(thread.allocated)},
      {"live", Pair(thread.live)},
  };
  return Line(kThreadLine, json);
}

void AddTimeline(const std::vector<TimelinePoint>& timeline, std::vector<std::string>* lines) {
  for (size_t begin = 0; begin < timeline.size(); begin += kPointsOfLine) {
    OrderedJson numbers = OrderedJson::array();
    const size_t end = std::min(begin + kPointsOfLine, timeline.size());
    for (size_t i = begin; i < end; ++i) {
      const TimelinePoint& point = timeline[i];
      for (double number :
           {point.seconds, point.allocated_bytes, point.live_bytes, point.most_live_bytes}) {
        numbers.push_back(number);
      }
    }
    lines->push_back(Line(kTimelineLine, numbers));
  }
}

// Writes a list of integers over several lines.  Each line is a list that can be read by itself.
class ListLines {
 public:
  ListLines(std::string_view head, std::vector<std::string>* lines) : head_(head), lines_(lines) {}
  ~ListLines() { End(); }
  ListLines(const ListLines&) = delete;
  ListLines& operator=(const ListLines&) = delete;

  void Add(int64_t number) {
    line_ += line_.empty() ? std::string(head_) + "[" : ",";
    line_ += std::to_string(number);
  }
  void EndIfLong() {
    if (line_.size() >= kLineBytes) End();
  }

 private:
  void End() {
    if (!line_.empty()) lines_->push_back(line_ + "]");
    line_.clear();
  }

  std::string_view head_;
  std::vector<std::string>* lines_;
  std::string line_;
};

void AddHeaderless(const std::vector<Sample>& samples, std::vector<std::string>* lines) {
  ListLines list(kHeaderlessLine, lines);
  for (size_t i = 0; i < samples.size(); ++i) {
    if (samples[i].has_header) continue;
    list.Add(static_cast<int64_t>(i));
    list.EndIfLong();
  }
}

// Neighbours are mostly of one source, so a run of them is three integers.
void AddSources(const std::vector<Sample>& samples, std::vector<std::string>* lines) {
  ListLines list(kSourcesLine, lines);
  size_t end = 0;
  for (size_t begin = 0; begin < samples.size(); begin = end) {
    const heap::Source source = samples[begin].source;
    for (end = begin; end < samples.size() && samples[end].source == source;) ++end;
    if (source == heap::Source::kUnknown) continue;
    list.Add(static_cast<int64_t>(begin));
    list.Add(static_cast<int64_t>(end - begin));
    list.Add(static_cast<int64_t>(source));
    list.EndIfLong();
  }
}

void AddCell(const AgeCell& cell, ListLines* list) {
  list->Add(cell.log2_bytes);
  list->Add(cell.log2_nanos);
  list->Add((cell.other_thread ? 1 : 0) + 2 * cell.eighth);
  list->Add(Rounded(cell.amount.blocks));
  list->Add(Rounded(cell.amount.bytes));
}

void AddCells(const std::vector<AgeCell>& cells, ListLines* list) {
  for (const AgeCell& cell : cells) AddCell(cell, list);
}

void AddAges(const std::vector<Sample>& samples, std::vector<std::string>* lines) {
  ListLines list(kAgesLine, lines);
  for (size_t i = 0; i < samples.size(); ++i) {
    const Sample& sample = samples[i];
    if (sample.deaths.empty() && sample.ages.empty()) continue;
    list.Add(static_cast<int64_t>(i));
    list.Add(static_cast<int64_t>(sample.deaths.size()));
    list.Add(static_cast<int64_t>(sample.ages.size()));
    AddCells(sample.deaths, &list);
    AddCells(sample.ages, &list);
    list.EndIfLong();
  }
}

void AddOutlived(const std::vector<Sample>& samples, std::vector<std::string>* lines) {
  ListLines list(kOutlivedLine, lines);
  for (size_t i = 0; i < samples.size(); ++i) {
    for (const heap::OutlivedCell& cell : samples[i].outlived) {
      list.Add(static_cast<int64_t>(i));
      list.Add(cell.label);
      list.Add(cell.is_innermost ? 1 : 0);
      AddCell(cell.since_end, &list);
      list.EndIfLong();
    }
  }
}

void AddSizes(const std::vector<Sample>& samples, std::vector<std::string>* lines) {
  ListLines list(kSizesLine, lines);
  for (size_t i = 0; i < samples.size(); ++i) {
    if (samples[i].sizes.empty()) continue;
    list.Add(static_cast<int64_t>(i));
    list.Add(static_cast<int64_t>(samples[i].sizes.size()));
    for (const heap::SizeCell& cell : samples[i].sizes) {
      const uint64_t size_bytes = std::min<uint64_t>(cell.size_bytes, INT64_MAX / 2);
      list.Add(static_cast<int64_t>(2 * size_bytes + (cell.is_mean ? 1 : 0)));
      // Rounded bytes are more exact than rounded blocks.
      list.Add(Rounded(cell.size_bytes == 0 ? cell.amount.blocks : cell.amount.bytes));
    }
    list.EndIfLong();
  }
}

uint64_t Mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 32;
}

}  // namespace

int64_t Rounded(double value) {
  constexpr double kMost = 9223372036854774784.0;  // the largest double below 2^63
  if (std::isnan(value)) return 0;
  return std::llround(std::clamp(value, -kMost, kMost));
}

uint64_t Fingerprint(const HeapProfile& profile) {
  const std::vector<Column> columns = ColumnsToWrite(profile);
  uint64_t hash = profile.samples.size();
  for (const Sample& sample : profile.samples) {
    hash = Mix(hash, sample.stack.size());
    for (const Column& column : columns) {
      const Amount& amount = sample[column.metric];
      hash = Mix(hash,
                 static_cast<uint64_t>(Rounded(column.is_blocks ? amount.blocks : amount.bytes)));
    }
  }
  return hash;
}

std::vector<std::string> CommentsOf(const HeapProfile& profile) {
  std::vector<std::string> lines = SummaryOf(profile);
  lines.push_back(ProfileLine(profile));
  return lines;
}

std::vector<std::string> StringsOf(const HeapProfile& profile) {
  std::vector<std::string> lines = {RunLine(profile)};
  for (const Thread& thread : profile.threads) lines.push_back(ThreadLine(thread));
  AddTimeline(profile.timeline, &lines);
  AddHeaderless(profile.samples, &lines);
  AddSources(profile.samples, &lines);
  AddAges(profile.samples, &lines);
  AddOutlived(profile.samples, &lines);
  AddSizes(profile.samples, &lines);
  return lines;
}

}  // namespace allomon::pprof
