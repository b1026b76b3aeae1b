// Writes Perfetto's trace with the packets of heapprofd, its profiler of native heaps: a dump for
// each profile, and a counter of the timeline.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/export/exporters.h"
#include "tools/export/otlp_dictionary.h"
#include "tools/export/perfetto_fields.h"
#include "tools/export/perfetto_tables.h"
#include "tools/heap/heap_profile.h"
#include "tools/heap/program_name.h"
#include "tools/pprof/own_lines.h"
#include "tools/pprof/wire.h"

namespace allomon::interchange {
namespace perfetto {
namespace {

using heap::HeapProfile;
using heap::Metric;
using pprof::WireWriter;

constexpr double kNanosPerSecond = 1e9;
constexpr double kWordBytes = 8;
constexpr uint64_t kSequence = 1;
constexpr uint64_t kNoPid = 1;                 // a process that is not known
constexpr size_t kPacketBytes = 1 << 16;       // a packet is ended beyond that
constexpr char kMallocHeap[] = "libc.malloc";  // heapprofd's name for it

struct Counts {
  uint64_t blocks = 0;
  uint64_t bytes = 0;
};
using AllCounts = std::array<Counts, heap::kMetrics>;
using Rows = std::map<uint64_t, AllCounts>;  // by number of the call stack

uint64_t Sum(uint64_t a, double amount) {
  constexpr uint64_t kMost = INT64_MAX;
  return std::min(a + static_cast<uint64_t>(std::max<int64_t>(pprof::Rounded(amount), 0)), kMost);
}

uint64_t Nanos(double seconds) {
  return static_cast<uint64_t>(std::max<int64_t>(pprof::Rounded(seconds * kNanosPerSecond), 0));
}

class Writer {
 public:
  explicit Writer(std::vector<const HeapProfile*> profiles) : profiles_(std::move(profiles)) {
    std::stable_sort(profiles_.begin(), profiles_.end(),
                     [](const HeapProfile* a, const HeapProfile* b) { return End(*a) < End(*b); });
  }

  std::string Write() {
    AddClocks();
    std::vector<Rows> rows;
    for (const HeapProfile* profile : profiles_) rows.push_back(RowsOf(*profile));
    AddInterned();
    std::map<uint64_t, size_t> last;  // by process
    for (size_t i = 0; i < profiles_.size(); ++i) last[Pid(*profiles_[i])] = i;
    for (const auto& [pid, i] : last) AddTracks(*profiles_[i]);
    for (size_t i = 0; i < profiles_.size(); ++i) AddDump(*profiles_[i], rows[i]);
    // Readers take differences of a stack's neighbouring dumps, whatever heap these are of, so that
    // heaps that are dumped once come last.
    for (const auto& [pid, i] : last) AddOtherHeaps(*profiles_[i], rows[i]);
    return std::move(trace_);
  }

 private:
  // ---- Times: the trace's clock is that of the calendar.

  static uint64_t Start(const HeapProfile& profile) {
    return profile.start_unix_nanos > 0 ? static_cast<uint64_t>(profile.start_unix_nanos) : 1;
  }
  static uint64_t End(const HeapProfile& profile) {
    return Start(profile) + Nanos(profile.duration_seconds);
  }
  static uint64_t Pid(const HeapProfile& profile) {
    return profile.pid == 0 ? kNoPid : profile.pid;
  }

  // ---- Packets

  // Appends a packet of one field.
  void AddPacket(uint64_t time, PacketField field, std::string_view message, uint64_t flags) {
    std::string packet;
    WireWriter out(&packet);
    out.Bytes(field, message);
    out.Number(kTimestamp, time);
    out.Number(kSequenceId, kSequence);
    out.Number(kSequenceFlags, flags);
    WireWriter(&trace_).Bytes(kPacket, packet);
  }

  void AddClocks() {
    const uint64_t now = Start(*profiles_.front());
    std::string snapshot;
    WireWriter out(&snapshot);
    for (const uint64_t clock : {kRealtime, kMonotonicCoarse, kBoottime}) {
      std::string message;
      WireWriter fields(&message);
      fields.Number(kClockId, clock);
      fields.Number(kClockTime, now);
      out.Bytes(kClocks, message);
    }
    AddPacket(now, kClockSnapshot, snapshot, kStateCleared);
  }

  void AddInterned() {
    const std::string interned = tables_.TakeNew();
    if (!interned.empty()) {
      AddPacket(Start(*profiles_.front()), kInternedData, interned, kNeedsState);
    }
  }

  // ---- Dumps

  Rows RowsOf(const HeapProfile& profile) {
    Rows rows;
    tables_.BeginProfile(profile);
    for (const heap::Sample& sample : profile.samples) {
      AllCounts& counts = rows[tables_.CallstackOf(profile, sample)];
      for (size_t i = 0; i < heap::kMetrics; ++i) {
        counts[i].blocks = Sum(counts[i].blocks, sample.amounts[i].blocks);
        counts[i].bytes = Sum(counts[i].bytes, sample.amounts[i].bytes);
      }
      if (tables_.new_bytes() > kPacketBytes) AddInterned();
    }
    return rows;
  }

  // Appends allocations and frees.  A profile of live blocks alone has no frees.
  void AddDump(const HeapProfile& profile, const Rows& rows) {
    if (!Has(profile, Metric::kLive)) return;
    uint64_t& start = last_dump_.try_emplace(Pid(profile), Start(profile)).first->second;
    AddSamples(profile, rows, kMallocHeap, start, End(profile), [&](const AllCounts& counts) {
      const Counts live = counts[static_cast<size_t>(Metric::kLive)];
      Counts alloc = counts[static_cast<size_t>(Metric::kAllocated)];
      alloc = {std::max(alloc.blocks, live.blocks), std::max(alloc.bytes, live.bytes)};
      std::string sample;
      WireWriter out(&sample);
      out.Number(kSelfAllocated, alloc.bytes);
      out.Number(kAllocCount, alloc.blocks);
      out.Number(kSelfFreed, alloc.bytes - live.bytes);
      out.Number(kFreeCount, alloc.blocks - live.blocks);
      return sample;
    });
    start = End(profile);
  }

