#include "tools/leaks/search.h"

#include <elf.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <memory>
#include <thread>
#include <utility>

#include "tools/load/recording/recording_profile.h"
#include "tools/text/amounts.h"
#include "tracker/names/base_name.h"

namespace allomon::leaks {
namespace {

using explain::Area;
using explain::Mapping;
using explain::Use;
using process_map::SampledBlocks;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kRedZoneBytes = 128;  // below a stack pointer, by the System V ABI

uint64_t AddressOf(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// Memory that a mapping's words are looked for in is no part of the heap, nor of Allomon's tables,
// which refer to all sampled blocks.
bool IsRoot(Use use) { return use == Use::kGuard || use == Use::kManaged; }

// Signals that would end this program wait: the process would keep a child that it does not know.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t held;
    sigemptyset(&held);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) sigaddset(&held, signal);
    pthread_sigmask(SIG_BLOCK, &held, &before_);
  }
  ~HeldSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

 private:
  sigset_t before_;
};

// The kernel ends this process before others if the machine runs out of memory: the one that is
// copied is often the largest.  Raising it needs no right.
void OfferToKiller(const std::string& process) {
  std::ofstream("/proc/" + process + "/oom_score_adj") << 1000;
}

}  // namespace

// A thread that did not come to a stop stays traced until the tracing thread ends.
absl::Status Search::Take(After after) {
  const HeldSignals held;
  if (after == After::kStand) return TakeHere(after);
  absl::Status status;
  std::thread([&] { status = TakeHere(after); }).join();
  return status;
}

absl::Status Search::TakeHere(After after) {
  OfferToKiller("self");
  const std::string number = std::to_string(process_.pid());
  if (process_.name().empty()) return absl::NotFoundError("there is no process " + number);
  // A zombie, or a thread of the kernel.
  const auto maps = process_.Maps();
  if (maps.ok() && maps->empty()) return absl::NotFoundError("it has ended, or has no memory");
  if (process_.has_lost_first_thread()) {
    return absl::FailedPreconditionError(
        "its first thread has ended (pthread_exit), so it cannot be stopped");
  }
  const auto begin = Clock::now();
  auto stopped = StoppedProcess::Stop(process_.pid());
  if (!stopped.ok()) return stopped.status();
  KeepRegisters(**stopped);
  const auto go_on = [&] {
    stopped->reset();
    stopped_seconds_ = std::chrono::duration<double>(Clock::now() - begin).count();
  };
  if (after == After::kStand) {
    stopped_ = *std::move(stopped);
    return CopyWhileStopped();
  }
  const auto fork = FrozenFork::Make(process_, stopped->get());
  if (fork.ok()) OfferToKiller(std::to_string((*fork)->pid()));
  absl::Status status = fork.ok() ? CopyWithoutFork(**fork) : CopyWhileStopped();
  go_on();
  if (!fork.ok()) {
    not_forked_ = std::string(fork.status().message());
    return status;
  }
  return status.ok() ? CopyFork(**fork) : status;
}

bool Search::ReadMemory(uint64_t address, void* to, size_t size_bytes) const {
  const char* const bytes = static_cast<const char*>(to);
  const bool has_copy = snapshot_.ReadAt(address, to, size_bytes) &&
                        std::any_of(bytes, bytes + size_bytes, [](char c) { return c != 0; });
  return has_copy || process_.memory().ReadAt(address, to, size_bytes);
}

void Search::KeepRegisters(const StoppedProcess& stopped) {
  registers_ = stopped.registers();
  stack_pointers_ = stopped.stack_pointers();
  thread_pointers_ = stopped.thread_pointers();
  sleeping_threads_ = stopped.sleeping();
}

absl::Status Search::CopyWhileStopped() {
  const auto smaps = process_.Smaps();
  if (!smaps.ok()) return smaps.status();
  mappings_ = explain::ParseMappings(*smaps);
  const absl::Status status = ReadHeap(process_);
  return status.ok() ? snapshot_.Copy(process_, mappings_) : status;
}

