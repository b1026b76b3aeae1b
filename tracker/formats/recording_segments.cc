#include "tracker/formats/recording_segments.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "tracker/formats/recording_layout_1.h"

namespace allomon::recording {
namespace {

bool Fail(std::string what, std::string* error) {
  *error = std::move(what);
  return false;
}

// Returns the first segment that may have data, after one that does not.
uint64_t BehindHole(const RecordingBytes& bytes, uint64_t number) {
  const uint64_t after = number + 1;
  return std::max(after, bytes.NextData(after * kSegmentBytes) / kSegmentBytes);
}

}  // namespace

bool ReadFileHeader(const RecordingBytes& bytes, FileHeader* header, std::string* error) {
  if (bytes.size() == 0) {
    return Fail("empty; give the recording of a program that has begun", error);
  }
  char magic[sizeof(kMagic)] = {};
  if (!bytes.Read(0, magic, sizeof(magic)) || std::memcmp(magic, kMagic, sizeof(magic)) != 0) {
    return Fail("not a recording", error);
  }
  if (!bytes.Read(0, header, sizeof(*header))) {
    return Fail("cut short within its header; copy the file again", error);
  }
  if (header->version != kLayoutVersion && header->version != layout_1::kVersion) {
    return Fail("a recording of version " + std::to_string(header->version) + ", and versions " +
                    std::to_string(layout_1::kVersion) + " and " + std::to_string(kLayoutVersion) +
                    " are read here; use the command that belongs to the library that wrote it",
                error);
  }
  if (header->segment_bytes != kSegmentBytes) {
    return Fail("damaged: segments of " + std::to_string(header->segment_bytes) +
                    " bytes; record the program again",
                error);
  }
  return true;
}

uint64_t SegmentsToRead(const RecordingBytes& bytes, const FileHeader& header) {
  const uint64_t most = std::min(header.limit_bytes, kMostLimitBytes);
  return std::min({header.segments_used, bytes.size() / kSegmentBytes, most / kSegmentBytes});
}

bool IsKnown(const SegmentHeader& header) {
  return header.magic == kSegmentMagic && header.kind > SegmentKind::kNone &&
         header.kind <= SegmentKind::kResident;
}

bool SegmentTable::Read(const RecordingBytes& bytes, const FileHeader& header, std::string* error) {
  const uint64_t count = SegmentsToRead(bytes, header);
  uint64_t known = 0;
  for (uint64_t next = 1; next < count; ++next) {
    const auto number = static_cast<uint32_t>(next);
    SegmentHeader segment;
    if (!bytes.Read(next * kSegmentBytes, &segment, sizeof(segment))) break;
    if (segment.magic == 0) next = BehindHole(bytes, next) - 1;
    if (!IsKnown(segment)) continue;
    if (++known > kMostReadBytes / kSegmentBytes) {
      return Fail("more than 2 GiB of tallies; record with a smaller --limit", error);
    }
    const bool is_process = segment.kind == SegmentKind::kProcess;
    if (is_process && segment.process == number) processes_.push_back(number);
    if (!is_process) places_.push_back({segment.process, segment.kind, segment.index, number});
  }
  std::sort(places_.begin(), places_.end(), IsBefore);
  return true;
}

bool SegmentTable::IsBefore(const Place& a, const Place& b) {
  return std::tie(a.process, a.kind, a.index, a.number) <
         std::tie(b.process, b.kind, b.index, b.number);
}

uint32_t SegmentTable::Find(uint32_t process, SegmentKind kind, uint32_t index) const {
  const Place wanted = {process, kind, index, 0};
  const auto found = std::lower_bound(places_.begin(), places_.end(), wanted, IsBefore);
  const bool is_there = found != places_.end() && found->process == process &&
                        found->kind == kind && found->index == index;
  return is_there ? found->number : 0;
}

}  // namespace allomon::recording
