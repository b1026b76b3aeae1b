#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "tools/heap/missing.h"
#include "tools/pprof/own_lines.h"

namespace allomon::pprof {
namespace {

using heap::AgeCell;
using heap::Amount;
using heap::HeapProfile;
using heap::Sample;
using heap::Thread;
using Json = nlohmann::json;

constexpr size_t kMaxJsonBytes = size_t{4} << 20;  // limit of a line: the parsed JSON is much
                                                   // larger
constexpr size_t kMaxNotes = 100;
constexpr size_t kMaxPoints = 1 << 16;
constexpr uint64_t kMaxSizes = uint64_t{1} << 24;  // 400 MB, of a few bytes each

// Returns null for damaged text.
Json Parse(std::string_view text) {
  if (text.size() > kMaxJsonBytes) return Json();
  Json json = Json::parse(text, nullptr, false);  // a discarded value if the text is no JSON
  return json.is_discarded() ? Json() : json;
}

double NumberIn(const Json& json) {
  const double number = json.is_number() ? json.get<double>() : 0;
  return std::isfinite(number) ? number : 0;
}

double NumberAt(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found == json.end() ? 0 : std::max(0.0, NumberIn(*found));
}

uint64_t IntegerAt(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

bool BoolAt(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_boolean() && found->get<bool>();
}

std::string StringAt(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

Amount AmountAt(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_array() || found->size() != 2) return {};
  return {NumberIn((*found)[0]), NumberIn((*found)[1])};
}

void AddNote(std::string note, HeapProfile* profile) {
  if (profile->notes.size() < kMaxNotes) profile->notes.push_back(std::move(note));
}

void ReadNotes(const Json& json, HeapProfile* profile) {
  const auto notes = json.find("notes");
  if (notes == json.end() || !notes->is_array()) return;
  for (const Json& note : *notes) {
    if (note.is_string()) AddNote(note.get<std::string>(), profile);
  }
}

void ReadThread(const Json& json, HeapProfile* profile) {
  if (!json.is_object()) return;
  Thread thread;
  thread.name = StringAt(json, "name");
  thread.tid = IntegerAt(json, "tid");
  thread.exact_words = NumberAt(json, "exact_words");
  thread.estimated_words = NumberAt(json, "estimated_words");
  thread.estimated_words_variance = NumberAt(json, "estimated_words_variance");
  thread.allocated = AmountAt(json, "allocated");
  thread.live = AmountAt(json, "live");
  profile->threads.push_back(std::move(thread));
}

void ReadTimeline(const Json& numbers, HeapProfile* profile) {
  if (!numbers.is_array()) return;
  for (size_t i = 0; i + 4 <= numbers.size() && profile->timeline.size() < kMaxPoints; i += 4) {
    profile->timeline.push_back({NumberIn(numbers[i]), NumberIn(numbers[i + 1]),
                                 NumberIn(numbers[i + 2]), NumberIn(numbers[i + 3])});
  }
}

// Reads the integers of one line, without copying them.
class List {
 public:
  explicit List(std::string_view text) : rest_(text) {
    if (!rest_.empty() && rest_.front() == '[') rest_.remove_prefix(1);
  }

  // False at the end, and at text that is no integer of 0 or more.
  bool Next(uint64_t* number) {
    const char* end = rest_.data() + rest_.size();
    const auto result = std::from_chars(rest_.data(), end, *number);
    if (result.ec != std::errc()) return false;
    rest_.remove_prefix(result.ptr - rest_.data());
    if (!rest_.empty()) rest_.remove_prefix(1);  // the comma, or the bracket
    return true;
  }

 private:
  std::string_view rest_;
};

bool NextCell(List* list, AgeCell* cell) {
  uint64_t log2_bytes, log2_nanos, bits, blocks, bytes;
  if (!list->Next(&log2_bytes) || !list->Next(&log2_nanos) || !list->Next(&bits) ||
      !list->Next(&blocks) || !list->Next(&bytes)) {
    return false;
  }
  cell->log2_bytes = log2_bytes == heap::kUnknownLog2
                         ? heap::kUnknownLog2
                         : static_cast<uint8_t>(std::min<uint64_t>(log2_bytes, 63));
  cell->log2_nanos = static_cast<uint8_t>(std::min<uint64_t>(log2_nanos, 63));
  cell->other_thread = (bits & 1) != 0;
  cell->eighth = static_cast<uint8_t>(std::min<uint64_t>(bits / 2, 8));
  cell->amount = {static_cast<double>(blocks), static_cast<double>(bytes)};
  return true;
}

// `count` comes from the file, so nothing is reserved for it.
bool NextCells(uint64_t count, List* list, std::vector<AgeCell>* cells) {
  for (uint64_t i = 0; i < count; ++i) {
    AgeCell cell;
    if (!NextCell(list, &cell)) return false;
    cells->push_back(cell);
  }
  return true;
}

bool ReadAgesOfOne(List* list, std::vector<Sample>* samples) {
  uint64_t sample, deaths, ages;
  if (!list->Next(&sample) || !list->Next(&deaths) || !list->Next(&ages)) return false;
  if (sample >= samples->size()) return false;
  return NextCells(deaths, list, &(*samples)[sample].deaths) &&
         NextCells(ages, list, &(*samples)[sample].ages);
}

// Calls `read` with the rest of each line that begins with `head`.
template <typename Read>
void ForEach(std::string_view head, const std::vector<std::string_view>& lines, Read read) {
  for (std::string_view line : lines) {
    if (line.substr(0, head.size()) == head) read(line.substr(head.size()));
  }
}

void ReadRun(const Json& json, HeapProfile* profile) {
  if (!json.is_object()) return;
  profile->program = StringAt(json, "program");
  profile->command = StringAt(json, "command");
  profile->allocator = StringAt(json, "allocator");
  profile->malloc_file = StringAt(json, "malloc_file");
  profile->pid = IntegerAt(json, "pid");
  profile->is_sum = BoolAt(json, "is_sum");
  profile->has_ends = BoolAt(json, "has_ends");
  profile->peak_seconds = NumberAt(json, "peak_seconds");
  for (const heap::MissingKind& kind : heap::kMissingKinds) {
    profile->missing.*kind.count = NumberAt(json, kind.key);
  }
  profile->origin = StringAt(json, "origin");
  const auto memory = json.find("memory");
  if (memory != json.end() && memory->is_object()) {
    profile->memory = {NumberAt(*memory, "seconds"), NumberAt(*memory, "resident_bytes"),
                       NumberAt(*memory, "live_bytes"), NumberAt(*memory, "most_resident_bytes")};
  }
  ReadNotes(json, profile);
}

void ReadHeaderless(std::string_view text, std::vector<Sample>* samples) {
  List list(text);
  for (uint64_t i = 0; list.Next(&i) && i < samples->size();) (*samples)[i].has_header = false;
}

// `*end` is the end of the runs before.  A run that begins earlier is damage: reading stays linear.
void ReadSources(std::string_view text, uint64_t* end, std::vector<Sample>* samples) {
  List list(text);
  uint64_t begin, count, source;
  while (list.Next(&begin) && list.Next(&count) && list.Next(&source)) {
    if (source >= heap::kSources || begin < *end || begin >= samples->size()) return;
    *end = begin + std::min<uint64_t>(count, samples->size() - begin);
    for (uint64_t i = begin; i < *end; ++i) {
      (*samples)[i].source = static_cast<heap::Source>(source);
    }
  }
}

void ReadAges(std::string_view text, std::vector<Sample>* samples) {
  List list(text);
  while (ReadAgesOfOne(&list, samples)) {
  }
}

bool ReadOutlivedCell(List* list, std::vector<Sample>* samples) {
  uint64_t sample, label, is_innermost;
  heap::OutlivedCell cell;
  if (!list->Next(&sample) || !list->Next(&label) || !list->Next(&is_innermost) ||
      !NextCell(list, &cell.since_end)) {
    return false;
  }
  if (sample >= samples->size() || label >= (*samples)[sample].labels.size()) return false;
  cell.label = static_cast<uint32_t>(label);
  cell.is_innermost = is_innermost != 0;
  (*samples)[sample].outlived.push_back(cell);
  return true;
}

void ReadOutlived(std::string_view text, std::vector<Sample>* samples) {
  List list(text);
  while (ReadOutlivedCell(&list, samples)) {
  }
}

// `*room` is how many sizes may still be read.
bool ReadSizesOfOne(List* list, uint64_t* room, std::vector<Sample>* samples) {
  uint64_t sample, count;
  if (!list->Next(&sample) || !list->Next(&count) || sample >= samples->size()) return false;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t size, sum;
    if (*room == 0 || !list->Next(&size) || !list->Next(&sum)) return false;
    --*room;
    const uint64_t size_bytes = size / 2;
    const auto bytes = static_cast<double>(size_bytes), amount = static_cast<double>(sum);
    (*samples)[sample].sizes.push_back(
        {size_bytes, size_bytes == 0 ? Amount{amount, 0} : Amount{amount / bytes, amount},
         size % 2 == 1});
  }
  return true;
}

void ReadSizes(std::string_view text, uint64_t* room, std::vector<Sample>* samples) {
  List list(text);
  while (ReadSizesOfOne(&list, room, samples)) {
  }
}

}  // namespace

bool IsOwnLine(std::string_view text) { return text.substr(0, 8) == "allomon-"; }

void OwnLines::ReadProfileLine(std::string_view text, HeapProfile* profile) {
  const Json json = Parse(text);
  if (!json.is_object() || IntegerAt(json, "version") != kLinesVersion) return;
  const double rate = std::min(1.0, NumberAt(json, "rate"));
  profile->has_halves = profile->has_halves || BoolAt(json, "has_halves");
  if (++profile_lines_ > 1) {
    if (rate != profile->rate) profile->rate = 0;
    return;
  }
  profile->rate = rate;
  profile->seed = IntegerAt(json, "seed");
  fingerprint_ = std::strtoull(StringAt(json, "samples").c_str(), nullptr, 16);
}

void OwnLines::ReadRunLine(std::string_view text, HeapProfile* profile) {
  const Json json = Parse(text);
  ReadRun(json, profile);
  constexpr char kHaveThreads[] = "samples_have_threads";
  // Files of older versions do not say it.
  samples_have_threads_ =
      !json.is_object() || !json.contains(kHaveThreads) || BoolAt(json, kHaveThreads);
}

void OwnLines::ReadProfile(HeapProfile* profile) {
  ForEach(kProfileLine, comments_, [&](std::string_view text) { ReadProfileLine(text, profile); });
  profile->is_sum = profile_lines_ > 1;
  if (profile_lines_ != 1) return;
  ForEach(kRunLine, strings_, [&](std::string_view text) { ReadRunLine(text, profile); });
  ForEach(kThreadLine, strings_, [&](std::string_view text) { ReadThread(Parse(text), profile); });
  ForEach(kTimelineLine, strings_,
          [&](std::string_view text) { ReadTimeline(Parse(text), profile); });
}

void OwnLines::ReadSamples(HeapProfile* profile) const {
  if (profile_lines_ != 1 || Fingerprint(*profile) != fingerprint_) {
    AddNote("another tool has changed this profile: its lifetimes are not known", profile);
    profile->has_ends = false;
    return;
  }
  ForEach(kHeaderlessLine, strings_,
          [&](std::string_view text) { ReadHeaderless(text, &profile->samples); });
  uint64_t end = 0;
  ForEach(kSourcesLine, strings_,
          [&](std::string_view text) { ReadSources(text, &end, &profile->samples); });
  ForEach(kAgesLine, strings_, [&](std::string_view text) { ReadAges(text, &profile->samples); });
  ForEach(kOutlivedLine, strings_,
          [&](std::string_view text) { ReadOutlived(text, &profile->samples); });
  uint64_t room = kMaxSizes;
  ForEach(kSizesLine, strings_,
          [&](std::string_view text) { ReadSizes(text, &room, &profile->samples); });
}

}  // namespace allomon::pprof