// Mappings that a fork does not have (MADV_DONTFORK), and what is shared: it may be written, and
// pointers may be moved from it to private memory, while the fork is copied.  Beyond the bound that
// is so.
absl::Status Search::CopyWithoutFork(const FrozenFork& fork) {
  const auto all = process_.Maps();
  if (!all.ok()) return all.status();
  const auto forked = explain::Process(fork.pid()).Maps();
  if (!forked.ok()) return forked.status();
  const std::vector<Mapping> known = explain::ParseMappings(*forked);
  constexpr uint64_t kMostSharedBytes = uint64_t{16} << 20;
  uint64_t shared_bytes = 0;
  for (Mapping& mapping : explain::ParseMappings(*all)) {
    if (mapping.is_shared && mapping.is_readable && mapping.is_writable) {
      mapping.resident_bytes = process_.ResidentBytes(mapping.begin, mapping.end);
      if (shared_bytes + mapping.resident_bytes > kMostSharedBytes) continue;
      shared_bytes += mapping.resident_bytes;
      mappings_.push_back(std::move(mapping));
      continue;
    }
    const bool is_known =
        std::binary_search(known.begin(), known.end(), mapping,
                           [](const Mapping& a, const Mapping& b) { return a.begin < b.begin; });
    if (is_known || !mapping.is_readable) continue;
    mapping.resident_bytes = process_.ResidentBytes(mapping.begin, mapping.end);
    mappings_.push_back(std::move(mapping));
  }
  return snapshot_.Copy(process_, mappings_);
}

// Memory that is shared, or that is zero in a fork, is read from the process itself, which runs.
absl::Status Search::CopyFork(const FrozenFork& fork) {
  snapshot_.ExpectFork(fork.pid());
  const explain::Process copy(fork.pid());
  const auto smaps = copy.Smaps();
  if (!smaps.ok()) return smaps.status();
  std::vector<Mapping> forked, running;
  const std::vector<Mapping> copied = mappings_;
  for (Mapping& mapping : explain::ParseMappings(*smaps)) {
    const bool is_copied = std::any_of(copied.begin(), copied.end(), [&](const Mapping& other) {
      return other.begin == mapping.begin;
    });
    if (is_copied) continue;
    const bool runs = mapping.is_shared || mapping.is_wiped_by_fork;
    if (runs) mapping.resident_bytes = process_.ResidentBytes(mapping.begin, mapping.end);
    (runs ? running : forked).push_back(std::move(mapping));
  }
  for (const auto& found : {&forked, &running}) {
    mappings_.insert(mappings_.end(), found->begin(), found->end());
  }
  std::sort(mappings_.begin(), mappings_.end(),
            [](const Mapping& a, const Mapping& b) { return a.begin < b.begin; });
  absl::Status status = ReadHeap(copy);
  if (status.ok()) status = snapshot_.Copy(copy, forked);
  return status.ok() ? snapshot_.Copy(process_, running) : status;
}

absl::Status Search::ReadHeap(const explain::Process& process) {
  auto heap = explain::FindHeapBlocks(process, mappings_);
  if (!heap.ok()) return heap.status();
  if (!heap->not_known.empty()) {
    return absl::FailedPreconditionError(heap->not_known + ", so what they refer to is not known");
  }
  areas_ = std::move(heap->areas);
  const explain::ProcessFile& memory = process.memory();
  const auto map = explain::FindProcessMap(memory, mappings_);
  if (!map.ok()) return map.status();
  map_ = *map;
  const auto entries = explain::ReadEntries(memory, map_);
  if (!entries.ok()) return entries.status();
  entries_ = *entries;
  snapshot_.LeaveOutData(MemoryOfBlocks());
  in_place_ = explain::FindInPlaceBlocks(memory, mappings_).value_or(explain::InPlaceBlocks{});
  AddTable(in_place_);
  AddOwnData();
  return absl::OkStatus();
}

