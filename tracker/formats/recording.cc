#include "tracker/formats/recording.h"

#include <algorithm>
#include <utility>

#include "tracker/base/check.h"
#include "tracker/formats/recording_layout_1.h"
#include "tracker/formats/recording_process.h"
#include "tracker/formats/recording_records.h"
#include "tracker/formats/recording_segments.h"

namespace allomon::recording {
namespace {

constexpr uint64_t kSegmentRoom = kSegmentBytes - sizeof(SegmentHeader);
constexpr uint32_t kMostCommandBytes = 4096;
// The maximum number of records of one kind and process.  More are left out: analysing them would
// take ten times their memory.
constexpr uint64_t kMostRecords = uint64_t{1} << 25;

// A process as far as it has been read.
struct Part {
  uint32_t number = 0;  // of its segment
  Head head;
  Process process;
  std::vector<PeakSource> peaks;  // of the rows, version 2
  std::vector<SavedCount> saved;
  bool is_cut = false;
};

// Reads the records of one process from the file.
class ProcessReader {
 public:
  ProcessReader(const RecordingBytes& bytes, const SegmentTable& table, uint32_t version,
                uint32_t process)
      : bytes_(bytes), table_(table), version_(version), process_(process) {}

  bool IsVersion1() const { return version_ == layout_1::kVersion; }

  bool ReadHead(Head* head) const {
    return IsVersion1() ? ReadHeadAs<layout_1::ProcessRecord>(head)
                        : ReadHeadAs<ProcessRecord>(head);
  }

  // Reads records up to the first segment that is missing.
  template <typename Record>
  void ReadRecords(SegmentKind kind, uint64_t count, std::vector<Record>* records) {
    VisitSegments<Record>(kind, count, [&](const Record* first, uint64_t here) {
      records->insert(records->end(), first, first + here);
    });
  }

  // The same for records that are converted to another form.
  template <typename Record, typename Visit>
  void VisitRecords(SegmentKind kind, uint64_t count, const Visit& visit) {
    VisitSegments<Record>(kind, count, [&](const Record* first, uint64_t here) {
      std::for_each(first, first + here, visit);
    });
  }

  void ReadText(uint64_t count, std::string* text) {
    for (uint32_t index = 0; text->size() < count; ++index) {
      const uint64_t here = std::min(count - text->size(), kSegmentRoom);
      const uint64_t at = PlaceOf(SegmentKind::kText, index);
      if (at == 0) return;
      ALLOMON_DCHECK_LT("inv.formats.number", text->size(), count);
      const size_t before = text->size();
      text->resize(before + here);
      if (!bytes_.Read(at, text->data() + before, here)) is_cut_ = true;
    }
  }

  // Reads records of a kind that has one segment at most.
  template <typename Record>
  void ReadIfThere(SegmentKind kind, uint64_t count, std::vector<Record>* records) {
    if (table_.Find(process_, kind, 0) != 0) ReadRecords(kind, count, records);
  }

  // Reads a single text, cut at kMostCommandBytes.
  std::string ReadOneText(const TextRef& ref) const {
    const uint64_t offset = ref.offset % kSegmentRoom;
    const uint64_t length =
        std::min<uint64_t>({ref.length_bytes, kMostCommandBytes, kSegmentRoom - offset});
    if (length == 0) return "";
    const auto index = static_cast<uint32_t>(ref.offset / kSegmentRoom);
    const uint64_t number = table_.Find(process_, SegmentKind::kText, index);
    const uint64_t at = number * kSegmentBytes + sizeof(SegmentHeader) + offset;
    std::string text(length, '\0');
    return number != 0 && bytes_.Read(at, text.data(), length) ? text : "";
  }

  bool is_cut() const { return is_cut_; }

 private:
  template <typename Record>
  bool ReadHeadAs(Head* head) const {
    Record record;
    const uint64_t at = process_ * kSegmentBytes + sizeof(SegmentHeader);
    if (!bytes_.Read(at, &record, sizeof(record))) return false;
    *head = HeadOf(record);
    Repair(head);
    return true;
  }

  template <typename Record, typename Visit>
  void VisitSegments(SegmentKind kind, uint64_t count, const Visit& visit) {
    count = std::min(count, kMostRecords);
    std::vector<Record> records;
    for (uint32_t index = 0; count > 0; ++index) {
      records.resize(std::min(count, kRecordsPerSegment<Record>));
      const uint64_t at = PlaceOf(kind, index);
      if (at == 0) return;
      ALLOMON_DCHECK_LE("inv.formats.number", records.size(), count);
      if (!bytes_.Read(at, records.data(), records.size() * sizeof(Record))) {
        is_cut_ = true;
        return;
      }
      visit(records.data(), records.size());
      count -= records.size();
    }
  }

  // Returns the place of a segment's records in the file; 0 if it is not there.
  uint64_t PlaceOf(SegmentKind kind, uint32_t index) {
    const uint64_t number = table_.Find(process_, kind, index);
    if (number == 0) is_cut_ = true;
    return number == 0 ? 0 : number * kSegmentBytes + sizeof(SegmentHeader);
  }

