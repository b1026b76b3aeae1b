#include "tools/heap/stacks.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "tools/heap/pair_table.h"
#include "tracker/base/check.h"
#include "tracker/names/base_name.h"
#include "tracker/names/wrappers.h"

namespace allomon::heap {
namespace {

// Functions of allocators, with which stacks of other tools' profiles begin.
constexpr char kAllocators[] =
    "malloc,calloc,realloc,memalign,aligned_alloc,posix_memalign,valloc,pvalloc,__libc_malloc,"
    "__libc_calloc,__libc_realloc,je_*,prof_backtrace_impl,tc_*alloc*,tc_new*,tcmalloc::*,mi_*,"
    "do_malloc*,<known>";

// The folder of the C++ library's headers: "/usr/include/c++/12/bits/new_allocator.h".
constexpr char kLibraryFolder[] = "/include/c++/";

std::string Hex(uint64_t value) {
  char text[24];
  snprintf(text, sizeof text, "0x%" PRIx64, value);
  return text;
}

// Assigns names to the functions and addresses of a profile.
class NameTable {
 public:
  NameTable(const HeapProfile& profile, Stacks* stacks) : profile_(profile), stacks_(*stacks) {
    of_function_.assign(profile.functions.size(), kNone);
  }

  uint32_t OfFunction(uint32_t function) {
    if (function >= of_function_.size()) return Unknown();
    uint32_t& name = of_function_[function];
    if (name == kNone) name = Add(profile_.functions[function]);
    return name;
  }

  // Returns the name of a frame without functions: by its address, if it has one.
  uint32_t OfAddress(const Location& location) {
    if (location.address == 0) return Unknown();
    if (location.mapping >= profile_.mappings.size()) return Intern(Hex(location.address), "", 0);
    const Mapping& mapping = profile_.mappings[location.mapping];
    const uint64_t offset = location.address - mapping.begin + mapping.file_offset;
    return Intern(BaseName(mapping.path) + "+" + Hex(offset), mapping.path, 0);
  }

  uint32_t Unknown() { return Intern("<unknown>", "", 0); }

 private:
  uint32_t Add(const Function& function) {
    const std::string& text = function.name.empty() ? function.linker_name : function.name;
    return text.empty() ? Unknown() : Intern(text, function.file, function.start_line);
  }

  uint32_t Intern(const std::string& text, const std::string& file, uint32_t start_line) {
    const auto next = static_cast<uint32_t>(stacks_.names.size());
    const auto [place, is_new] = numbers_.emplace(text + '\0' + file, next);
    if (is_new) stacks_.names.push_back({text, file, start_line});
    return place->second;
  }

  const HeapProfile& profile_;
  Stacks& stacks_;
  std::vector<uint32_t> of_function_;  // kNone: not computed yet
  std::unordered_map<std::string, uint32_t> numbers_;
};

// Caches an answer for each name, so that each is computed once.
class NameAnswers {
 public:
  template <typename Ask>
  bool Of(uint32_t name, const Ask& ask) {
    if (name >= answers_.size()) answers_.resize(name + 1, kNotAsked);
    if (answers_[name] == kNotAsked) answers_[name] = ask() ? kYes : kNo;
    return answers_[name] == kYes;
  }

 private:
  enum Answer : uint8_t { kNotAsked, kNo, kYes };
  std::vector<Answer> answers_;
};

class Builder {
 public:
  Builder(const HeapProfile& profile, const Selection& selection)
      : profile_(profile),
        selection_(selection),
        table_(profile, &stacks_),
        wrappers_(selection.wrappers ? "" : kAllocators) {}

  Stacks Build() {
    unknown_ = FrameOf(table_.Unknown(), 0);
    ExpandLocations();
    stacks_.stacks.reserve(profile_.samples.size());
    for (size_t i = 0; i < profile_.samples.size(); ++i) Add(static_cast<uint32_t>(i));
    return std::move(stacks_);
  }

 private:
  struct Span {
    size_t begin;
    size_t end;
  };

  uint32_t FrameOf(uint32_t name, uint32_t line) {
    const auto next = static_cast<uint32_t>(stacks_.frames.size());
    const uint32_t frame = frame_numbers_.FindOrAdd(name, line, next);
    ALLOMON_DCHECK_LE("inv.heap.numbers", frame, next);
    ALLOMON_DCHECK_LT("inv.heap.numbers", name, stacks_.names.size());
    if (frame == next) stacks_.frames.push_back({name, line});
    return frame;
  }

  // Computes each location's frames, once for all stacks.
  void ExpandLocations() {
    for (const Location& location : profile_.locations) {
      const size_t begin = expanded_.size();
      for (const Line& line : location.lines) {
        expanded_.push_back(FrameOf(table_.OfFunction(line.function), line.line));
      }
      if (location.lines.empty()) expanded_.push_back(FrameOf(table_.OfAddress(location), 0));
      spans_.push_back({begin, expanded_.size()});
      interpreted_.push_back(IsInterpreted(profile_, location));
    }
  }

  bool Matches(const Patterns& patterns, uint32_t name, NameAnswers* answers) const {
    return answers->Of(name, [this, &patterns, name] {
      const Name& asked = stacks_.names[name];
      return patterns.MatchAny(asked.text) || patterns.MatchAny(asked.file);
    });
  }

