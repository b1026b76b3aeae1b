// Makes a consistent copy of a recording in progress (README.md, section 2).
#ifndef ALLOMON_TRACKER_TRIGGERS_RECORDING_COPY_H_
#define ALLOMON_TRACKER_TRIGGERS_RECORDING_COPY_H_

#include <cstddef>
#include <cstdint>

#include "tracker/formats/recording_layout.h"
#include "tracker/recording/recorder.h"
#include "tracker/triggers/copy_file.h"

namespace allomon::triggers {

// One thread at a time.  It allocates nothing.  It holds the recorder's lock for one segment at a
// time, while the kernel reads and writes 64 KiB.
class RecordingCopy {
 public:
  constexpr RecordingCopy() = default;
  RecordingCopy(const RecordingCopy&) = delete;
  RecordingCopy& operator=(const RecordingCopy&) = delete;

  // Writes the recording into `file`, on which Begin() was called, with what is known of the heap.
  // Returns 0 or an errno: ECANCELED if the recording of `standing` has ended, EFBIG if the copy
  // exceeds `ulimit -f`, or one of the disk.
  int Write(recording::Recorder& recorder, const recording::Standing& standing,
            const recording::HeapPages& heap, CopyFile* file);

  // The room for a segment, free for other uses before Write().
  char* room() { return segment_; }
  static constexpr size_t kRoomBytes = recording::kSegmentBytes;

  // Finds the birth of the oldest live block that was born at `since_nanos` or later; UINT64_MAX if
  // there is no such block.  Returns false if the recording has ended.
  bool FindOldest(recording::Recorder& recorder, const recording::Standing& standing,
                  uint64_t since_nanos, uint64_t* birth_nanos);

  // Called in Write() before the processes are copied and again before the rest is.
  using Step = void (*)();
  static void SetStepForTesting(Step step);

 private:
  bool ReadHeader(recording::Recorder& recorder, uint32_t segment);
  bool ReadRest(recording::Recorder& recorder, uint32_t segment);
  int WriteProcesses(recording::Recorder& recorder, CopyFile* file);
  int WriteOthers(recording::Recorder& recorder, CopyFile* file);
  int WriteSegment(recording::Recorder& recorder, uint32_t segment, CopyFile* file);
  bool HasLive() const;
  void DropUnknown();

  recording::Standing standing_;
  recording::HeapPages heap_ = {};
  // Counts of this process's records in the copy.
  uint32_t row_count_ = 0;
  uint32_t thread_count_ = 0;
  uint32_t saved_count_ = 0;
  uint32_t text_bytes_ = 0;
  alignas(8) char segment_[recording::kSegmentBytes] = {};
};

}  // namespace allomon::triggers

#endif  // ALLOMON_TRACKER_TRIGGERS_RECORDING_COPY_H_
