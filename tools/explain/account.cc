#include "tools/explain/account.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_set>

namespace allomon::explain {
namespace {

enum class Kind {
  kLive,
  kLarge,
  kFreeInPages,
  kFreePages,
  kNeverListed,
  kHugeRoom,
  kBackend,
  kSampledRoom,
  kTables,
  kRecording,
  kGuard,
  kManaged,
  kPython,
  kPythonFree,
  kBreak,
  kStacks,
  kMainStack,
  kModuleData,
  kModuleCode,
  kFiles,
  kFileCopies,
  kShared,
  kGenerated,
  kNamed,
  kKernel,
  kOther,
};

struct Text {
  Kind kind;
  const char* id;
  const char* name;
  const char* remedy;  // nullptr: none is known
  bool saves = true;   // the remedy may take all of the row
};

constexpr Text kTexts[] = {
    {Kind::kLive, "live", "live blocks", "allomon report --leaks PID shows whose they are", false},
    {Kind::kLarge, "large", "live blocks beyond 16 MiB",
     "allomon report --leaks PID shows whose they are", false},
    {Kind::kFreeInPages, "free_in_pages", "free blocks in pages with live ones",
     "allomon report --view=pages PID shows whose live ones keep them", false},
    {Kind::kFreePages, "free_pages", "free pages that are kept for later blocks",
     "malloc_trim(0) gives them back"},
    {Kind::kNeverListed, "never_handed_out", "room after the blocks of a page",
     "touched by an earlier use of the page, and taken by its next blocks", false},
    {Kind::kHugeRoom, "huge_room", "the same in mappings that have huge pages",
     "/sys/kernel/mm/transparent_hugepage/enabled = madvise"},
    {Kind::kBackend, "allocator", "headers of the allocator", nullptr, false},
    {Kind::kSampledRoom, "sampled_free", "free room between sampled blocks",
     "a lower rate of samples"},
    {Kind::kTables, "tables", "Allomon's tables", "a lower rate of samples"},
    {Kind::kRecording, "recording", "Allomon's recording", "a smaller ALLOMON_RECORD_LIMIT"},
    {Kind::kGuard, "guard", "guarded blocks", "a lower rate of guarded blocks"},
    {Kind::kManaged, "managed", "managed heaps", "a collection, or a smaller young space", false},
    {Kind::kPython, "python", "Python's objects, in its arenas",
     "allomon report --leaks PID shows whose they are", false},
    {Kind::kPythonFree, "python_free", "free room in Python's arenas",
     "goes when the objects beside it are freed, or with the process", false},
    {Kind::kBreak, "break", "the C library's heap (brk)", "malloc_trim(0) of the C library"},
    {Kind::kStacks, "stacks", "stacks of threads",
     "fewer threads; the touched part of a stack stays with its thread", false},
    {Kind::kMainStack, "main_stack", "stack of the first thread", nullptr, false},
    {Kind::kModuleData, "module_data", "data of programs and libraries",
     "fewer libraries, and tables that are const", false},
    {Kind::kModuleCode, "module_code", "code of programs and libraries, shared",
     "the kernel takes it back when memory is short", false},
    {Kind::kFiles, "files", "mapped files", "munmap(2) or madvise(MADV_DONTNEED) by the program",
     false},
    // MADV_DONTNEED would lose written pages.
    {Kind::kFileCopies, "private_file_pages", "pages of mapped files, written privately",
     "munmap(2) by the program; no file has what was written", false},
    {Kind::kShared, "shared_memory", "shared memory", "whoever maps it frees it last", false},
    {Kind::kGenerated, "generated_code", "code that was generated", nullptr, false},
    {Kind::kNamed, "named", "", nullptr, false},
    {Kind::kKernel, "kernel", "pages of the kernel (vdso)", nullptr, false},
    {Kind::kOther, "other_anonymous", "other anonymous mappings, not by malloc",
     "ALLOMON_MMAP=1 attributes them to functions", false},
};

const Text& TextOf(Kind kind) {
  return *std::find_if(std::begin(kTexts), std::end(kTexts),
                       [kind](const Text& text) { return text.kind == kind; });
}

bool BeginsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

bool IsSharedMemory(const Mapping& mapping) {
  const std::string_view name = mapping.name;
  return mapping.is_shared && (BeginsWith(name, "/dev/shm/") || BeginsWith(name, "/SYSV") ||
                               BeginsWith(name, "/memfd:") || BeginsWith(name, "/dev/zero") ||
                               BeginsWith(name, "[anon_shmem:") || name.empty());
}

void SortRows(std::vector<Row>* rows) {
  std::stable_sort(rows->begin(), rows->end(),
                   [](const Row& a, const Row& b) { return a.resident_bytes > b.resident_bytes; });
}

class Accountant {
 public:
  Accountant(const std::vector<Mapping>& mappings, const Facts& facts)
      : mappings_(mappings),
        facts_(facts),
        resident_(facts.areas.size()),
        is_in_huge_(facts.areas.size()) {
    for (size_t i = 0; i < mappings.size(); ++i) {
      const Mapping& mapping = mappings[i];
      if (mapping.is_executable && mapping.inode != 0) modules_.insert(mapping.name);
      if (IsStackInUse(i)) stack_sizes_.insert(mapping.end - mapping.begin);
    }
    if (facts.stack_bytes != 0) stack_sizes_.insert(facts.stack_bytes);
  }

