#include "tools/explain/explanation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "tools/explain/heap_blocks.h"
#include "tools/explain/mappings.h"
#include "tools/explain/notes.h"
#include "tools/explain/process.h"
#include "tools/explain/python_arenas.h"
#include "tools/explain/recorded.h"
#include "tools/heap/program_name.h"
#include "tools/load/load.h"
#include "tools/text/amounts.h"

namespace allomon::explain {
namespace {

// A file may say any number.
uint64_t WholeBytes(double bytes) {
  constexpr double kMostBytes = 0x1p62;
  return static_cast<uint64_t>(std::clamp(bytes, 0.0, kMostBytes));
}

std::string Bytes(uint64_t bytes) {
  return report::Amount(ProfileKind::kAlloc, static_cast<MlmonInt>(bytes));
}

double Moved(const Totals& before, const Totals& after) {
  const auto from = static_cast<double>(before.resident_bytes);
  return from == 0 ? 0 : std::abs(static_cast<double>(after.resident_bytes) - from) / from;
}

// Kernels before 4.14 have no smaps_rollup.
absl::StatusOr<Totals> ReadTotals(const Process& process) {
  auto text = process.Rollup();
  if (!text.ok()) text = process.Smaps();
  if (!text.ok()) return text.status();
  return SumOf(ParseMappings(*text));
}

// Rounding is the part of live blocks that was not asked for.
void SplitLiveByRecording(const AskedFor& asked, Account* account) {
  double given_bytes = 0;
  for (const Row& row : account->rows) {
    if (row.id != "live" && row.id != "large") continue;
    given_bytes += static_cast<double>(row.resident_bytes + row.untouched_bytes);
  }
  const double beyond = static_cast<double>(account->large_live_bytes) - asked.large_bytes;
  std::string name = "rounding up to size classes";
  if (asked.interval.low != asked.interval.high) {
    const auto bytes = [given_bytes](double of_asked) {
      return Bytes(WholeBytes(given_bytes - of_asked));
    };
    name += ": " + bytes(asked.interval.high) + " to " + bytes(asked.interval.low);
  }
  if (given_bytes > asked.bytes) {
    SplitLive(given_bytes - asked.bytes, beyond, name, account);
  } else if (given_bytes < asked.bytes) {
    account->notes.push_back("less was allocated than the recording estimates; its interval is " +
                             Bytes(WholeBytes(asked.interval.low)) + " to " +
                             Bytes(WholeBytes(asked.interval.high)));
  }
}

absl::StatusOr<std::vector<Mapping>> ReadMappings(const Process& process) {
  const std::string number = std::to_string(process.pid());
  if (process.name().empty()) return absl::NotFoundError("there is no process " + number);
  const auto smaps = process.Smaps();
  if (smaps.ok() && smaps->empty()) {
    return absl::FailedPreconditionError("process " + number +
                                         " has no memory: it is the kernel's, or has ended");
  }
  if (smaps.ok() && process.page_table().error() == 0) return ParseMappings(*smaps);
  const std::string why = smaps.ok() ? "the page table of process " + number + " cannot be read"
                                     : std::string(smaps.status().message());
  return absl::PermissionDeniedError(why + "; ask as the process's user, or as root");
}

// Each fact that is not known becomes a note.
Facts ReadFacts(const Process& process, const std::vector<Mapping>& mappings, std::string* backend,
                std::vector<std::string>* notes) {
  Facts facts;
  facts.stack_pointers = process.StackPointers();
  facts.stack_bytes = process.StackBytes();
  facts.modules = FindModules(process.memory(), mappings);
  facts.resident_bytes = [&process](uint64_t begin, uint64_t end) {
    return process.ResidentBytes(begin, end);
  };
  auto blocks = FindHeapBlocks(process, mappings);
  if (blocks.ok()) {
    *backend = blocks->backend;
    facts.areas = std::move(blocks->areas);
    if (!blocks->not_known.empty()) notes->push_back(blocks->not_known);
  } else {
    notes->emplace_back(blocks.status().message());
  }
  AddPythonArenas(process, mappings, &facts.areas);
  return facts;
}

bool Has(Use use, const std::vector<Area>& areas) {
  return std::any_of(areas.begin(), areas.end(),
                     [use](const Area& area) { return area.use == use; });
}

absl::StatusOr<AskedFor> PythonsAskedFor() {
  return absl::FailedPreconditionError(
      "how much of the live blocks was asked for is not known: the recording does not tell them "
      "from Python's objects in arenas");
}

absl::StatusOr<Explanation> ExplainOnce(uint32_t pid) {
  const Process process(pid);
  const auto before = ReadTotals(process);
  const auto mappings = ReadMappings(process);
  if (!mappings.ok()) return mappings.status();
  if (!before.ok()) return before.status();
  Explanation found{process.name(), pid, process.threads(), 0, "", {}, {}, 0};
  std::vector<std::string> notes;
  const Facts facts = ReadFacts(process, *mappings, &found.backend, &notes);
  found.account = MakeAccount(*mappings, facts);
  found.account.notes = std::move(notes);
  if (Has(Use::kRecording, facts.areas)) {
    const auto asked =
        Has(Use::kPython, facts.areas) ? PythonsAskedFor() : ReadAskedFor(process, facts.areas);
    if (asked.ok()) SplitLiveByRecording(*asked, &found.account);
    if (!asked.ok()) found.account.notes.emplace_back(asked.status().message());
  }
  const auto after = ReadTotals(process);
  if (!after.ok()) {
    return absl::NotFoundError("process " + std::to_string(pid) + " has ended meanwhile");
  }
  found.kernels = *after;
  found.moved = std::max(Moved(*before, *after), Moved(found.account.totals, *after));
  return found;
}

// The rows of a process that is gone, by what its recording says.
class RowsOfFile {
 public:
  explicit RowsOfFile(uint64_t resident_bytes) : left_bytes_(resident_bytes) {}

