// Writes callgrind's format: own costs of functions by line, and for each call the inclusive cost
// of the called function.
//
// A stack counts once for each function on it.  So a call to a function that is on the stack
// already costs 0: the outer call has all of it.
#include <map>
#include <string>
#include <utility>

#include "tools/export/exporters.h"
#include "tools/export/frames.h"
#include "tools/heap/heap_profile.h"
#include "tools/heap/named_stacks.h"
#include "tracker/formats/version.h"

namespace allomon::interchange {
namespace {

using heap::HeapProfile;
using heap::Metric;

constexpr char kRoot[] = "(program)";

void AddAll(const AllCounts& counts, AllCounts* sum) {
  for (size_t metric = 0; metric < counts.size(); ++metric) (*sum)[metric].Add(counts[metric]);
}

// A call from a line of one function to another function.
struct Call {
  uint32_t line = 0;
  uint32_t callee = 0;

  bool operator<(const Call& other) const {
    return line != other.line ? line < other.line : callee < other.callee;
  }
};

struct CallCost {
  int64_t calls = 0;
  AllCounts counts = {};
};

struct FunctionCost {
  std::map<uint32_t, AllCounts> self;  // by line
  std::map<Call, CallCost> calls;
};

// Returns the costs by function; the last element is the root's.
std::vector<FunctionCost> CostsOf(const Stacks& stacks, const Functions& functions) {
  std::vector<FunctionCost> costs(functions.first_frame.size() + 1);
  OnStack on_stack(costs.size());
  for (const Stack& stack : stacks.stacks) {
    on_stack.BeginStack();
    // `call` is the call from the previous frame.
    CallCost* call = &costs.back().calls[{0, functions.of_frame[stack.frames[0]]}];
    ++call->calls;
    for (size_t i = 0; i < stack.frames.size(); ++i) {
      const uint32_t function = functions.of_frame[stack.frames[i]];
      const bool is_new = on_stack.Add(function);
      if (is_new) AddAll(stack.counts, &call->counts);
      FunctionCost& cost = costs[function];
      const uint32_t line = stacks.frames[stack.frames[i]].line;
      if (i + 1 == stack.frames.size()) {
        AddAll(stack.counts, &cost.self[line]);
      } else {
        call = &cost.calls[{line, functions.of_frame[stack.frames[i + 1]]}];
        ++call->calls;
      }
    }
  }
  return costs;
}

// Writes a name in full the first time, with a number that replaces it afterwards.
class Names {
 public:
  std::string Of(const std::string& name) {
    const auto [at, is_new] = numbers_.try_emplace(OneLine(name), numbers_.size() + 1);
    const std::string number = "(" + std::to_string(at->second) + ")";
    return is_new ? number + " " + at->first : number;
  }

 private:
  std::map<std::string, size_t> numbers_;
};

class Writer {
 public:
  Writer(const HeapProfile& profile, Metric metric)
      : profile_(profile),
        stacks_(StacksOf(profile, Detail::kLines)),
        functions_(FunctionsOf(stacks_)) {
    metrics_.push_back(metric);
    for (size_t i = 0; i < heap::kMetrics; ++i) {
      if (profile.has[i] && static_cast<Metric>(i) != metric) {
        metrics_.push_back(static_cast<Metric>(i));
      }
    }
  }

  std::string Write() {
    WriteHead();
    const std::vector<FunctionCost> costs = CostsOf(stacks_, functions_);
    for (uint32_t i = 0; i + 1 < costs.size(); ++i) WriteFunction(i, costs[i]);
    text_ += "\nob=" + objects_.Of("???") + "\nfl=" + files_.Of("???") + "\nfn=" + names_.Of(kRoot);
    WriteCosts(costs.back());
    text_ += "\ntotals:" + Text(stacks_.totals) + "\n";
    return std::move(text_);
  }

 private:
  void WriteHead() {
    text_ = "# callgrind format\nversion: 1\ncreator: allomon " + std::string(kVersion) + "\n";
    if (profile_.pid != 0) text_ += "pid: " + std::to_string(profile_.pid) + "\n";
    text_ += "cmd: " + OneLine(profile_.command.empty() ? profile_.program : profile_.command);
    text_ += "\npositions: line\nevents:";
    for (const Metric metric : metrics_) text_ += EventsOf(metric);
    text_ += "\nsummary:" + Text(stacks_.totals) + "\n";
  }

  // Replaces hyphens, which names of events cannot have.
  std::string EventsOf(Metric metric) const {
    std::string name = heap::MetricName(metric);
    for (char& c : name) c = c == '-' ? '_' : c;
    return " " + name + "_bytes" + (profile_.has_blocks ? " " + name + "_blocks" : "");
  }

  std::string Text(const AllCounts& counts) const {
    std::string text;
    for (const Metric metric : metrics_) {
      const Counts& some = counts[static_cast<size_t>(metric)];
      text += " " + std::to_string(some.bytes);
      if (profile_.has_blocks) text += " " + std::to_string(some.blocks);
    }
    return text;
  }

  const Frame& FrameOf(uint32_t function) const {
    return stacks_.frames[functions_.first_frame[function]];
  }

  std::string FileOf(uint32_t function) {
    const std::string& file = FrameOf(function).file;
    return files_.Of(file.empty() ? "???" : file);
  }

  std::string ObjectOf(uint32_t function) {
    const uint32_t mapping = FrameOf(function).mapping;
    return objects_.Of(mapping == heap::kNone ? "???" : profile_.mappings[mapping].path);
  }

  void WriteFunction(uint32_t function, const FunctionCost& cost) {
    text_ += "\nob=" + ObjectOf(function) + "\nfl=" + FileOf(function);
    text_ += "\nfn=" + names_.Of(FrameOf(function).name);
    WriteCosts(cost);
  }

  void WriteCosts(const FunctionCost& cost) {
    text_ += "\n";
    for (const auto& [line, counts] : cost.self) {
      text_ += std::to_string(line) + Text(counts) + "\n";
    }
    for (const auto& [call, call_cost] : cost.calls) WriteCall(call, call_cost);
  }

  void WriteCall(const Call& call, const CallCost& cost) {
    text_ += "cob=" + ObjectOf(call.callee) + "\ncfi=" + FileOf(call.callee);
    text_ += "\ncfn=" + names_.Of(FrameOf(call.callee).name);
    text_ += "\ncalls=" + std::to_string(cost.calls) + " ";
    text_ += std::to_string(FrameOf(call.callee).start_line) + "\n";
    text_ += std::to_string(call.line) + Text(cost.counts) + "\n";
  }

  const HeapProfile& profile_;
  const Stacks stacks_;
  const Functions functions_;
  std::vector<Metric> metrics_;
  Names objects_;
  Names files_;
  Names names_;
  std::string text_;
};

}  // namespace

Exported ToCallgrind(const HeapProfile& profile, Metric metric) {
  return OneFile(Writer(profile, metric).Write());
}

}  // namespace allomon::interchange