  void Divide() {
    for (size_t i = 0; i < mappings_.size(); ++i) {
      const uint64_t in_areas = DivideByAreas(mappings_[i]);
      const uint64_t bytes = mappings_[i].resident_bytes;
      DivideRest(i, bytes - std::min(bytes, in_areas));
    }
    for (size_t i = 0; i < facts_.areas.size(); ++i) {
      AddArea(facts_.areas[i], resident_[i], is_in_huge_[i]);
    }
  }

  std::vector<Row> Rows() const {
    std::vector<Row> rows;
    for (const auto& [key, row] : rows_) {
      if (row.resident_bytes == 0) continue;
      rows.push_back(row);
      rows.back().saves_bytes = TextOf(key.first).saves ? row.resident_bytes : 0;
    }
    SortRows(&rows);
    return rows;
  }

 private:
  // The resident bytes of the mapping that lie in areas; never more than it has.
  uint64_t DivideByAreas(const Mapping& mapping) {
    has_heap_ = false;
    while (next_ < facts_.areas.size() && facts_.areas[next_].end <= mapping.begin) ++next_;
    uint64_t sum = 0;
    parts_.clear();
    for (size_t i = next_; i < facts_.areas.size() && facts_.areas[i].begin < mapping.end; ++i) {
      parts_.push_back({i, PartOf(mapping, facts_.areas[i])});
      sum += parts_.back().bytes;
      const Use use = facts_.areas[i].use;
      has_heap_ = has_heap_ || use == Use::kBackend || IsOfBlocks(use);
    }
    uint64_t surplus = sum - std::min(sum, mapping.resident_bytes);
    TakeSurplus(false, &surplus);
    TakeSurplus(true, &surplus);
    for (const Part& part : parts_) {
      resident_[part.area] += part.bytes;
      is_in_huge_[part.area] = is_in_huge_[part.area] || mapping.huge_bytes != 0;
    }
    return std::min(sum, mapping.resident_bytes);
  }

  // The page table has pages of zeroes as present, which were read and never written, and which the
  // sums do not count.  Tables have most of them.
  void TakeSurplus(bool from_blocks, uint64_t* surplus) {
    for (Part& part : parts_) {
      if (IsOfBlocks(facts_.areas[part.area].use) != from_blocks) continue;
      const uint64_t taken = std::min(*surplus, part.bytes);
      part.bytes -= taken;
      *surplus -= taken;
    }
  }

  uint64_t PartOf(const Mapping& mapping, const Area& area) const {
    const uint64_t begin = std::max(area.begin, mapping.begin);
    const uint64_t end = std::min(area.end, mapping.end);
    if (mapping.resident_bytes == 0) return 0;
    const bool is_whole = begin == mapping.begin && end == mapping.end;
    return is_whole ? mapping.resident_bytes : facts_.resident_bytes(begin, end);
  }

  static bool IsOfBlocks(Use use) { return use == Use::kBlocks || use == Use::kFreePages; }

  void Add(Kind kind, uint64_t bytes, uint64_t count = 0, uint64_t untouched_bytes = 0,
           const std::string& name = "") {
    Row& row = rows_[{kind, name}];
    const Text& text = TextOf(kind);
    if (row.id.empty()) {
      row.id = text.id;
      row.name = name.empty() ? text.name : name;
      row.remedy = text.remedy == nullptr ? "" : text.remedy;
    }
    row.resident_bytes += bytes;
    row.count += count;
    row.untouched_bytes += untouched_bytes;
  }

  void AddBlocks(Kind live, Kind free, const Area& area, uint64_t resident) {
    const uint64_t live_bytes = std::min(area.live_bytes, resident);
    Add(live, live_bytes, area.live_blocks, area.live_bytes - live_bytes);
    Add(free, resident - live_bytes);
  }