  // A row has at most the rest of the resident memory.
  void Add(const char* id, const std::string& name, double bytes, const char* remedy) {
    Row row{id, name, 0, 0, 0, remedy, 0};
    row.resident_bytes = std::min(left_bytes_, WholeBytes(bytes));
    left_bytes_ -= row.resident_bytes;
    if (row.resident_bytes != 0) rows_.push_back(row);
  }
  // Live blocks beyond the rest of the resident memory are untouched.
  void AddLive(double bytes) {
    const uint64_t wanted = WholeBytes(bytes);
    if (left_bytes_ == 0) return;
    const bool is_more = wanted > left_bytes_;
    Add("live", is_more ? "live blocks, at most" : "live blocks, as asked for", bytes,
        "allomon report --metric=live FILE shows whose they are");
    if (is_more) rows_.back().untouched_bytes = wanted - rows_.back().resident_bytes;
  }
  void AddRest(const std::string& name, const char* remedy) {
    Add("not_known", name, static_cast<double>(left_bytes_), remedy);
  }

  uint64_t left_bytes() const { return left_bytes_; }
  std::vector<Row> Sorted() {
    std::stable_sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) {
      return a.resident_bytes > b.resident_bytes;
    });
    return std::move(rows_);
  }

 private:
  uint64_t left_bytes_;
  std::vector<Row> rows_;
};

constexpr char kWhileItRuns[] = "allomon explain PID divides it while the process runs";

// Free blocks come before live ones: they were written once, and live ones need not have been.
void AddHeapOfCopy(const heap::HeapProfile& profile, const heap::HeapPages& pages,
                   RowsOfFile* rows) {
  rows->Add("file_pages", "code, mapped files and shared memory", pages.file_bytes,
            "the kernel takes back what is in files when memory is short");
  rows->Add("free_in_pages", "free blocks in pages with live ones", pages.free_bytes,
            "allomon report --view=pages PID shows whose live ones keep them, while it runs");
  rows->Add("sampled_free", "free room between sampled blocks, at most", pages.sampled_free_bytes,
            "a lower rate of samples");
  const AskedFor asked = AskedForOf(profile);
  rows->AddLive(asked.bytes);
  const auto beyond = [&pages](double of_asked) {
    return Bytes(WholeBytes(pages.live_bytes - of_asked));
  };
  std::string name = pages.known == heap::HeapPages::Known::kWhole
                         ? "rounding up to size classes"
                         : "blocks from before the recording, and rounding up to size classes";
  if (asked.interval.low != asked.interval.high) {
    name += ": " + beyond(asked.interval.high) + " to " + beyond(asked.interval.low);
  }
  rows->Add("rounding", name, pages.live_bytes - asked.bytes,
            "sizes that fill their class: allomon report --view=sizes");
  const auto kept =
      static_cast<uint64_t>(std::min(pages.kept_bytes, static_cast<double>(rows->left_bytes())));
  rows->AddRest(
      "not known, because the process was not read (free pages: " + Bytes(kept) + " at most)",
      kWhileItRuns);
}

const char* WhyNotDivided(heap::HeapPages::Known known) {
  switch (known) {
    case heap::HeapPages::Known::kOtherAllocator:
      return "not known, because a process counts pages of mimalloc 2.0.9 alone by itself";
    case heap::HeapPages::Known::kUnreadable:
      return "not known, because the process could not read its own memory";
    default:
      return "not known, because the process was not read";
  }
}

std::vector<Row> RowsOf(const heap::HeapProfile& profile) {
  const heap::ProcessMemory& memory = profile.memory;
  RowsOfFile rows(WholeBytes(memory.resident_bytes));
  const heap::HeapPages::Known known = memory.heap.known;
  if (known == heap::HeapPages::Known::kWhole || known == heap::HeapPages::Known::kSincePart) {
    AddHeapOfCopy(profile, memory.heap, &rows);
  } else {
    rows.AddLive(memory.live_bytes);
    rows.AddRest(WhyNotDivided(known), kWhileItRuns);
  }
  return rows.Sorted();
}

}  // namespace

absl::StatusOr<Explanation> ExplainFile(const std::string& path) {
  load::LoadOptions options;
  options.names = false;
  const auto profile = load::LoadHeapProfile(path, options);
  if (!profile.ok()) return profile.status();
  const heap::ProcessMemory& memory = profile->memory;
  if (!(memory.resident_bytes > 0)) {
    return absl::FailedPreconditionError(
        path +
        ": it does not say how large the process was: it was made by an earlier version, "
        "belongs to several processes, or /proc was not there");
  }
  Explanation found;
  found.name = heap::ProgramName(profile->program, profile->command);
  found.pid = static_cast<uint32_t>(profile->pid);
  found.seconds = memory.seconds;
  const uint64_t whole = WholeBytes(memory.resident_bytes);
  found.kernels.resident_bytes = found.account.totals.resident_bytes = whole;
  found.account.rows = RowsOf(*profile);
  return found;
}

absl::StatusOr<Explanation> Explain(uint32_t pid) {
  auto best = ExplainOnce(pid);
  for (int again = 0; best.ok() && best->moved > kMostMoved && again < 2; ++again) {
    auto next = ExplainOnce(pid);
    if (next.ok() && next->moved < best->moved) best = std::move(next);
  }
  return best;
}

}  // namespace allomon::explain
