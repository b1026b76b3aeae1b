// The segments of a recording, with their processes and kinds.
//
// Plain functions of the file's bytes.  They throw only if memory is short; its use is bounded by
// the number of segments with data.
#ifndef ALLOMON_TRACKER_FORMATS_RECORDING_SEGMENTS_H_
#define ALLOMON_TRACKER_FORMATS_RECORDING_SEGMENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tracker/formats/recording_bytes.h"
#include "tracker/formats/recording_layout.h"

namespace allomon::recording {

// On failure returns false, and *error is one line without the file's name.
bool ReadFileHeader(const RecordingBytes& bytes, FileHeader* header, std::string* error);

// Returns the number of segments to read, the first included: those in use that the file contains.
uint64_t SegmentsToRead(const RecordingBytes& bytes, const FileHeader& header);

class SegmentTable {
 public:
  // Reads the header of each segment.  False if they hold more than kMostReadBytes.
  bool Read(const RecordingBytes& bytes, const FileHeader& header, std::string* error);

  // Numbers of kProcess segments, in the order of the file.
  const std::vector<uint32_t>& processes() const { return processes_; }

  // Returns the number of a segment in the file; 0 if it is not there.  If there are several, the
  // first counts.
  uint32_t Find(uint32_t process, SegmentKind kind, uint32_t index) const;

 private:
  struct Place {
    uint32_t process;
    SegmentKind kind;
    uint32_t index;
    uint32_t number;
  };
  static bool IsBefore(const Place& a, const Place& b);

  std::vector<uint32_t> processes_;
  std::vector<Place> places_;  // sorted
};

// True if the header names a kind that this version knows.
bool IsKnown(const SegmentHeader& header);

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_FORMATS_RECORDING_SEGMENTS_H_