  const RecordingBytes& bytes_;
  const SegmentTable& table_;
  const uint32_t version_;
  const uint32_t process_;
  bool is_cut_ = false;
};

std::string WithSpaces(std::string arguments) {
  while (!arguments.empty() && arguments.back() == '\0') arguments.pop_back();
  std::replace(arguments.begin(), arguments.end(), '\0', ' ');
  return arguments;
}

using Counts = decltype(ProcessRecord::records);

template <typename Record>
void ReadEvents(uint64_t count, ProcessReader* reader, Process* process) {
  reader->VisitRecords<Record>(SegmentKind::kEvents, count, [process](const Record& stored) {
    process->events.push_back(EventOf(stored));
  });
}

template <typename Record>
void ReadThreads(uint64_t count, ProcessReader* reader, Process* process) {
  reader->VisitRecords<Record>(SegmentKind::kThreads, count, [process](const Record& stored) {
    process->threads.push_back(ThreadOf(stored));
  });
}

void ReadThreadsOf(uint64_t count, ProcessReader* reader, Process* process) {
  if (reader->IsVersion1()) {
    ReadThreads<layout_1::Thread>(count, reader, process);
  } else {
    ReadThreads<Thread>(count, reader, process);
  }
}

// Records with references are read before the records to which they refer.  A running process adds
// a record before it refers to it, so every reference that is read here has its target.
void ReadReferences(const Counts& count, ProcessReader* reader, Part* part) {
  if (reader->IsVersion1()) {
    ReadEvents<layout_1::Event>(count.events, reader, &part->process);
  } else {
    ReadEvents<Event>(count.events, reader, &part->process);
  }
  reader->ReadRecords(SegmentKind::kLive, count.live, &part->process.live);
  reader->ReadRecords(SegmentKind::kScopes, count.scopes, &part->process.scopes);
}

void ReadRows(const Counts& count, ProcessReader* reader, Part* part) {
  std::vector<Process::Row>& rows = part->process.rows;
  if (reader->IsVersion1()) {
    reader->VisitRecords<layout_1::Row>(
        SegmentKind::kRows, count.rows,
        [&](const layout_1::Row& stored) { rows.push_back(RowOf(stored, part->head)); });
  } else {
    reader->VisitRecords<Row>(SegmentKind::kRows, count.rows, [&](const Row& stored) {
      rows.push_back(RowOf(stored, part->head));
      part->peaks.push_back(PeakSourceOf(stored, part->head));
    });
  }
}

void ReadOthers(const Counts& count, ProcessReader* reader, Part* part) {
  Process& process = part->process;
  reader->ReadRecords(SegmentKind::kNodes, count.nodes, &process.nodes);
  reader->ReadRecords(SegmentKind::kSaved, count.saved, &part->saved);
  ReadThreadsOf(count.threads, reader, &process);
  const uint32_t points = std::min(count.timeline, kMostTimelinePoints);
  reader->ReadRecords(SegmentKind::kTimeline, points, &process.timeline);
  reader->ReadIfThere(SegmentKind::kResident, points, &process.resident);
  reader->ReadRecords(SegmentKind::kModules, count.modules, &process.modules);
  reader->ReadText(count.text_bytes, &process.text);
  process.program = reader->ReadOneText(part->head.program);
  process.command = WithSpaces(reader->ReadOneText(process.record.command));
  const std::string allocator = reader->ReadOneText(part->head.allocator);
  const size_t end = allocator.find('\0');
  process.allocator = allocator.substr(0, end);
  if (end != allocator.npos) process.malloc_file = allocator.substr(end + 1).c_str();
}

std::string NameOf(const Process& process) {
  return "process " + std::to_string(process.record.pid);
}

void NoteState(bool is_cut, Process* process) {
  if (process->record.lost) {
    process->notes.push_back(NameOf(*process) + " lost its file: what came after is not in it" +
                             (is_cut ? ", nor is all that came before" : ""));
  }
  if (process->damaged != 0) {
    process->notes.push_back(NameOf(*process) + " has " + std::to_string(process->damaged) +
                             " damaged records, which are left out or put right");
  }
}

class Reader {
 public:
  Reader(const RecordingBytes& bytes, std::string* error) : bytes_(bytes), error_(error) {}

  bool Read(Recording* recording) {
    if (!ReadTable()) return false;
    recording->header = header_;
    Begin(&recording->notes);
    for (const auto step : {ReadReferences, ReadRows, ReadOthers}) {
      if (!Step(step)) return false;
    }
    for (Part& part : parts_) {
      if (!Finish(&part)) return false;
      recording->processes.push_back(std::move(part.process));
    }
    return true;
  }

 private:
  bool ReadTable() {
    const uint32_t version = header_.version;
    table_ = {};
    if (!ReadFileHeader(bytes_, &header_, error_) || !table_.Read(bytes_, header_, error_)) {
      return false;
    }
    if (version == 0 || version == header_.version) return true;
    *error_ = "another file meanwhile; read it again";
    return false;
  }