  // Metrics that AddDump() leaves out are heaps of their own.  What was allocated is one if nothing
  // is known of frees: readers would take all of it for live.
  void AddOtherHeaps(const HeapProfile& profile, const Rows& rows) {
    for (size_t i = 0; i < heap::kMetrics; ++i) {
      const auto metric = static_cast<Metric>(i);
      const bool is_dumped = metric == Metric::kAllocated || metric == Metric::kLive;
      if (!profile.has[i] || (is_dumped && Has(profile, Metric::kLive))) continue;
      const uint64_t time = metric == Metric::kPeak && !profile.is_sum
                                ? Start(profile) + Nanos(profile.peak_seconds)
                                : End(profile);
      const std::string name = std::string(kMallocHeap) + " (" + heap::MetricName(metric) + ")";
      AddSamples(profile, rows, name, Start(profile), time, [i](const AllCounts& counts) {
        std::string sample;
        WireWriter out(&sample);
        out.Number(kSelfMax, counts[i].bytes);
        out.Number(kSelfMaxCount, counts[i].blocks);
        return sample;
      });
    }
  }

  // Appends a dump, in several packets if it is large.
  template <typename FieldsOf>
  void AddSamples(const HeapProfile& profile, const Rows& rows, const std::string& heap_name,
                  uint64_t start, uint64_t time, const FieldsOf& fields_of) {
    std::string head;
    WireWriter out(&head);
    out.Number(kPid, Pid(profile));
    out.Number(kFromStartup, 1);
    out.Number(kDumpTime, time);
    out.Bytes(kHeapName, heap_name);
    const auto interval = static_cast<uint64_t>(
        profile.rate > 0 ? std::max<int64_t>(pprof::Rounded(kWordBytes / profile.rate), 1) : 1);
    out.Number(kInterval, interval);
    out.Number(kOriginalInterval, interval);
    out.Number(kDumpStart, std::min(start, time));
    std::string samples;
    for (const auto& [callstack, counts] : rows) {
      const std::string fields = fields_of(counts);
      if (fields.empty()) continue;
      std::string sample;
      WireWriter(&sample).Number(kCallstackId, callstack);
      sample += fields;
      WireWriter(&samples).Bytes(kSamples, sample);
      if (samples.size() > kPacketBytes) AddPart(head + std::exchange(samples, ""), true);
    }
    AddPart(head + samples, false);
  }

  void AddPart(const std::string& dump, bool is_continued) {
    std::string message;
    WireWriter out(&message);
    out.Bytes(kProcessDumps, dump);
    out.Number(kContinued, is_continued ? 1 : 0);
    out.Chosen(kIndex, index_++);
    // Packets are read in the order of their times, and those of one time in that of the file.
    AddPacket(End(*profiles_.back()), kProfilePacket, message, kNeedsState);
  }

  // ---- Tracks: the process's name, and a counter of its timeline.

  void AddTracks(const HeapProfile& profile) {
    const uint64_t uuid = 2 * Pid(profile);
    std::string process, track;
    WireWriter of_process(&process), of_track(&track);
    of_process.Number(kProcessPid, Pid(profile));
    of_process.Bytes(kProcessCommand, otlp::Utf8(profile.command));
    of_process.Bytes(kProcessName, otlp::Utf8(heap::ProgramName(profile.program, profile.command)));
    of_track.Number(kTrackUuid, uuid);
    of_track.Bytes(kTrackProcess, process);
    AddPacket(Start(profile), kTrackDescriptor, track, kNeedsState);
    if (profile.timeline.empty()) return;
    std::string unit, counter;
    WireWriter(&unit).Number(kCounterUnit, kUnitBytes);
    WireWriter of_counter(&counter);
    of_counter.Number(kTrackUuid, uuid + 1);
    of_counter.Number(kTrackParent, uuid);
    of_counter.Bytes(kTrackName, "live memory, as estimated");
    of_counter.Bytes(kTrackCounter, unit);
    AddPacket(Start(profile), kTrackDescriptor, counter, kNeedsState);
    for (const heap::TimelinePoint& point : profile.timeline) {
      std::string event;
      WireWriter out(&event);
      out.Number(kEventType, kCounterEvent);
      out.Number(kEventTrack, uuid + 1);
      out.Chosen(kCounterValue, Sum(0, point.live_bytes));
      AddPacket(Start(profile) + Nanos(point.seconds), kTrackEvent, event, kNeedsState);
    }
  }

  std::vector<const HeapProfile*> profiles_;  // at least one, by their ends
  std::string trace_;
  Tables tables_;
  std::map<uint64_t, uint64_t> last_dump_;  // by process
  uint64_t index_ = 0;
};

}  // namespace
}  // namespace perfetto

Exported ToPerfetto(const heap::HeapProfile& profile, heap::Metric /*metric*/) {
  return OneFile(perfetto::Writer({&profile}).Write());
}

Exported ToPerfettoSeries(const std::vector<heap::HeapProfile>& profiles, heap::Metric /*metric*/) {
  std::vector<const heap::HeapProfile*> pointers;
  for (const heap::HeapProfile& profile : profiles) pointers.push_back(&profile);
  return OneFile(perfetto::Writer(std::move(pointers)).Write());
}

}  // namespace allomon::interchange
