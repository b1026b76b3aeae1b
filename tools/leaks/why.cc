#include "tools/leaks/why.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "tools/heap/heap_profile.h"
#include "tools/leaks/data_names.h"
#include "tools/symbols/code_file.h"
#include "tools/text/amounts.h"
#include "tracker/names/base_name.h"

namespace allomon::leaks {
namespace {

using explain::Mapping;
using explain::Use;
using heap::HeapProfile;

// The function to which a stack is charged, with its line.
std::string PlaceOf(const heap::Stacks& stacks, const heap::Stack& stack) {
  const uint32_t cell = stacks.cells[stack.begin];
  const heap::Frame& frame = stacks.frames[cell];
  const heap::Name& name = stacks.NameOf(cell);
  if (name.file.empty()) return name.text;
  const std::string line = frame.line == 0 ? "" : ":" + std::to_string(frame.line);
  return name.text + " " + BaseName(name.file) + line;
}

std::string BytesText(double bytes) {
  return report::Amount(ProfileKind::kAlloc, static_cast<MlmonInt>(std::llround(bytes)));
}

class Paths {
 public:
  Paths(Search* search, const NameSources& name_sources)
      : search_(*search),
        names_(search->process(), search->mappings(), name_sources.debug_dir),
        types_(search->python_types()) {}

  // Call before StepsTo(), for each sampled block that has a name.
  void SetPlace(size_t sampled, std::string place) {
    place_of_.emplace(search_.sampled()[sampled].block.number, std::move(place));
  }
  const std::string& PlaceOf(size_t sampled) const {
    return place_of_.at(search_.sampled()[sampled].block.number);
  }

  // Returns the path from the root on; empty if nothing refers to the block.
  std::vector<Step> StepsTo(const SampledBlock& sampled) {
    std::vector<Step> steps;
    uint64_t place = search_.marker().Referrer(sampled.block.number);
    if (place == 0) return steps;
    Blocks::Block block;
    // A block that is no object is a part of the object before it: a table, values of attributes.
    std::optional<Link> part;
    uint64_t part_place = 0;
    bool is_module = false;
    while (!is_module && search_.blocks().Find(place, &block)) {
      const std::string object = ObjectAt(block);
      is_module = object == kModule;
      Link link = {BlockText(block, object), KeyAt(block, place), 0};
      if (object.empty()) {
        if (part) AddStep(*part, &steps);
        if (link.key.empty()) link.offset_bytes = place - block.begin;
        part = std::move(link);
        part_place = place;
      } else {
        if (part) link.key = part->key;
        if (link.key.empty()) {
          link.key = types_.AttributeAt(block.begin, block.size_bytes, part ? part_place : place);
          link.is_attribute = !link.key.empty();
        }
        part.reset();
        if (is_module) link.text += " " + ModuleName(block);
        AddStep(link, &steps);
      }
      place = search_.marker().Referrer(block.number);
    }
    if (part) AddStep(*part, &steps);
    if (!is_module) {
      Link root;
      root.text = RootText(place, &root.offset_bytes);
      AddStep(root, &steps);
    }
    std::reverse(steps.begin(), steps.end());
    NameVariable(&steps);
    return steps;
  }

 private:
  // A thing that refers to the next one.
  struct Link {
    std::string text;
    std::string key;
    uint64_t offset_bytes = 0;
    bool is_attribute = false;
  };

  // The variables of a module are in a dict.
  static void NameVariable(std::vector<Step>* steps) {
    if (steps->size() < 2 || steps->front().text.rfind(kModule, 0) != 0) return;
    const Step& dict = (*steps)[1];
    if (dict.text != "dict" || dict.key.empty()) return;
    steps->front().text = "variable " + dict.key + " of " + steps->front().text;
    steps->erase(steps->begin() + 1);
  }

  static void AddStep(const Link& link, std::vector<Step>* steps) {
    const uint64_t offset_bytes = link.offset_bytes;
    if (steps->empty() || steps->back().text != link.text || steps->back().key != link.key) {
      steps->push_back({link.text, link.key, link.is_attribute, offset_bytes, offset_bytes});
      return;
    }
    Step& last = steps->back();
    last.least_times = ++last.most_times;
    last.least_offset_bytes = std::min(last.least_offset_bytes, offset_bytes);
    last.most_offset_bytes = std::max(last.most_offset_bytes, offset_bytes);
  }