// With the allocator's own pages between them, which are no roots.
std::vector<Snapshot::Extent> Search::MemoryOfBlocks() const {
  std::vector<Snapshot::Extent> extents;
  for (const Area& area : areas_) {
    const bool is_of_blocks = area.use == Use::kBlocks || area.use == Use::kFreePages ||
                              area.use == Use::kBackend || area.use == Use::kLargeBlock ||
                              area.use == Use::kSampledBlocks;
    if (!is_of_blocks) continue;
    if (extents.empty() || extents.back().end != area.begin) extents.push_back({area.begin, 0});
    extents.back().end = area.end;
  }
  return extents;
}

void Search::AddAreas() {
  for (const Area& area : areas_) {
    if (area.use == Use::kLargeBlock) blocks_.Add(area.begin, area.end, 0);
    if (area.use != Use::kBlocks || area.block_bytes == 0) continue;
    const uint64_t end = std::min(
        area.end, area.first_block + area.listed_bytes / area.block_bytes * area.block_bytes);
    blocks_.Add(area.first_block, end, area.block_bytes);
  }
  SampledBlocks sampled = {};
  if (!snapshot_.Read(AddressOf(map_.sampled), &sampled) || sampled.begin == 0) return;
  explain::VisitSampledBlocks(
      MemoryReader(), map_, sampled, [this](const explain::SampledBlock& block) {
        const uint64_t number = blocks_.Add(block.begin, block.begin + block.size_bytes, 0);
        sampled_.push_back({{number, block.begin, block.size_bytes}, block.entry});
      });
}

void Search::AddArea(const Area& area) {
  const auto after =
      std::upper_bound(areas_.begin(), areas_.end(), area,
                       [](const Area& a, const Area& b) { return a.begin < b.begin; });
  areas_.insert(after, area);
}

// The table of blocks in place refers to all of them, and lies in the library's data.
void Search::AddTable(const explain::InPlaceBlocks& in_place) {
  if (in_place.table_end <= in_place.table_begin) return;
  Area table;
  table.begin = in_place.table_begin;
  table.end = in_place.table_end;
  table.use = Use::kTables;
  AddArea(table);
}

// The data of the preloaded library has the place where sampled blocks begin, which is that of the
// first one.  Of an executable that links Allomon, its data cannot be told from the program's.
void Search::AddOwnData() {
  constexpr char kLibrary[] = "liballomon";
  const auto is_first = [&](const Mapping& mapping) {
    return mapping.offset_bytes == 0 && BaseName(mapping.name).rfind(kLibrary, 0) == 0;
  };
  const auto own = std::find_if(mappings_.begin(), mappings_.end(), is_first);
  Elf64_Ehdr head = {};
  if (own == mappings_.end() || !process_.memory().ReadAt(own->begin, &head, sizeof(head)) ||
      memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) {
    return;
  }
  for (uint64_t i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr part = {};
    const uint64_t place = own->begin + head.e_phoff + i * sizeof(part);
    if (!process_.memory().ReadAt(place, &part, sizeof(part))) return;
    if (part.p_type != PT_LOAD || (part.p_flags & PF_W) == 0) continue;
    Area data;
    data.begin = own->begin + part.p_vaddr;
    data.end = data.begin + part.p_memsz;
    data.use = Use::kTables;
    AddArea(data);
  }
}

// They are blocks of the allocator's pages, which are known by now.
void Search::AddBlocksInPlace() {
  for (const explain::InPlaceBlock& in_place : in_place_.blocks) {
    Blocks::Block block;
    if (blocks_.Find(in_place.address, &block)) sampled_.push_back({block, in_place.entry});
  }
}

// Words below the stack pointers of a mapping are of calls that have returned.
uint64_t Search::BeginOfStack(const Mapping& mapping) const {
  uint64_t begin = UINT64_MAX;
  for (const uint64_t pointer : stack_pointers_) {
    if (mapping.begin <= pointer && pointer < mapping.end) begin = std::min(begin, pointer);
  }
  return begin == UINT64_MAX ? mapping.begin : std::max(mapping.begin, begin - kRedZoneBytes);
}

