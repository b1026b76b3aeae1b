#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

#include "tools/pprof/comments.h"

namespace allomon::pprof {
namespace {

using heap::AgeCell;
using heap::Amount;
using heap::HeapProfile;
using heap::Sample;
using heap::Thread;
using Json = nlohmann::json;

constexpr size_t kMaxJsonBytes = size_t{4} << 20;  // of a line: what it is read to is much larger
constexpr size_t kMaxNotes = 100;
constexpr size_t kMaxNoteBytes = 1000;
constexpr size_t kMaxPoints = 1 << 16;

// Null if it is damaged.
Json Parse(std::string_view text) {
  if (text.size() > kMaxJsonBytes) return Json();
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
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

void ReadNotes(const Json& header, HeapProfile* profile) {
  const auto notes = header.find("notes");
  if (notes == header.end() || !notes->is_array()) return;
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

// The integers of one line, without copying them.
class List {
 public:
  explicit List(std::string_view text) : rest_(text) {
    if (!rest_.empty() && rest_.front() == '[') rest_.remove_prefix(1);
  }

  // False at the end, and at what is no integer of 0 or more.
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
  uint64_t log2_bytes, log2_nanos, other_thread, blocks, bytes;
  if (!list->Next(&log2_bytes) || !list->Next(&log2_nanos) || !list->Next(&other_thread) ||
      !list->Next(&blocks) || !list->Next(&bytes)) {
    return false;
  }
  cell->log2_bytes = static_cast<uint8_t>(std::min<uint64_t>(log2_bytes, 63));
  cell->log2_nanos = static_cast<uint8_t>(std::min<uint64_t>(log2_nanos, 63));
  cell->other_thread = other_thread != 0;
  cell->amount = {static_cast<double>(blocks), static_cast<double>(bytes)};
  return true;
}

// Does not believe `count`, for which nothing is reserved.
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

}  // namespace

template <typename Function>
void CommentReader::ForEach(std::string_view head, Function function) const {
  for (std::string_view line : lines_) {
    if (line.substr(0, head.size()) == head) function(line.substr(head.size()));
  }
}

void CommentReader::ReadHeader(std::string_view text, HeapProfile* profile) {
  const Json header = Parse(text);
  if (!header.is_object() || IntegerAt(header, "version") != kCommentsVersion) return;
  const double rate = std::min(1.0, NumberAt(header, "rate"));
  ReadNotes(header, profile);
  profile->dropped_samples += NumberAt(header, "dropped_samples");
  profile->dropped_bytes += NumberAt(header, "dropped_bytes");
  if (++headers_ > 1) {
    if (rate != profile->rate) profile->rate = 0;
    return;
  }
  profile->rate = rate;
  profile->seed = IntegerAt(header, "seed");
  profile->program = StringAt(header, "program");
  profile->command = StringAt(header, "command");
  profile->pid = IntegerAt(header, "pid");
  profile->is_sum = BoolAt(header, "is_sum");
  profile->peak_seconds = NumberAt(header, "peak_seconds");
  profile->origin = StringAt(header, "origin");
  fingerprint_ = std::strtoull(StringAt(header, "samples").c_str(), nullptr, 16);
}

void CommentReader::ReadForeign(HeapProfile* profile) const {
  for (std::string_view line : lines_) {
    AddNote(std::string(line.substr(0, kMaxNoteBytes)), profile);
  }
}

bool CommentReader::ReadProfile(HeapProfile* profile) {
  ForEach(kProfileLine, [&](std::string_view json) { ReadHeader(json, profile); });
  if (headers_ == 0) {
    ReadForeign(profile);
    return false;
  }
  ForEach(kThreadLine, [&](std::string_view json) { ReadThread(Parse(json), profile); });
  if (headers_ == 1) {
    ForEach(kTimelineLine, [&](std::string_view json) { ReadTimeline(Parse(json), profile); });
  } else {
    profile->is_sum = true;
  }
  return true;
}

void CommentReader::ReadSamples(HeapProfile* profile) const {
  if (headers_ != 1 || Fingerprint(*profile) != fingerprint_) {
    AddNote("another tool has changed this profile: its lifetimes are not known", profile);
    return;
  }
  ForEach(kHeaderlessLine, [&](std::string_view text) {
    List list(text);
    for (uint64_t i = 0; list.Next(&i) && i < profile->samples.size();) {
      profile->samples[i].has_header = false;
    }
  });
  ForEach(kAgesLine, [&](std::string_view text) {
    List list(text);
    while (ReadAgesOfOne(&list, &profile->samples)) {
    }
  });
}

}  // namespace allomon::pprof
