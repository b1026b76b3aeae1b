// Writes mlmon.out and the names beside it: inclusive and own bytes by function.
#include <set>
#include <string>
#include <vector>

#include "tools/export/exporters.h"
#include "tools/export/frames.h"
#include "tools/heap/named_stacks.h"
#include "tracker/formats/named_profile.h"

namespace allomon::interchange {
namespace {

using heap::Metric;

constexpr uint32_t kFixed = 3;  // sources at the beginning of every table

SourceName NameOf(const Frame& frame) {
  const std::string line = std::to_string(frame.start_line);
  return {SanitizedName(frame.name),
          frame.file.empty() ? "" : SanitizedPosition(frame.file + ": " + line)};
}

// Returns the callees of each function, by function.
std::vector<std::set<uint32_t>> CallsOf(const Stacks& stacks, const Functions& functions) {
  std::vector<std::set<uint32_t>> calls(functions.first_frame.size());
  for (const Stack& stack : stacks.stacks) {
    for (size_t i = 0; i + 1 < stack.frames.size(); ++i) {
      calls[functions.of_frame[stack.frames[i]]].insert(functions.of_frame[stack.frames[i + 1]]);
    }
  }
  return calls;
}

SourceTable TableOf(const Stacks& stacks, const Functions& functions) {
  SourceTable table = FixedSourceTable();
  const std::vector<std::set<uint32_t>> calls = CallsOf(stacks, functions);
  for (size_t i = 0; i < calls.size(); ++i) {
    uint32_t sequence = kNoSuccessors;
    if (!calls[i].empty()) {
      sequence = static_cast<uint32_t>(table.sequences.size());
      table.sequences.emplace_back();
      for (const uint32_t callee : calls[i]) table.sequences.back().push_back(callee + kFixed);
    }
    table.sources.push_back({static_cast<uint32_t>(table.names.size()), sequence});
    table.names.push_back(NameOf(stacks.frames[functions.first_frame[i]]));
  }
  table.magic = ContentMagic(table);
  return table;
}

Mlmon CountsOf(const Stacks& stacks, const Functions& functions, Metric metric) {
  Mlmon mlmon;
  mlmon.style = ProfileStyle::kStack;
  mlmon.masters.resize(functions.first_frame.size() + kFixed);
  OnStack on_stack(functions.first_frame.size());
  for (const Stack& stack : stacks.stacks) {
    on_stack.BeginStack();
    const int64_t bytes = stack[metric].bytes;
    for (const uint32_t frame : stack.frames) {
      const uint32_t function = functions.of_frame[frame];
      if (on_stack.Add(function)) mlmon.masters[function + kFixed].stack += bytes;
    }
    mlmon.masters[functions.of_frame[stack.frames.back()] + kFixed].current += bytes;
    mlmon.total += bytes;
  }
  mlmon.splits = mlmon.masters;
  return mlmon;
}

}  // namespace

Exported ToMlmon(const heap::HeapProfile& profile, Metric metric) {
  const Stacks stacks = StacksOf(profile, Detail::kFunctions);
  const Functions functions = FunctionsOf(stacks);
  NamedProfile named;
  named.sources = TableOf(stacks, functions);
  named.mlmon = CountsOf(stacks, functions, metric);
  named.mlmon.magic = named.sources.magic;
  named.live = metric == Metric::kLive || metric == Metric::kPeak;
  return FindOutputFormat("mlmon")(named);
}

}  // namespace allomon::interchange
