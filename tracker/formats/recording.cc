#include "tracker/formats/recording.h"

#include <algorithm>
#include <utility>

#include "tracker/formats/recording_repair.h"
#include "tracker/formats/recording_segments.h"

namespace allomon::recording {
namespace {

constexpr uint64_t kSegmentRoom = kSegmentBytes - sizeof(SegmentHeader);
constexpr uint32_t kMostCommandBytes = 4096;
// Of one kind and process.  More are left out: who works on them needs ten times their memory.
constexpr uint64_t kMostRecords = uint64_t{1} << 25;

// Reads what one process has in the file.
class ProcessReader {
 public:
  ProcessReader(const RecordingBytes& bytes, const SegmentTable& table, uint32_t process)
      : bytes_(bytes), table_(table), process_(process) {}

  bool ReadRecord(ProcessRecord* record) const {
    const uint64_t at = process_ * kSegmentBytes + sizeof(SegmentHeader);
    if (!bytes_.Read(at, record, sizeof(*record))) return false;
    allomon::recording::Repair(record);
    return true;
  }

  // Records up to the first segment that is missing.
  template <typename Record>
  void ReadRecords(SegmentKind kind, uint64_t count, std::vector<Record>* records) {
    count = std::min(count, kMostRecords);
    for (uint32_t index = 0; records->size() < count; ++index) {
      const uint64_t here = std::min(count - records->size(), kRecordsPerSegment<Record>);
      const size_t before = records->size();
      const uint64_t at = PlaceOf(kind, index);
      if (at == 0) return;
      records->resize(before + here);
      if (!bytes_.Read(at, records->data() + before, here * sizeof(Record))) {
        records->resize(before);
        is_cut_ = true;
        return;
      }
    }
  }

  void ReadText(uint64_t count, std::string* text) {
    for (uint32_t index = 0; text->size() < count; ++index) {
      const uint64_t here = std::min(count - text->size(), kSegmentRoom);
      const uint64_t at = PlaceOf(SegmentKind::kText, index);
      if (at == 0) return;
      const size_t before = text->size();
      text->resize(before + here);
      if (!bytes_.Read(at, text->data() + before, here)) is_cut_ = true;
    }
  }

  // One text, without the others; cut at kMostCommandBytes.
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
  // Where the records of a segment begin in the file; 0 if it is not there.
  uint64_t PlaceOf(SegmentKind kind, uint32_t index) {
    const uint64_t number = table_.Find(process_, kind, index);
    if (number == 0) is_cut_ = true;
    return number == 0 ? 0 : number * kSegmentBytes + sizeof(SegmentHeader);
  }

