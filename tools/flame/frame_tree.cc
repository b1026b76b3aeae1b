#include "tools/flame/frame_tree.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "tools/heap/born.h"
#include "tools/heap/held.h"
#include "tracker/names/base_name.h"

namespace allomon::flame {
namespace {

const heap::Mapping* MappingOf(const heap::Location& location, const heap::HeapProfile& profile) {
  return location.mapping < profile.mappings.size() ? &profile.mappings[location.mapping] : nullptr;
}

std::string Hexadecimal(uint64_t value) {
  char text[32];
  snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

// Returns "libx.so+0x1234", an offset in the file; without a mapping, the address.
std::string NameOfAddress(uint64_t address, const heap::Mapping* mapping) {
  if (mapping == nullptr || mapping->path.empty()) {
    return address == 0 ? "(unknown)" : Hexadecimal(address);
  }
  return std::string(BaseName(mapping->path)) + "+" +
         Hexadecimal(address - mapping->begin + mapping->file_offset);
}

int32_t LineNumber(uint32_t line) { return line > INT32_MAX ? 0 : static_cast<int32_t>(line); }

bool IsNothing(const heap::Estimate& estimate) {
  return estimate.amount.blocks == 0 && estimate.amount.bytes == 0;
}

}  // namespace

FrameTree::FrameTree(std::vector<heap::Metric> metrics, Builds builds)
    : builds_(builds), metrics_(std::move(metrics)), nodes_(1) {}

bool FrameTree::Add(const heap::HeapProfile& profile, Side side) {
  const std::vector<Steps> steps = StepsOfLocations(profile);
  for (const heap::Sample& sample : profile.samples) {
    for (uint32_t location : sample.stack) frames_walked_ += steps[location].size();
    if (frames_walked_ > kMostFrames || nodes_.size() > kMostNodes) return false;
    AddSample(profile, sample, side, steps);
  }
  return nodes_.size() <= kMostNodes;
}

void FrameTree::AddSample(const heap::HeapProfile& profile, const heap::Sample& sample, Side side,
                          const std::vector<Steps>& steps) {
  std::vector<heap::Estimate> values;
  for (heap::Metric metric : metrics_) {
    const heap::Sampling sampling = heap::SamplingOf(profile, metric);
    if (profile.pages.has_value()) {
      values.push_back(heap::HeldBy(sample, sampling.is_whole));
    } else if (profile.contents.has_value()) {
      values.push_back(heap::UnusedBy(sample, sampling.is_whole));
    } else {
      values.push_back(heap::EstimateOf(sample[metric], sample, sampling));
    }
  }
  if (std::all_of(values.begin(), values.end(), IsNothing)) return;
  Leaf* const leaf = LeafOf(NodeOf(sample.stack, steps));
  auto& sums = leaf->by_metric[side];
  sums.resize(metrics_.size());
  for (size_t i = 0; i < values.size(); ++i) sums[i].Add(values[i]);
  if (!keeps_births_ || side != kShown) return;
  const heap::Sampling sampling = heap::SamplingOf(profile, heap::Metric::kLive);
  for (const heap::AgeCell& cell : sample.ages) {
    const heap::Sample part = heap::OfCell(sample, cell);
    leaf->births[{cell.log2_nanos, cell.eighth}].Add(heap::EstimateOf(cell.amount, part, sampling));
  }
}

std::vector<FrameTree::Steps> FrameTree::StepsOfLocations(const heap::HeapProfile& profile) {
  std::vector<Steps> steps;
  steps.reserve(profile.locations.size());
  for (const heap::Location& location : profile.locations) {
    steps.push_back(StepsOf(location, profile));
  }
  return steps;
}

// Returns the steps outermost first.  All lines except the last one are inlined calls.
FrameTree::Steps FrameTree::StepsOf(const heap::Location& location,
                                    const heap::HeapProfile& profile) {
  const heap::Mapping* const mapping = MappingOf(location, profile);
  const std::string module(mapping == nullptr ? "" : BaseName(mapping->path));
  if (location.lines.empty()) {
    return {{FunctionOf({NameOfAddress(location.address, mapping), "", module}), false, 0}};
  }
  Steps steps;
  for (size_t i = location.lines.size(); i-- > 0;) {
    const heap::Line& line = location.lines[i];
    const heap::Function& function = profile.functions[line.function];
    const uint32_t number = FunctionOf({function.name, function.file, module, function.start_line});
    steps.push_back({number, i + 1 < location.lines.size(), LineNumber(line.line)});
  }
  return steps;
}

std::string FrameTree::KeyOf(const FrameFunction& function) const {
  std::string key = function.name;
  key.append(1, '\0');
  if (builds_ == Builds::kTwo) return key.append(BaseName(function.file));
  return key.append(function.file).append(1, '\0').append(function.module);
}

uint32_t FrameTree::FunctionOf(FrameFunction function) {
  std::string key = KeyOf(function);
  const auto number = static_cast<uint32_t>(functions_.size());
  const auto [found, is_new] = function_numbers_.emplace(std::move(key), number);
  if (is_new) functions_.push_back(std::move(function));
  return found->second;
}

uint32_t FrameTree::ChildOf(uint32_t parent, const Step& step) {
  const uint64_t frame = uint64_t{step.function} * 2 + (step.inlined ? 1 : 0);
  const auto number = static_cast<uint32_t>(nodes_.size());
  const auto [found, is_new] = children_.emplace(uint64_t{parent} << 32 | frame, number);
  if (is_new) {
    nodes_.push_back({parent, step.function, step.inlined, step.line});
  } else if (nodes_[found->second].line != step.line) {
    nodes_[found->second].line = kSeveralLines;
  }
  return found->second;
}

uint32_t FrameTree::NodeOf(const std::vector<uint32_t>& stack, const std::vector<Steps>& steps) {
  uint32_t node = 0;
  for (auto location = stack.rbegin(); location != stack.rend(); ++location) {
    if (nodes_.size() > kMostNodes) break;
    for (const Step& step : steps[*location]) node = ChildOf(node, step);
  }
  return node;
}

Leaf* FrameTree::LeafOf(uint32_t node) {
  const auto number = static_cast<uint32_t>(leaves_.size());
  const auto [found, is_new] = leaf_numbers_.emplace(node, number);
  if (is_new) leaves_.push_back({node, {}, {}});
  return &leaves_[found->second];
}

}  // namespace allomon::flame