  ProcessReader ReaderOf(uint32_t number) const {
    return ProcessReader(bytes_, table_, header_.version, number);
  }

  void Begin(std::vector<std::string>* notes) {
    for (const uint32_t number : table_.processes()) {
      Part part;
      part.number = number;
      std::string why;
      if (!ReaderOf(number).ReadHead(&part.head)) continue;
      if (IsUsable(part.head, &why)) {
        part.process.record = part.head.record;
        parts_.push_back(std::move(part));
      } else {
        notes->push_back(std::move(why));
      }
    }
  }

  // Counts are read before the table, so it has all segments that they count.
  template <typename ReadSome>
  bool Step(ReadSome read_some) {
    for (Part& part : parts_) {
      Head now;
      if (!ReaderOf(part.number).ReadHead(&now)) continue;
      part.head.counts = now.counts;
      std::copy(std::begin(now.peak_epoch), std::end(now.peak_epoch), part.head.peak_epoch);
    }
    if (!ReadTable()) return false;
    for (Part& part : parts_) {
      ProcessReader reader = ReaderOf(part.number);
      read_some(part.head.counts, &reader, &part);
      part.is_cut |= reader.is_cut();
    }
    return true;
  }

  bool Finish(Part* part) {
    Process& process = part->process;
    if (part->is_cut && !process.record.lost) {
      *error_ = "cut short: parts of " + NameOf(process) + " are missing; copy the file again";
      return false;
    }
    RepairRecords(&process);
    if (header_.version != layout_1::kVersion) {
      process.has_halves = true;
      RepairPeaks(&part->peaks, &part->saved, &process);
      Weigh(part->peaks, part->saved, &process);
      process.record.last_nanos = LastNanos(process);
      AddPointOfNow(&process);
    }
    ALLOMON_DCHECK("inv.formats.lengths",
                   !process.has_halves || part->peaks.size() == process.rows.size());
    NoteState(part->is_cut, &process);
    return true;
  }

  const RecordingBytes& bytes_;
  std::string* const error_;
  FileHeader header_ = {};
  SegmentTable table_;
  std::vector<Part> parts_;
};

// For version 2: computes the sums of all threads.
void SetTotalsByThreads(const Counts& count, ProcessReader* reader, Process::Record* record) {
  Process process;
  process.record = *record;
  ReadThreadsOf(count.threads, reader, &process);
  for (Process::Thread& thread : process.threads) {
    Repair(&thread, &process.damaged);
    record->allocated.Add(thread.allocated);
    record->live.Add(thread.live);
  }
  record->last_nanos = LastNanos(process);
}

ProcessTotals TotalsOf(const Head& head, ProcessReader* reader) {
  Process::Record record = head.record;
  if (!reader->IsVersion1()) SetTotalsByThreads(head.counts, reader, &record);
  ProcessTotals totals;
  totals.pid = record.pid;
  totals.parent_pid = record.parent_pid;
  totals.is_forked = record.is_forked;
  totals.has_ended = record.ended;
  totals.program = reader->ReadOneText(head.program);
  totals.command = WithSpaces(reader->ReadOneText(record.command));
  totals.rate = record.rate;
  totals.start_realtime_nanos = record.start_realtime_nanos;
  totals.last_nanos = record.last_nanos;
  totals.allocated = record.allocated;
  totals.live = record.live;
  totals.peak_bytes = head.peak_bytes;
  totals.missing = record.missing;
  totals.is_lost = record.lost;
  return totals;
}

}  // namespace

bool ReadRecording(const RecordingBytes& bytes, Recording* recording, std::string* error) {
  *recording = {};
  return Reader(bytes, error).Read(recording);
}

bool ReadTotals(const RecordingBytes& bytes, std::vector<ProcessTotals>* totals,
                std::string* error) {
  totals->clear();
  FileHeader header;
  SegmentTable table;
  if (!ReadFileHeader(bytes, &header, error) || !table.Read(bytes, header, error)) return false;
  for (const uint32_t number : table.processes()) {
    ProcessReader reader(bytes, table, header.version, number);
    Head head;
    std::string why;
    if (reader.ReadHead(&head) && IsUsable(head, &why)) {
      totals->push_back(TotalsOf(head, &reader));
    }
  }
  return true;
}

std::string_view Process::TextOf(const TextRef& ref) const {
  const std::string_view all = text;
  if (ref.offset > all.size() || ref.length_bytes > all.size() - ref.offset) return {};
  ALLOMON_DCHECK_LE("inv.formats.bounds", uint64_t{ref.offset} + ref.length_bytes, all.size());
  return all.substr(ref.offset, ref.length_bytes);
}

std::string_view Process::NameOf(const Node& node) const {
  return TextOf({static_cast<uint32_t>(node.address), static_cast<uint32_t>(node.address >> 32)});
}

}  // namespace allomon::recording