  void AddArea(const Area& area, uint64_t resident, bool is_in_huge) {
    switch (area.use) {
      case Use::kBlocks: {
        const uint64_t listed = std::min(std::max(area.listed_bytes, area.live_bytes), resident);
        AddBlocks(Kind::kLive, Kind::kFreeInPages, area, listed);
        return Add(is_in_huge ? Kind::kHugeRoom : Kind::kNeverListed, resident - listed);
      }
      case Use::kLargeBlock:
        return AddBlocks(Kind::kLarge, Kind::kLarge, area, resident);
      case Use::kSampledBlocks:
        return AddBlocks(Kind::kLive, Kind::kSampledRoom, area, resident);
      case Use::kFreePages:
        return Add(Kind::kFreePages, resident);
      case Use::kBackend:
        return Add(Kind::kBackend, resident);
      case Use::kTables:
        return Add(Kind::kTables, resident);
      case Use::kRecording:
        return Add(Kind::kRecording, resident);
      case Use::kGuard:
        return Add(Kind::kGuard, resident);
      case Use::kManaged:
        return Add(Kind::kManaged, resident);
      case Use::kPython:
        return AddBlocks(Kind::kPython, Kind::kPythonFree, area, resident);
    }
  }

  bool HasStackPointer(const Mapping& mapping) const {
    return std::any_of(
        facts_.stack_pointers.begin(), facts_.stack_pointers.end(),
        [&mapping](uint64_t pointer) { return pointer >= mapping.begin && pointer < mapping.end; });
  }

  bool HasGuardBelow(size_t i) const {
    return i != 0 && mappings_[i - 1].end == mappings_[i].begin && !mappings_[i - 1].is_readable &&
           !mappings_[i - 1].is_writable && mappings_[i - 1].name.empty();
  }

  // The kernel joins a stack that the program has mapped itself, without a guard, with other memory
  // beside it.
  bool IsStackInUse(size_t i) const {
    constexpr uint64_t kUsualBytes = 8 << 20;
    const Mapping& mapping = mappings_[i];
    return HasStackPointer(mapping) &&
           (HasGuardBelow(i) ||
            mapping.end - mapping.begin <= std::max(facts_.stack_bytes, kUsualBytes));
  }

  // pthread_create(3) maps a guard of a page or more right below.  So do some allocators, whose
  // mappings have other sizes than the stacks that are known.
  bool IsStack(size_t i) const {
    const Mapping& mapping = mappings_[i];
    if (IsStackInUse(i)) return true;
    constexpr uint64_t kMostGuardBytes = 64 << 10;
    if (i == 0 || !mapping.is_writable || !mapping.name.empty()) return false;
    if (stack_sizes_.count(mapping.end - mapping.begin) == 0) return false;
    return HasGuardBelow(i) && mappings_[i - 1].end - mappings_[i - 1].begin <= kMostGuardBytes;
  }

  // Whether it may begin with the zeroed part of a module's data, which has no file.
  bool IsAboveModule(size_t i) const {
    if (i == 0 || !mappings_[i].name.empty() || mappings_[i].inode != 0) return false;
    const Mapping& below = mappings_[i - 1];
    return below.end == mappings_[i].begin && below.inode != 0 && modules_.count(below.name) != 0;
  }

  // The resident bytes of the zeroed part of a module's data, of `bytes` in a mapping above it.  A
  // library is often mapped right below memory that the program had mapped before, and the kernel
  // joins the two.
  uint64_t ZeroesOfModule(size_t i, uint64_t bytes) const {
    const Mapping& mapping = mappings_[i];
    const auto after =
        std::upper_bound(facts_.modules.begin(), facts_.modules.end(), mappings_[i - 1].begin,
                         [](uint64_t at, const Module& module) { return at < module.begin; });
    const bool is_known =
        after != facts_.modules.begin() && mappings_[i - 1].begin < (after - 1)->end;
    if (!is_known || (after - 1)->end >= mapping.end) return bytes;
    const uint64_t end = (after - 1)->end;
    if (end <= mapping.begin) return 0;
    return std::min(bytes, facts_.resident_bytes(mapping.begin, end));
  }

