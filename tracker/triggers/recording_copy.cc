#include "tracker/triggers/recording_copy.h"

#include <algorithm>
#include <atomic>
#include <cerrno>

namespace allomon::triggers {
namespace {

using recording::Event;
using recording::kRecordsPerSegment;
using recording::kSegmentBytes;
using recording::LiveBlock;
using recording::ProcessRecord;
using recording::Recorder;
using recording::Row;
using recording::Scope;
using recording::SegmentHeader;
using recording::SegmentKind;
using recording::Standing;

constexpr uint32_t kHeaderBytes = sizeof(SegmentHeader);

std::atomic<RecordingCopy::Step> g_step{nullptr};

void StepForTesting() {
  const RecordingCopy::Step step = g_step.load(std::memory_order_acquire);
  if (step != nullptr) step();
}

const SegmentHeader& HeaderOf(const char* segment) {
  return *reinterpret_cast<const SegmentHeader*>(segment);
}

bool IsProcess(const char* segment) {
  const SegmentHeader& header = HeaderOf(segment);
  return header.magic == recording::kSegmentMagic && header.kind == SegmentKind::kProcess;
}

template <typename Record>
Record* RecordsOf(char* segment) {
  return reinterpret_cast<Record*>(segment + kHeaderBytes);
}

}  // namespace

void RecordingCopy::SetStepForTesting(Step step) { g_step.store(step, std::memory_order_release); }

bool RecordingCopy::ReadHeader(Recorder& recorder, uint32_t segment) {
  return recorder.CopyBytes(standing_.serial, segment, 0, segment_, kHeaderBytes);
}

bool RecordingCopy::ReadRest(Recorder& recorder, uint32_t segment) {
  return recorder.CopyBytes(standing_.serial, segment, kHeaderBytes, segment_ + kHeaderBytes,
                            kSegmentBytes - kHeaderBytes);
}

int RecordingCopy::Write(Recorder& recorder, const Standing& standing,
                         const recording::HeapPages& heap, CopyFile* file) {
  standing_ = standing;
  heap_ = heap;
  StepForTesting();
  const int error = WriteProcesses(recorder, file);
  StepForTesting();
  return error != 0 ? error : WriteOthers(recorder, file);
}

// The process records are copied first, even before the file's header.  So the segments that their
// counts need are among those that the header counts at its later copy.  A process that begins
// later is left out.
int RecordingCopy::WriteProcesses(Recorder& recorder, CopyFile* file) {
  for (uint32_t segment = 1; segment < standing_.segments; ++segment) {
    if (!ReadHeader(recorder, segment)) return ECANCELED;
    if (!IsProcess(segment_)) continue;
    const int error = WriteSegment(recorder, segment, file);
    if (error != 0) return error;
    if (segment != standing_.process) continue;
    const ProcessRecord& process = *RecordsOf<ProcessRecord>(segment_);
    row_count_ = process.records.rows;
    thread_count_ = process.records.threads;
    saved_count_ = process.records.saved;
    text_bytes_ = process.records.text_bytes;
  }
  return 0;
}

// Another thread may have added segments since the processes were copied, which their counts refer
// to.  So the end of the file is read again.
int RecordingCopy::WriteOthers(Recorder& recorder, CopyFile* file) {
  const uint64_t serial = standing_.serial;
  if (!recorder.Stand(&standing_) || standing_.serial != serial) return ECANCELED;
  for (uint32_t segment = 0; segment < standing_.segments; ++segment) {
    if (!ReadHeader(recorder, segment)) return ECANCELED;
    if (segment != 0 && IsProcess(segment_)) continue;
    const int error = WriteSegment(recorder, segment, file);
    if (error != 0) return error;
  }
  return 0;
}

// Whole, at one moment.
int RecordingCopy::WriteSegment(Recorder& recorder, uint32_t segment, CopyFile* file) {
  if (!recorder.CopyBytes(standing_.serial, segment, 0, segment_, kSegmentBytes)) return ECANCELED;
  // The recording itself does not have the heap, which it would say of an earlier moment.
  if (segment == standing_.process) RecordsOf<ProcessRecord>(segment_)->memory.heap = heap_;
  if (segment != 0) DropUnknown();
  return file->Write(uint64_t{segment} * kSegmentBytes, segment_, kSegmentBytes);
}

// Blocks that were born during the copying may belong to rows or threads that the copy lacks.
void RecordingCopy::DropUnknown() {
  const SegmentHeader& header = HeaderOf(segment_);
  if (header.magic != recording::kSegmentMagic || header.process != standing_.process) return;
  if (header.kind == SegmentKind::kLive) {
    LiveBlock* const blocks = RecordsOf<LiveBlock>(segment_);
    for (size_t i = 0; i < kRecordsPerSegment<LiveBlock>; ++i) {
      if (blocks[i].row > row_count_ || blocks[i].thread > thread_count_) blocks[i] = {};
    }
  }
  if (header.kind == SegmentKind::kScopes) {
    Scope* const scopes = RecordsOf<Scope>(segment_);
    for (size_t i = 0; i < kRecordsPerSegment<Scope>; ++i) {
      const bool is_known =
          scopes[i].thread == recording::kEveryThread || scopes[i].thread <= thread_count_;
      const recording::TextRef& text = scopes[i].labels;
      if (!is_known || uint64_t{text.offset} + text.length_bytes > text_bytes_) scopes[i] = {};
    }
  }
  if (header.kind == SegmentKind::kRows) {
    Row* const rows = RecordsOf<Row>(segment_);
    for (size_t i = 0; i < kRecordsPerSegment<Row>; ++i) {
      for (uint32_t half = 0; half < recording::kHalves; ++half) {
        // These counts were saved after the copy's peak, so they do not describe that peak.
        if (rows[i].saved[half] > saved_count_) rows[i].peak_epoch[half] = UINT32_MAX;
      }
    }
  }
  if (header.kind == SegmentKind::kEvents) {
    Event* const events = RecordsOf<Event>(segment_);
    for (size_t i = 0; i < kRecordsPerSegment<Event>; ++i) {
      if (events[i].row > row_count_) events[i] = {};
    }
  }
}

// Whether the segment, whose header has been read, has live blocks of this process.
bool RecordingCopy::HasLive() const {
  const SegmentHeader& header = HeaderOf(segment_);
  return header.magic == recording::kSegmentMagic && header.kind == SegmentKind::kLive &&
         header.process == standing_.process;
}

bool RecordingCopy::FindOldest(Recorder& recorder, const Standing& standing, uint64_t since_nanos,
                               uint64_t* birth_nanos) {
  standing_ = standing;
  *birth_nanos = UINT64_MAX;
  const LiveBlock* const blocks = RecordsOf<LiveBlock>(segment_);
  for (uint32_t segment = 1; segment < standing_.segments; ++segment) {
    if (!ReadHeader(recorder, segment)) return false;
    if (!HasLive()) continue;
    if (!ReadRest(recorder, segment)) return false;
    for (size_t i = 0; i < kRecordsPerSegment<LiveBlock>; ++i) {
      if (blocks[i].row == 0 || blocks[i].birth_nanos < since_nanos) continue;
      *birth_nanos = std::min(*birth_nanos, blocks[i].birth_nanos);
    }
  }
  return true;
}

}  // namespace allomon::triggers
