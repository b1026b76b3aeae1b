#include "tools/pprof/samples.h"

#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace allomon::pprof {
namespace {

using heap::Amount;
using heap::HeapProfile;
using heap::kNone;
using heap::Label;
using heap::Sample;
using heap::Thread;

}  // namespace

SampleDecoder::SampleDecoder(size_t values, std::vector<Column> columns, const CodeDecoder& code,
                             bool has_threads, Source* source, HeapProfile* profile)
    : values_of_each_(values),
      columns_(std::move(columns)),
      code_(code),
      source_(*source),
      profile_(*profile),
      has_threads_(has_threads),
      are_threads_known_(!profile->threads.empty()) {
  for (std::string& label : ThreadLabels(profile->threads)) {
    threads_.emplace(std::move(label), static_cast<uint32_t>(threads_.size()));
  }
}

bool SampleDecoder::Read() {
  return source_.ForEachField([this](const WireReader& field) {
    return field.field() != kSample || ReadSample(field.bytes());
  });
}

bool SampleDecoder::ReadSample(std::string_view message) {
  Sample sample;
  Numbers numbers;
  ids_.clear();
  values_.clear();
  const bool is_good =
      source_.ReadMessage(message, "a sample", &numbers,
                          [&](const WireReader& field) { return ReadField(field, &sample); });
  if (!is_good || !SetStack(&sample) || !SetAmounts(&sample)) return false;
  profile_.samples.push_back(std::move(sample));
  return source_.Spend(sizeof sample + sizeof(uint32_t) * ids_.size());
}

bool SampleDecoder::ReadField(const WireReader& field, Sample* sample) {
  switch (field.field()) {
    case kSampleLocation:
      return field.AppendNumbers(&ids_);
    case kSampleValue:
      return field.AppendNumbers(&values_);
    case kSampleLabel:
      return ReadLabel(field.bytes(), sample);
    default:
      return true;
  }
}

bool SampleDecoder::SetStack(Sample* sample) {
  sample->stack.reserve(ids_.size());
  for (uint64_t id : ids_) {
    const uint32_t location = code_.FindLocation(id);
    if (location == kNone) return source_.Damaged("a location that is not there");
    sample->stack.push_back(location);
  }
  return true;
}

bool SampleDecoder::SetAmounts(Sample* sample) {
  if (values_.size() != values_of_each_) return source_.Damaged("a sample without all its values");
  for (const Column& column : columns_) {
    const auto value = static_cast<int64_t>(values_[column.value]);
    if (value < 0) {
      return source_.Fail("is the difference of two profiles (it has values below 0): give those");
    }
    Amount& amount = (*sample)[column.metric];
    (column.is_blocks ? amount.blocks : amount.bytes) = static_cast<double>(value) * column.scale;
  }
  return true;
}

// A label has either a string or a number.
bool SampleDecoder::ReadLabel(std::string_view message, Sample* sample) {
  Numbers numbers;
  if (!source_.ReadMessage(message, "a label", &numbers)) return false;
  const std::string_view key = source_.Text(numbers[kLabelKey]);
  const bool is_number =
      numbers[kLabelString] == 0 && (numbers[kLabelNumber] != 0 || numbers[kLabelUnit] != 0);
  if (!is_number) return AddText(key, source_.Text(numbers[kLabelString]), sample);
  return AddNumber(key, static_cast<int64_t>(numbers[kLabelNumber]),
                   source_.Text(numbers[kLabelUnit]), sample);
}

bool SampleDecoder::AddNumber(std::string_view key, int64_t number, std::string_view unit,
                              Sample* sample) {
  if (key == "bytes" && number >= 0 && !sample->has_size) {
    sample->has_size = true;
    sample->size_bytes = static_cast<uint64_t>(number);
    return true;
  }
  std::string value = std::to_string(number);
  if (!unit.empty() && unit != key) value.append(" ").append(unit);
  return AddLabel(key, value, sample);
}

bool SampleDecoder::AddText(std::string_view key, std::string_view value, Sample* sample) {
  if (!has_threads_ || key != "thread" || sample->thread != kNone) {
    return AddLabel(key, value, sample);
  }
  const auto found = threads_.find(std::string(value));
  if (found == threads_.end()) {
    return are_threads_known_ ? AddLabel(key, value, sample) : AddThread(value, sample);
  }
  sample->thread = found->second;
  return true;
}

bool SampleDecoder::AddThread(std::string_view name, Sample* sample) {
  if (!source_.Spend(2 * (name.size() + sizeof(Thread)))) return false;
  sample->thread = static_cast<uint32_t>(profile_.threads.size());
  threads_.emplace(name, sample->thread);
  profile_.threads.emplace_back().name = name;
  return true;
}

bool SampleDecoder::AddLabel(std::string_view key, std::string_view value, Sample* sample) {
  if (!source_.Spend(2 * sizeof(Label) + key.size() + value.size())) return false;
  sample->labels.push_back({std::string(key), std::string(value)});
  return true;
}

std::vector<std::string> ThreadLabels(const std::vector<heap::Thread>& threads) {
  std::unordered_map<std::string, int> uses;
  for (const heap::Thread& thread : threads) ++uses[thread.name];
  std::unordered_set<std::string> taken;
  std::vector<std::string> labels;
  for (const heap::Thread& thread : threads) {
    const bool is_alone = !thread.name.empty() && uses[thread.name] == 1;
    std::string label = thread.name.empty() ? "thread" : thread.name;
    if (!is_alone) label += " " + std::to_string(thread.tid);
    if (!taken.insert(label).second) {
      label += " #" + std::to_string(labels.size());
      taken.insert(label);
    }
    labels.push_back(std::move(label));
  }
  return labels;
}

}  // namespace allomon::pprof