  // What is in no area.
  void DivideRest(size_t i, uint64_t bytes) {
    const Mapping& mapping = mappings_[i];
    if (bytes == 0) return;
    if (has_heap_ && mapping.name.empty()) return Add(Kind::kBackend, bytes);
    if (mapping.name == "[heap]") return Add(Kind::kBreak, bytes);
    if (mapping.name == "[stack]") return Add(Kind::kMainStack, bytes);
    if (IsSharedMemory(mapping)) return Add(Kind::kShared, bytes, 1);
    if (mapping.inode != 0 || BeginsWith(mapping.name, "/")) return DivideFile(mapping, bytes);
    if (BeginsWith(mapping.name, "[anon:")) {
      const std::string name = mapping.name.substr(6, mapping.name.size() - 7);
      return Add(Kind::kNamed, bytes, 1, 0, "mappings named " + name);
    }
    if (!mapping.name.empty()) return Add(Kind::kKernel, bytes);
    if (IsAboveModule(i)) {
      const uint64_t zeroes = ZeroesOfModule(i, bytes);
      if (zeroes != 0) Add(Kind::kModuleData, zeroes);
      bytes -= zeroes;
      if (bytes == 0) return;
    }
    if (IsStack(i)) return Add(Kind::kStacks, bytes, 1);
    if (mapping.is_executable) return Add(Kind::kGenerated, bytes, 1);
    Add(Kind::kOther, bytes, 1);
  }

  void DivideFile(const Mapping& mapping, uint64_t bytes) {
    const bool is_module = modules_.count(mapping.name) != 0;
    const uint64_t own = std::min(mapping.anonymous_bytes, bytes);
    if (!is_module) {
      if (own != bytes) Add(Kind::kFiles, bytes - own, 1);
      if (own != 0) Add(Kind::kFileCopies, own, 1);
      return;
    }
    Add(Kind::kModuleData, own);
    Add(Kind::kModuleCode, bytes - own);
  }

  const std::vector<Mapping>& mappings_;
  const Facts& facts_;
  struct Part {
    size_t area;
    uint64_t bytes;
  };
  std::vector<Part> parts_;         // of a mapping
  std::vector<uint64_t> resident_;  // of each area
  std::vector<bool> is_in_huge_;    // of each area: its mapping has huge pages
  size_t next_ = 0;                 // the first area that may lie in later mappings
  bool has_heap_ = false;           // the mapping has pages of the backend
  std::unordered_set<std::string> modules_;
  std::unordered_set<uint64_t> stack_sizes_;  // of stacks that are known, or usual
  std::map<std::pair<Kind, std::string>, Row> rows_;
};

}  // namespace

uint64_t UntouchedBytes(const Account& account) {
  uint64_t bytes = 0;
  for (const Row& row : account.rows) bytes += row.untouched_bytes;
  return bytes;
}

std::vector<Row> WithoutSmallNames(const std::vector<Row>& rows, size_t names) {
  std::vector<Row> kept;
  Row rest;
  size_t named = 0;
  for (const Row& row : rows) {
    if (row.id != TextOf(Kind::kNamed).id || ++named <= names) {
      kept.push_back(row);
      continue;
    }
    rest.resident_bytes += row.resident_bytes;
    rest.count += row.count;
  }
  if (named <= names) return kept;
  rest.id = TextOf(Kind::kNamed).id;
  rest.name = "mappings of " + std::to_string(named - names) + " other names";
  kept.push_back(rest);
  SortRows(&kept);
  return kept;
}

void SplitLive(double rounding_bytes, double beyond_bytes, const std::string& name,
               Account* account) {
  const auto live = std::find_if(account->rows.begin(), account->rows.end(),
                                 [](const Row& row) { return row.id == "live"; });
  if (live == account->rows.end() || !(rounding_bytes > 0)) return;
  const auto untouched = static_cast<double>(live->untouched_bytes);
  const double beyond = std::clamp(beyond_bytes, 0.0, std::min(rounding_bytes, untouched));
  live->untouched_bytes -= static_cast<uint64_t>(beyond);
  rounding_bytes -= beyond;
  live->name = "live blocks, as asked for";
  if (rounding_bytes < 1) return;
  const auto most = static_cast<double>(live->resident_bytes);
  Row rounding;
  rounding.id = "rounding";
  rounding.name = name;
  rounding.resident_bytes = static_cast<uint64_t>(std::min(rounding_bytes, most));
  rounding.remedy = "sizes that fill their class: allomon report --view=sizes";
  rounding.saves_bytes = rounding.resident_bytes;
  live->resident_bytes -= rounding.resident_bytes;
  account->rows.push_back(rounding);
  SortRows(&account->rows);
}

Account MakeAccount(const std::vector<Mapping>& mappings, const Facts& facts) {
  Accountant accountant(mappings, facts);
  accountant.Divide();
  Account account;
  account.totals = SumOf(mappings);
  account.rows = accountant.Rows();
  for (const Area& area : facts.areas) account.large_live_bytes += area.large_live_bytes;
  return account;
}

}  // namespace allomon::explain
