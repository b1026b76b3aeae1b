#include "tools/heap/computed_label.h"

#include <algorithm>
#include <iterator>

#include "tools/heap/block_type.h"
#include "tools/heap/stacks.h"

namespace allomon::heap {
namespace {

constexpr char kPythonArenas[] = "python-arenas";

void AddTypes(HeapProfile* profile) {
  const Stacks stacks = StacksOf(*profile, Selection());
  BlockTypes types(*profile, stacks);
  for (const Stack& stack : stacks.stacks) {
    const BlockType type = types.Of(stack);
    if (type.type.empty()) continue;
    profile->samples[stack.sample].labels.push_back({kTypeKey, type.type});
  }
}

// Functions of CPython's obmalloc.c that get memory for an arena.
bool IsArenaAllocator(std::string_view function) {
  constexpr std::string_view kNames[] = {"_PyObject_ArenaMmap", "_PyObject_ArenaMalloc",
                                         "_PyMem_ArenaAlloc"};
  return std::find(std::begin(kNames), std::end(kNames), function) != std::end(kNames);
}

// Whether the function that asked for the memory is the allocator of Python's arenas.  CPython has
// no other name for them, so without a symbol table they count as mmap or malloc.
bool IsOfPythonArena(const HeapProfile& profile, const Sample& sample) {
  if (sample.source != Source::kMapped && sample.source != Source::kMalloc) return false;
  if (sample.stack.empty() || sample.stack[0] >= profile.locations.size()) return false;
  const std::vector<Line>& lines = profile.locations[sample.stack[0]].lines;
  return std::any_of(lines.begin(), lines.end(), [&profile](const Line& line) {
    return line.function < profile.functions.size() &&
           IsArenaAllocator(profile.functions[line.function].name);
  });
}

void AddSources(HeapProfile* profile) {
  const auto is_known = [](const Sample& sample) { return sample.source != Source::kUnknown; };
  if (std::none_of(profile->samples.begin(), profile->samples.end(), is_known)) return;
  for (Sample& sample : profile->samples) {
    const std::string_view name =
        IsOfPythonArena(*profile, sample) ? kPythonArenas : SourceName(sample.source);
    sample.labels.push_back({kSourceKey, std::string(name)});
  }
}

}  // namespace

std::string_view SourceName(Source source) {
  switch (source) {
    case Source::kUnknown:
      break;
    case Source::kMalloc:
      return "malloc";
    case Source::kManaged:
      return "managed";
    case Source::kUnmarshalled:
      return "unmarshalled";
    case Source::kCustom:
      return "custom";
    case Source::kMapped:
      return "mmap";
    case Source::kCustomOrMapped:
      return "custom-or-mmap";
  }
  return "unknown";
}

void AddComputedLabel(const std::string& key, HeapProfile* profile) {
  if (key == kTypeKey) AddTypes(profile);
  if (key == kSourceKey) AddSources(profile);
}

std::string KeepChosen(const Born& born, const Outlived& outlived, const LabelSelection& labels,
                       const std::string& by, HeapProfile* profile) {
  if (!born.is_all() && outlived.is_asked) return "--born and --outlived: give one of them";
  std::string why_not = KeepBorn(born, profile);
  if (why_not.empty()) why_not = KeepOutlived(outlived, profile);
  if (!why_not.empty()) return why_not;
  AddComputedLabel(by, profile);
  return ApplyLabels(labels, by, profile);
}

}  // namespace allomon::heap