// Whether the mapping is the stack of a thread: one that grows, or one with a guard below it.
bool Search::IsStack(size_t number) const {
  const Mapping& mapping = mappings_[number];
  if (mapping.name == "[stack]") return true;
  if (number == 0 || mapping.inode != 0) return false;
  const Mapping& below = mappings_[number - 1];
  return below.end == mapping.begin && !below.is_readable && !below.is_writable;
}

// The C library keeps the stacks of threads that have ended, for later ones.  Such a stack ends
// with the control block of its thread, which begins with its own address, and has it again in its
// third word (System V ABI for x86-64, glibc).  Returns that address, or the mapping's begin.
uint64_t Search::EndOfDeadStack(size_t number) const {
  const Mapping& mapping = mappings_[number];
  constexpr uint64_t kAlignment = 64, kLargest = uint64_t{256} << 20;
  if (thread_pointers_.empty() || sleeping_threads_ > 0 || !IsStack(number) ||
      BeginOfStack(mapping) != mapping.begin || mapping.end - mapping.begin > kLargest) {
    return mapping.begin;
  }
  uint64_t dead = mapping.begin, before = 0, two_before = 0;
  bool is_alive = false;
  snapshot_.VisitWords(mapping.begin, mapping.end, [&](uint64_t word, uint64_t address) {
    const uint64_t block = address - 2 * sizeof(word);
    if (word == block && two_before == block && block % kAlignment == 0) {
      dead = dead == mapping.begin ? block : dead;
      is_alive =
          is_alive || std::count(thread_pointers_.begin(), thread_pointers_.end(), block) > 0;
    }
    two_before = before;
    before = word;
  });
  return is_alive ? mapping.begin : dead;
}

void Search::AddRoots(const std::string& what, uint64_t begin, uint64_t end) {
  if (begin < end) roots_.Add(what, end - begin, marker_.AddRoots(begin, end));
}

// Areas are sorted and do not overlap.
void Search::AddRootsOf(size_t number) {
  const Mapping& mapping = mappings_[number];
  const bool has_thread = BeginOfStack(mapping) != mapping.begin;
  const std::string what = has_thread && IsStack(number) && mapping.name != "[stack]"
                               ? "stacks of threads, with their thread-local storage"
                               : NameOfRoot(mapping);
  uint64_t begin = mapping.begin;
  if (has_thread && IsStack(number)) {
    begin = BeginOfStack(mapping);
    roots_.AddUnsearched("stacks below their stack pointers", begin - mapping.begin);
  } else if (!has_thread) {
    begin = EndOfDeadStack(number);
    roots_.AddUnsearched("stacks of threads that have ended", begin - mapping.begin);
  }
  for (const Area& area : areas_) {
    if (area.end <= begin || area.begin >= mapping.end) continue;
    const uint64_t from = std::max(area.begin, begin), to = std::min(area.end, mapping.end);
    AddRoots(what, begin, from);
    if (IsRoot(area.use)) {
      AddRoots(NameOfArea(area.use), from, to);
    } else {
      roots_.AddUnsearched(NameOfArea(area.use), to - from);
    }
    begin = to;
  }
  AddRoots(what, begin, mapping.end);
}

void Search::Mark(bool keeps_referrers) {
  AddAreas();
  std::vector<explain::PythonPool> pools;
  if (keeps_referrers) pools = explain::FindPythonPools(MemoryReader(), mappings_, areas_);
  for (const explain::PythonPool& pool : pools) {
    blocks_.Add(pool.first_block, pool.blocks_end, pool.block_bytes, true);
  }
  blocks_.Sort();
  AddBlocksInPlace();
  if (keeps_referrers) marker_.KeepReferrers();
  AddPythonAreas(pools);
  roots_.Add("registers of threads", registers_.size() * sizeof(uint64_t),
             marker_.AddRegisters(registers_));
  for (size_t i = 0; i < mappings_.size(); ++i) {
    if (HasWords(mappings_[i])) {
      AddRootsOf(i);
    } else if (!mappings_[i].is_readable) {
      roots_.AddUnsearched("mappings that the process may not read", mappings_[i].resident_bytes);
    }
  }
  for (const Area& area : python_stacks_) AddRoots("stacks of Python", area.begin, area.end);
  marker_.Finish();
  for (const bool links_alone : {true, false}) {
    for (const Area& area : python_) {
      marker_.AddUnreachedObjects(area.begin, area.end, links_alone);
    }
    marker_.Finish();
  }
}