  const RecordingBytes& bytes_;
  const SegmentTable& table_;
  const uint32_t process_;
  bool is_cut_ = false;
};

std::string WithSpaces(std::string arguments) {
  while (!arguments.empty() && arguments.back() == '\0') arguments.pop_back();
  std::replace(arguments.begin(), arguments.end(), '\0', ' ');
  return arguments;
}

using Counts = decltype(ProcessRecord::records);

// What refers to other records is read before them.  So a running process, which adds a record
// before it refers to it, is never found to refer to one that is not there.
void ReadReferences(const Counts& count, ProcessReader* reader, Process* process) {
  reader->ReadRecords(SegmentKind::kEvents, count.events, &process->events);
  reader->ReadRecords(SegmentKind::kLive, count.live, &process->live);
}

void ReadRows(const Counts& count, ProcessReader* reader, Process* process) {
  reader->ReadRecords(SegmentKind::kRows, count.rows, &process->rows);
}

void ReadOthers(const Counts& count, ProcessReader* reader, Process* process) {
  reader->ReadRecords(SegmentKind::kNodes, count.nodes, &process->nodes);
  reader->ReadRecords(SegmentKind::kThreads, count.threads, &process->threads);
  const uint32_t points = std::min(count.timeline, kMostTimelinePoints);
  reader->ReadRecords(SegmentKind::kTimeline, points, &process->timeline);
  reader->ReadRecords(SegmentKind::kModules, count.modules, &process->modules);
  reader->ReadText(count.text_bytes, &process->text);
  process->program = reader->ReadOneText(process->record.program);
  process->command = WithSpaces(reader->ReadOneText(process->record.command));
}

std::string NameOf(const Process& process) {
  return "process " + std::to_string(process.record.pid);
}

void NoteState(bool is_cut, Process* process) {
  if (process->record.lost != 0) {
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
    if (!ReadTable(&recording->header)) return false;
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
  // A process as far as it has been read.
  struct Part {
    uint32_t number = 0;
    Counts counts = {};
    Process process;
    bool is_cut = false;
  };

  bool ReadTable(FileHeader* header) {
    table_ = {};
    return ReadFileHeader(bytes_, header, error_) && table_.Read(bytes_, *header, error_);
  }

  bool ReadRecord(uint32_t number, ProcessRecord* record) const {
    return ProcessReader(bytes_, table_, number).ReadRecord(record);
  }

  void Begin(std::vector<std::string>* notes) {
    for (const uint32_t number : table_.processes()) {
      Part part;
      part.number = number;
      std::string why;
      if (!ReadRecord(number, &part.process.record)) continue;
      if (IsUsable(part.process.record, &why)) {
        parts_.push_back(std::move(part));
      } else {
        notes->push_back(std::move(why));
      }
    }
  }

  // Counts before the table: it has all segments that they count.
  template <typename ReadSome>
  bool Step(ReadSome read_some) {
    for (Part& part : parts_) {
      ProcessRecord now;
      if (ReadRecord(part.number, &now)) part.counts = now.records;
    }
    FileHeader header;
    if (!ReadTable(&header)) return false;
    for (Part& part : parts_) {
      ProcessReader reader(bytes_, table_, part.number);
      read_some(part.counts, &reader, &part.process);
      part.is_cut |= reader.is_cut();
    }
    return true;
  }

  bool Finish(Part* part) {
    if (part->is_cut && part->process.record.lost == 0) {
      *error_ =
          "cut short: parts of " + NameOf(part->process) + " are missing; copy the file again";
      return false;
    }
    RepairRecords(&part->process);
    NoteState(part->is_cut, &part->process);
    return true;
  }

  const RecordingBytes& bytes_;
  std::string* const error_;
  SegmentTable table_;
  std::vector<Part> parts_;
};

ProcessTotals TotalsOf(const ProcessRecord& record, ProcessReader* reader) {
  ProcessTotals totals;
  totals.pid = record.pid;
  totals.parent_pid = record.parent_pid;
  totals.is_forked = record.is_forked != 0;
  totals.has_ended = record.ended != 0;
  totals.program = reader->ReadOneText(record.program);
  totals.command = WithSpaces(reader->ReadOneText(record.command));
  totals.rate = record.rate;
  totals.start_realtime_nanos = record.start_realtime_nanos;
  totals.last_nanos = record.last_nanos;
  totals.allocated = record.allocated;
  totals.live = record.live;
  totals.peak = record.peak;
  totals.dropped_samples = record.dropped_samples;
  totals.dropped_bytes = record.dropped_bytes;
  totals.is_lost = record.lost != 0;
  return totals;
}

}  // namespace

std::string_view Process::TextOf(const TextRef& ref) const {
  const std::string_view all = text;
  if (ref.offset > all.size() || ref.length_bytes > all.size() - ref.offset) return {};
  return all.substr(ref.offset, ref.length_bytes);
}

std::string_view Process::NameOf(const Node& node) const {
  return TextOf({static_cast<uint32_t>(node.address), static_cast<uint32_t>(node.address >> 32)});
}

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
    ProcessReader reader(bytes, table, number);
    ProcessRecord record;
    std::string why;
    if (reader.ReadRecord(&record) && IsUsable(record, &why)) {
      totals->push_back(TotalsOf(record, &reader));
    }
  }
  return true;
}

}  // namespace allomon::recording