  // Returns the type of an object of Python, or "" for other blocks.
  std::string ObjectAt(const Blocks::Block& block) {
    return search_.has_python() ? types_.Of(block.begin, block.size_bytes) : "";
  }

  std::string BlockText(const Blocks::Block& block, const std::string& object) {
    if (!object.empty()) return object;
    const auto known = place_of_.find(block.number);
    std::string text = known != place_of_.end() ? "block of " + known->second : "block";
    uint64_t first_word = 0;
    if (search_.snapshot().Read(block.begin, &first_word)) {
      const std::string type = names_.TypeOf(first_word);
      if (!type.empty()) text += ", a " + type;
    }
    return text + ", " + std::to_string(block.size_bytes) + " bytes";
  }

  std::string ModuleName(const Blocks::Block& block) {
    constexpr uint64_t kNameOffset = 16 + 48;  // after the links of the collector
    uint64_t name = 0;
    return search_.snapshot().Read(block.begin + kNameOffset, &name) ? types_.TextOf(name) : "";
  }

  // A table of keys has each value after its key.
  std::string KeyAt(const Blocks::Block& block, uint64_t place) {
    uint64_t key = 0;
    const bool has_key = search_.has_python() && place >= block.begin + sizeof(key) &&
                         types_.IsTableOfKeys(block.begin, block.size_bytes) &&
                         search_.snapshot().Read(place - sizeof(key), &key);
    return has_key ? types_.TextOf(key) : "";
  }

  std::string RootText(uint64_t place, uint64_t* offset_bytes) {
    if (place == Marker::kRegister) return "a register of a thread";
    if (place == Marker::kUnreachedObject) {
      return "objects to which nothing is known to refer, such as a cycle that Python has not "
             "collected";
    }
    for (const explain::Area& area : search_.python_stacks()) {
      if (area.begin <= place && place < area.end) return "a stack of Python";
    }
    for (const explain::Area& area : search_.areas()) {
      if (place < area.begin || place >= area.end) continue;
      if (area.use == Use::kManaged) return "the managed heap";
      if (area.use == Use::kGuard) return "a guarded block";
    }
    const DataNames::Object object = names_.At(place);
    *offset_bytes = object.offset_bytes;
    if (!object.symbol.empty()) {
      return "global " + Demangled(object.symbol) + " of " + object.module;
    }
    if (!object.module.empty()) return "data of " + object.module;
    const Mapping* const mapping = names_.MappingOf(place);
    if (mapping == nullptr) return "unknown memory";
    if (mapping->name == "[stack]") return "the stack of the first thread";
    if (IsStack(*mapping)) return "the stack or the thread-local storage of a thread";
    if (mapping->name == "[heap]") return "glibc's heap";
    return mapping->name.empty() ? "an anonymous mapping" : "mapping " + mapping->name;
  }

  bool IsStack(const Mapping& mapping) const {
    const auto& pointers = search_.stack_pointers();
    return std::any_of(pointers.begin(), pointers.end(), [&](uint64_t pointer) {
      return mapping.begin <= pointer && pointer < mapping.end;
    });
  }

  // A root, since its variables live as long as the process.
  static constexpr char kModule[] = "module";