  bool Has(const Stack& stack, const Patterns& patterns, NameAnswers* answers) const {
    for (uint64_t i = stack.begin; i < stack.end; ++i) {
      if (Matches(patterns, stacks_.frames[stacks_.cells[i]].name, answers)) return true;
    }
    return false;
  }

  bool IsKept(const Stack& stack) {
    if (!selection_.focus.empty() && !Has(stack, selection_.focus, &focus_)) return false;
    return selection_.ignore.empty() || !Has(stack, selection_.ignore, &ignore_);
  }

  bool HasRoom(uint64_t begin) const {
    return stacks_.cells.size() < Stacks::kMostCells &&
           stacks_.cells.size() - begin < Stacks::kMostFrames;
  }

  bool IsWrapper(uint32_t frame) {
    const uint32_t name = stacks_.frames[frame].name;
    return is_wrapper_.Of(name, [this, name] {
      const Name& asked = stacks_.names[name];
      return wrappers_.Contain(asked.text) ||
             (!selection_.wrappers && asked.file.find(kLibraryFolder) != std::string::npos);
    });
  }

  void AddFrame(uint32_t frame, uint64_t begin) {
    if (!HasRoom(begin)) {
      stacks_.cut = true;
      return;
    }
    const bool excluded = !selection_.exclude.empty() &&
                          Matches(selection_.exclude, stacks_.frames[frame].name, &exclude_);
    if (!excluded) stacks_.cells.push_back(frame);
  }

  void AddLocation(uint32_t location, uint64_t begin) {
    if (location >= spans_.size()) {
      AddFrame(unknown_, begin);
      return cell_locations_.resize(stacks_.cells.size() - begin, kNone);
    }
    const Span span = spans_[location];
    ALLOMON_DCHECK_LE("inv.heap.stack", span.end, expanded_.size());
    for (size_t i = span.begin; i < span.end && HasRoom(begin); ++i) AddFrame(expanded_[i], begin);
    cell_locations_.resize(stacks_.cells.size() - begin, location);
  }

  // Returns the place of a stack's charged frame.  `interpreted` is the place of the first frame of
  // an interpreted function.
  uint64_t Charged(const Stack& stack, uint64_t interpreted) {
    if (!selection_.wrappers && interpreted < stack.end) return interpreted;
    for (uint64_t i = stack.begin; i < stack.end; ++i) {
      if (!IsWrapper(stacks_.cells[i])) return i;
    }
    return stack.begin;
  }

  void Add(uint32_t sample) {
    if (!IsSelected(profile_.samples[sample], selection_.labels)) return;
    Stack stack;
    stack.sample = sample;
    stack.begin = stack.innermost = stacks_.cells.size();
    cell_locations_.clear();
    uint64_t interpreted = UINT64_MAX;
    for (const uint32_t location : profile_.samples[sample].stack) {
      if (!HasRoom(stack.begin)) break;
      if (interpreted == UINT64_MAX && location < interpreted_.size() && interpreted_[location]) {
        interpreted = stacks_.cells.size();
      }
      AddLocation(location, stack.begin);
    }
    if (stacks_.cells.size() == stack.begin) {
      stacks_.cells.push_back(unknown_);
      cell_locations_.push_back(kNone);
    }
    stack.end = stacks_.cells.size();
    if (!IsKept(stack)) return stacks_.cells.resize(stack.begin);
    stack.begin = Charged(stack, interpreted);
    ALLOMON_DCHECK_LE("inv.heap.stack", stack.innermost, stack.begin);
    ALLOMON_DCHECK_LT("inv.heap.stack", stack.begin, stack.end);
    ALLOMON_DCHECK_EQ("inv.heap.stack", cell_locations_.size(), stack.end - stack.innermost);
    stack.location = cell_locations_[stack.begin - stack.innermost];
    stacks_.stacks.push_back(stack);
  }

  const HeapProfile& profile_;
  const Selection& selection_;
  Stacks stacks_;
  NameTable table_;
  const Wrappers wrappers_;
  PairTable frame_numbers_;  // (name, line)
  std::vector<uint32_t> expanded_;
  std::vector<Span> spans_;               // ranges in expanded_, by location
  std::vector<bool> interpreted_;         // by location
  std::vector<uint32_t> cell_locations_;  // of the cells of the stack that is being added
  uint32_t unknown_ = 0;
  NameAnswers focus_, ignore_, exclude_, is_wrapper_;
};

}  // namespace

Stacks StacksOf(const HeapProfile& profile, const Selection& selection) {
  return Builder(profile, selection).Build();
}

absl::Status Patterns::Add(std::string_view expression) {
  // The prefix ".*" allows a match anywhere, because mlprof's matches begin at the start of the
  // text.
  auto pattern = mlprof::Regexp::Compile(".*(" + std::string(expression) + ")");
  if (!pattern) {
    return absl::InvalidArgumentError("\"" + std::string(expression) +
                                      "\" is not a regular expression (POSIX extended)");
  }
  patterns_.push_back(*std::move(pattern));
  return absl::OkStatus();
}

bool Patterns::MatchAny(std::string_view text) const {
  return std::any_of(patterns_.begin(), patterns_.end(),
                     [text](const mlprof::Regexp& one) { return one.MatchesPrefix(text); });
}

}  // namespace allomon::heap