std::vector<LostBlock> Search::FindLost() {
  std::vector<LostBlock> lost;
  std::vector<Blocks::Block> blocks;
  for (size_t i = 0; i < sampled_.size(); ++i) {
    if (IsReached(sampled_[i])) continue;
    lost.push_back({i, false});
    blocks.push_back(sampled_[i].block);
  }
  const std::vector<bool> is_direct = FindDirectlyLost(snapshot_, blocks, &blocks_);
  for (size_t i = 0; i < lost.size(); ++i) lost[i].is_direct = is_direct[i];
  return lost;
}

explain::RecordedBlocks Search::NameSampled() const {
  explain::RecordedBlocks recorded;
  for (size_t place = 0; place < sampled_.size(); ++place) {
    recorded.Add(MemoryReader(), entries_, sampled_[place].entry, place);
  }
  return recorded;
}

absl::StatusOr<heap::HeapProfile> Search::ProfileOf(const std::vector<size_t>& chosen,
                                                    const NameSources& name_sources) {
  explain::RecordedBlocks recorded = NameSampled();
  std::vector<bool> is_chosen(sampled_.size());
  for (const size_t place : chosen) is_chosen[place] = true;
  place_of_.clear();
  recording::RecordingOptions options;
  options.name_sources = name_sources;
  options.keeps_live = [&](const recording::Process& process, uint32_t number) {
    const size_t place = recorded.Find(process, number);
    if (place == explain::RecordedBlocks::kNone || !is_chosen[place]) return false;
    place_of_[number] = {place, process.live[number - 1].size_bytes};
    return true;
  };
  auto profile = explain::ReadOwnRecording(process_, areas_, options);
  if (profile.ok()) profile->memory = {};  // it is of all blocks
  return profile;
}

absl::StatusOr<heap::HeapProfile> Search::ProfileOfAll(const std::vector<LostBlock>& lost,
                                                       const NameSources& name_sources) const {
  explain::RecordedBlocks recorded = NameSampled();
  std::vector<bool> is_lost(sampled_.size());
  for (const LostBlock& block : lost) is_lost[block.sampled] = true;
  recording::RecordingOptions options;
  options.name_sources = name_sources;
  options.is_lost = [&](const recording::Process& process, uint32_t number) {
    const size_t place = recorded.Find(process, number);
    return place != explain::RecordedBlocks::kNone && is_lost[place];
  };
  auto profile = explain::ReadOwnRecording(process_, areas_, options);
  if (profile.ok()) {
    profile->notes.push_back("nothing refers to " + std::to_string(lost.size()) + " of " +
                             std::to_string(sampled_.size()) + " sampled blocks" + StoodText());
  }
  return profile;
}

// The time for which the process stood, and what that leaves unknown.
std::string Search::StoodText() const {
  std::string text = "; the process stood for " + report::SecondsText(stopped_seconds_);
  if (!not_forked_.empty()) text += " and was copied meanwhile: " + not_forked_;
  if (sleeping_threads_ == 0) return text;
  return text + "; registers of " + std::to_string(sleeping_threads_) +
         " threads are not known, since they sleep in the kernel";
}

explain::ReadMemory Search::MemoryReader() const {
  return [this](uint64_t address, void* to, size_t size_bytes) {
    return snapshot_.ReadAt(address, to, size_bytes);
  };
}

std::optional<size_t> Search::SampledOf(uint32_t live_number) const {
  const auto known = place_of_.find(live_number);
  if (known == place_of_.end()) return std::nullopt;
  return known->second.sampled;
}

uint64_t Search::SizeOf(uint32_t live_number) const {
  const auto known = place_of_.find(live_number);
  return known == place_of_.end() ? 0 : known->second.size_bytes;
}

}  // namespace allomon::leaks
