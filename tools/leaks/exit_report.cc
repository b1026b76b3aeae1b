#include "tools/leaks/exit_report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tools/heap/heap_profile.h"
#include "tools/heap/interval.h"
#include "tools/heap/missing.h"
#include "tools/leaks/search.h"
#include "tools/leaks/suppressions.h"
#include "tools/text/numbers.h"
#include "tools/text/plain_text.h"
#include "tools/text/terminal.h"

namespace allomon::leaks {
namespace {

using heap::HeapProfile;
using interchange::Hexadecimal;

// Lost blocks with one call stack.
struct Leak {
  bool is_direct = false;
  std::string stack;  // its lines
  double blocks = 0;
  double bytes = 0;
};

std::string FrameText(size_t number, uint64_t address, const std::string& name,
                      const std::string& place) {
  return "    #" + std::to_string(number) + " 0x" + Hexadecimal(address) + " in " + name +
         (place.empty() ? "" : " " + place) + "\n";
}

// Inlined calls are frames of their own.
std::string StackText(const HeapProfile& profile, const std::vector<uint32_t>& stack) {
  std::string text;
  size_t number = 0;
  for (const uint32_t index : stack) {
    if (index >= profile.locations.size()) continue;
    const heap::Location& location = profile.locations[index];
    for (const heap::Line& line : location.lines) {
      if (line.function >= profile.functions.size()) continue;
      const heap::Function& function = profile.functions[line.function];
      std::string place = function.file;
      if (!place.empty() && line.line > 0) place += ":" + std::to_string(line.line);
      text += FrameText(number++, location.address, function.name, place);
    }
    if (!location.lines.empty()) continue;
    std::string place;
    if (location.mapping < profile.mappings.size()) {
      const heap::Mapping& mapping = profile.mappings[location.mapping];
      place = "(" + mapping.path + "+0x" +
              Hexadecimal(location.address - mapping.begin + mapping.file_offset) + ")";
    }
    text += FrameText(number++, location.address, "<unknown>", place);
  }
  return text.empty() ? "    <unknown>\n" : text;
}

// Returns what was lost with the stacks of a profile that has these blocks alone.
std::vector<Leak> LeaksOf(const HeapProfile& profile, const Search& search,
                          const std::unordered_set<size_t>& direct,
                          const heap::Selection& selection) {
  std::map<std::pair<bool, std::string>, Leak> found;
  for (const heap::Stack& stack : heap::StacksOf(profile, selection).stacks) {
    const heap::Sample& sample = profile.samples[stack.sample];
    const std::string text = StackText(profile, sample.stack);
    const double numbers = std::max(1.0, static_cast<double>(sample.live_numbers.size()));
    const double weight = sample[heap::Metric::kLive].blocks / numbers;
    for (const uint32_t number : sample.live_numbers) {
      const auto place = search.SampledOf(number);
      const bool is_direct = place.has_value() && direct.count(*place) > 0;
      Leak& leak = found[{!is_direct, text}];
      leak.is_direct = is_direct;
      leak.stack = text;
      leak.blocks += weight;
      leak.bytes += weight * static_cast<double>(search.SizeOf(number));
    }
  }
  std::vector<Leak> leaks;
  for (auto& [key, leak] : found) leaks.push_back(std::move(leak));
  std::stable_sort(leaks.begin(), leaks.end(), [](const Leak& a, const Leak& b) {
    return a.is_direct != b.is_direct ? a.is_direct : a.bytes > b.bytes;
  });
  return leaks;
}

std::string TextOf(const HeapProfile& profile, const Search& search,
                   const std::vector<Leak>& leaks) {
  const bool is_exact = heap::SamplingOf(profile, heap::Metric::kLive).IsExact();
  const std::string about = is_exact ? "" : "about ";
  const auto number = [](double value) { return std::to_string(std::llround(value)); };
  std::string text = search.process().name() + " (pid " + std::to_string(search.process().pid()) +
                     "): detected memory leaks: at its exit nothing refers to these blocks\n";
  double blocks = 0, bytes = 0;
  for (const Leak& leak : leaks) {
    text += std::string("\n") + (leak.is_direct ? "Direct" : "Indirect") + " leak of " + about +
            number(leak.bytes) + " byte(s) in " + about + number(leak.blocks) +
            " object(s) allocated from:\n" + leak.stack;
    blocks += leak.blocks;
    bytes += leak.bytes;
  }
  text += "\nSUMMARY: Allomon: " + about + number(bytes) + " byte(s) leaked in " + about +
          number(blocks) + " allocation(s).\n";
  const std::string missing = heap::MissingText(profile.missing);
  return missing.empty() ? text : text + missing + "\n";
}

// A text of several lines, harmless for a terminal.
std::string PrintableLines(const std::string& text) {
  std::string printable;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    printable += Printable(text.substr(begin, end - begin), report::ThisTerminal().charset) + "\n";
    begin = end + 1;
  }
  return printable;
}

ExitReport NotSearched(const Search& search, const absl::Status& status) {
  const std::string who = search.process().name().empty() ? "process" : search.process().name();
  return {Verdict::kNotSearched,
          who + " (" + std::to_string(search.process().pid()) +
              ") was not searched for lost blocks: " + std::string(status.message())};
}

}  // namespace

ExitReport ReportAtExit(uint32_t pid, const heap::Patterns& suppressed,
                        const std::function<void()>& stands) {
  Search search(pid);
  const absl::Status taken = search.Take(Search::After::kStand);
  stands();
  if (!taken.ok()) return NotSearched(search, taken);
  if (search.sleeping_threads() > 0) {
    const std::string count = std::to_string(search.sleeping_threads());
    return NotSearched(search, absl::UnavailableError(
                                   count + (count == "1" ? " thread sleeps" : " threads sleep") +
                                   " in the kernel, so registers are not known"));
  }
  search.Mark(false);
  std::vector<size_t> places;
  std::unordered_set<size_t> direct;
  for (const LostBlock& block : search.FindLost()) {
    places.push_back(block.sampled);
    if (block.is_direct) direct.insert(block.sampled);
  }
  if (places.empty()) return {};
  auto profile = search.ProfileOf(places, {});
  // A child of fork has a recording of its own from its first sample on.  What it has lost before
  // is its parent's.
  if (!profile.ok()) return {};
  RemoveModules(suppressed, &*profile);
  heap::Selection selection;
  selection.ignore = suppressed;
  selection.wrappers = true;
  const std::vector<Leak> leaks = LeaksOf(*profile, search, direct, selection);
  if (leaks.empty()) return {};
  return {Verdict::kLost, PrintableLines(TextOf(*profile, search, leaks))};
}

}  // namespace allomon::leaks
