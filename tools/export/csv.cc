// Writes a table for spreadsheets and data frames (RFC 4180): a row for each stack, size and
// thread.
#include <charconv>
#include <string>
#include <vector>

#include "tools/export/exporters.h"
#include "tools/heap/heap_profile.h"
#include "tools/heap/interval.h"
#include "tools/heap/named_stacks.h"
#include "tools/text/numbers.h"

namespace allomon::interchange {
namespace {

using heap::HeapProfile;
using heap::Metric;
using heap::Sample;

// Quotes a text that has commas, quotes or ends of lines.
std::string Field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

// Returns the shortest text that reads back as the same number.
std::string Number(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

class Writer {
 public:
  explicit Writer(const HeapProfile& profile)
      : profile_(profile), stacks_(StacksOf(profile, Detail::kLines)) {}

  std::string Write() {
    WriteHead();
    for (size_t i = 0; i < profile_.samples.size(); ++i) {
      WriteRow(profile_.samples[i], stacks_.stacks[stacks_.stack_of_sample[i]]);
    }
    return std::move(text_);
  }

 private:
  void WriteHead() {
    text_ = "stack,places,size_bytes,thread,tid,labels";
    for (size_t i = 0; i < heap::kMetrics; ++i) {
      if (!profile_.has[i]) continue;
      const std::string name = heap::MetricName(static_cast<Metric>(i));
      for (const char* unit : {"blocks", "bytes"}) {
        for (const char* what : {"", "_low", "_high"}) text_ += "," + name + "_" + unit + what;
      }
    }
    EndRow();
  }

  void EndRow() { text_ += "\r\n"; }
  void Add(const std::string& field) { text_ += Field(field) + ","; }

  void WriteRow(const Sample& sample, const Stack& stack) {
    Add(NamesOf(stack));
    Add(PlacesOf(stack));
    Add(sample.has_size ? std::to_string(sample.size_bytes) : "");
    const bool has_thread = sample.thread != heap::kNone;
    Add(has_thread ? profile_.threads[sample.thread].name : "");
    Add(has_thread ? std::to_string(profile_.threads[sample.thread].tid) : "");
    text_ += Field(LabelsOf(sample));
    for (size_t i = 0; i < heap::kMetrics; ++i) {
      if (profile_.has[i]) AddAmounts(sample, static_cast<Metric>(i));
    }
    EndRow();
  }

  // Leaves fields empty if numbers of blocks are not known.
  void AddAmounts(const Sample& sample, Metric metric) {
    const heap::Estimate estimate =
        EstimateOf(sample[metric], sample, heap::SamplingOf(profile_, metric));
    if (profile_.has_blocks) {
      AddInterval(estimate.amount.blocks, heap::BlocksInterval(estimate));
    } else {
      text_ += ",,,";
    }
    AddInterval(estimate.amount.bytes, heap::BytesInterval(estimate));
  }

  void AddInterval(double value, const heap::Interval& interval) {
    for (const double number : {value, interval.low, interval.high}) text_ += "," + Number(number);
  }

  std::string NamesOf(const Stack& stack) const {
    std::string text;
    for (const uint32_t frame : stack.frames)
      text += EscapedFrame(stacks_.frames[frame].name) + ";";
    text.pop_back();
    return text;
  }

  std::string PlacesOf(const Stack& stack) const {
    std::string text;
    for (const uint32_t number : stack.frames) {
      const Frame& frame = stacks_.frames[number];
      text += EscapedFrame(frame.file);
      if (frame.line != 0) text += ":" + std::to_string(frame.line);
      text += ";";
    }
    text.pop_back();
    return text;
  }

  // An equals sign in a key is escaped, so the first one ends the key.
  static std::string KeyOf(const std::string& key) {
    std::string text;
    for (const char c : EscapedFrame(key)) text += c == '=' ? "\\x3d" : std::string(1, c);
    return text;
  }

  static std::string LabelsOf(const Sample& sample) {
    std::string text;
    for (const heap::Label& label : sample.labels) {
      text += (text.empty() ? "" : ";") + KeyOf(label.key) + "=" + EscapedFrame(label.value);
    }
    return text;
  }

  const HeapProfile& profile_;
  const Stacks stacks_;
  std::string text_;
};

}  // namespace

Exported ToCsv(const HeapProfile& profile, Metric /*metric*/) {
  return OneFile(Writer(profile).Write());
}

}  // namespace allomon::interchange