  Search& search_;
  DataNames names_;
  pages::PythonTypes& types_;
  std::unordered_map<uint64_t, std::string> place_of_;  // by the block's number
};

// The places in search.sampled() of a sample's blocks.
std::vector<size_t> SampledOf(const Search& search, const heap::Sample& sample) {
  std::vector<size_t> places;
  for (const uint32_t number : sample.live_numbers) {
    if (const auto place = search.SampledOf(number)) places.push_back(*place);
  }
  return places;
}

std::string KeyOf(const std::string& block, const std::vector<Step>& steps) {
  std::string key = block;
  for (const Step& step : steps) key += '\0' + step.text;
  return key;
}

void AddTo(std::map<std::string, Reason>* reasons, const std::string& block,
           std::vector<Step> steps, const heap::Estimate& amount) {
  const auto [place, is_new] = reasons->try_emplace(KeyOf(block, steps));
  Reason& reason = place->second;
  reason.amount.Add(amount);
  ++reason.sampled;
  if (is_new) {
    reason.block = block;
    reason.steps = std::move(steps);
    return;
  }
  for (size_t i = 0; i < steps.size(); ++i) {
    Step& all = reason.steps[i];
    const Step& one = steps[i];
    all.has_keys |= all.key != one.key;
    if (all.has_keys) all.key.clear();
    all.least_offset_bytes = std::min(all.least_offset_bytes, one.least_offset_bytes);
    all.most_offset_bytes = std::max(all.most_offset_bytes, one.most_offset_bytes);
    all.least_times = std::min(all.least_times, one.least_times);
    all.most_times = std::max(all.most_times, one.most_times);
  }
}

// Returns the amount that one of the sample's blocks stands for.
heap::Estimate ShareOf(const HeapProfile& profile, const heap::Sample& sample) {
  const heap::Amount& all = sample[heap::Metric::kLive];
  const auto blocks = static_cast<double>(std::max<size_t>(sample.live_numbers.size(), 1));
  return heap::EstimateOf({all.blocks / blocks, all.bytes / blocks}, sample,
                          heap::SamplingOf(profile, heap::Metric::kLive));
}

std::string RangeText(uint64_t least, uint64_t most) {
  const std::string text = std::to_string(least);
  return least == most ? text : text + " to " + std::to_string(most);
}

std::string StepText(const Step& step) {
  std::string text = step.text;
  if (!step.key.empty()) {
    text += step.is_attribute ? ", attribute " + step.key : ", at key '" + step.key + "'";
  }
  if (step.has_keys) text += step.is_attribute ? ", several attributes" : ", at several keys";
  if (step.most_offset_bytes > 0) {
    text += ", at byte " + RangeText(step.least_offset_bytes, step.most_offset_bytes);
  }
  if (step.most_times == 1) return text;
  return text + " (" + RangeText(step.least_times, step.most_times) + " times)";
}

}  // namespace

absl::StatusOr<std::vector<Reason>> FindReasons(Search* search, const heap::Selection& selection,
                                                const NameSources& name_sources) {
  std::vector<size_t> all(search->sampled().size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  const auto profile = search->ProfileOf(all, name_sources);
  if (!profile.ok()) return profile.status();
  Paths paths(search, name_sources);
  heap::Selection names = selection;
  names.focus = {};
  names.ignore = {};
  names.labels = {};
  const heap::Stacks named = heap::StacksOf(*profile, names);
  for (const heap::Stack& stack : named.stacks) {
    for (const size_t sampled : SampledOf(*search, profile->samples[stack.sample])) {
      paths.SetPlace(sampled, PlaceOf(named, stack));
    }
  }
  std::map<std::string, Reason> reasons;
  for (const heap::Stack& stack : heap::StacksOf(*profile, selection).stacks) {
    const heap::Sample& sample = profile->samples[stack.sample];
    const heap::Estimate share = ShareOf(*profile, sample);
    for (const size_t sampled : SampledOf(*search, sample)) {
      AddTo(&reasons, paths.PlaceOf(sampled), paths.StepsTo(search->sampled()[sampled]), share);
    }
  }
  std::vector<Reason> sorted;
  for (auto& [key, reason] : reasons) sorted.push_back(std::move(reason));
  std::stable_sort(sorted.begin(), sorted.end(), [](const Reason& a, const Reason& b) {
    return a.amount.amount.bytes > b.amount.amount.bytes;
  });
  return sorted;
}

std::string ReasonsText(const std::vector<Reason>& reasons, size_t top) {
  std::string text;
  const size_t shown = top == 0 ? reasons.size() : std::min(top, reasons.size());
  for (size_t i = 0; i < shown; ++i) {
    const Reason& reason = reasons[i];
    const heap::Interval bytes = heap::BytesInterval(reason.amount);
    text += (i == 0 ? "" : "\n") + BytesText(reason.amount.amount.bytes);
    if (bytes.low < bytes.high) {
      text += " (" + BytesText(bytes.low) + " to " + BytesText(bytes.high) + ")";
    }
    text += ", " + std::to_string(reason.sampled) +
            (reason.sampled == 1 ? " sampled block of " : " sampled blocks of ") + reason.block +
            "\n";
    if (reason.steps.empty()) text += "  nothing refers to it: lost\n";
    for (const Step& step : reason.steps) {
      text += (&step == reason.steps.data() ? "  " : "  -> ") + StepText(step) + "\n";
    }
    if (!reason.steps.empty()) text += "  -> this\n";
  }
  if (shown < reasons.size()) {
    text += "\n" + std::to_string(reasons.size() - shown) + " more: --top=0 shows all\n";
  }
  return text;
}

}  // namespace allomon::leaks
