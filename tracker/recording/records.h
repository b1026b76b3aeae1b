// The records of one kind and process in its file, numbered from 1 through all segments of that
// kind.  The number of records and the places of segments are kept in own memory.
//
// Records are added under the recorder's lock.  At() of a valid number: any thread, no lock.
#ifndef ALLOMON_TRACKER_RECORDING_RECORDS_H_
#define ALLOMON_TRACKER_RECORDING_RECORDS_H_

#include <atomic>
#include <cstdint>

#include "tracker/base/chain_index.h"
#include "tracker/base/check.h"
#include "tracker/base/own_array.h"
#include "tracker/recording/recorder_lock.h"
#include "tracker/recording/segment_file.h"
#include "tracker/recording/written.h"

namespace allomon::recording {

// A reader takes no more records of one kind (formats/recording.cc).
inline constexpr uint32_t kMostRecords = uint32_t{1} << 25;

template <typename Element, uint32_t kMost = kMostRecords>
using OwnArray = internal::OwnArray<Element, kMost>;

// The links of a list of free elements (base/tagged_free_list.h), in their members `next_free`.
template <typename Element>
struct FreeLinks {
  static constexpr uint32_t kNone = 0;
  const OwnArray<Element>* elements;
  uint32_t Next(uint32_t number) const {
    return elements->At(number).next_free.load(std::memory_order_relaxed);
  }
  void SetNext(uint32_t number, uint32_t next) const {
    elements->At(number).next_free.store(next, std::memory_order_relaxed);
  }
};

using ChainIndex = internal::ChainIndex<2 * kMostRecords>;
using internal::Mix;

// Calls add() under the lock until it finds room or there is no more.  The file grows without the
// lock.  add() returns 0 if there is no room.
template <typename Add>
inline uint32_t WithRoom(SegmentFile* file, Add add) {
  for (;;) {
    uint32_t number = 0;
    bool needs_growth = false;
    {
      const RecorderHold hold;
      number = add();
      needs_growth = number == 0 && file->NeedsGrowth();
    }
    if (__builtin_expect(!needs_growth && file->IsGrowthNear(), 0)) file->GrowAhead();
    if (!needs_growth) return number;
    file->Grow();
  }
}

// Takes segments for one process.
class SegmentSource {
 public:
  void Begin(SegmentFile* file, uint32_t process) {
    file_ = file;
    process_ = process;
  }

  SegmentFile* file() const { return file_; }

  // Returns the place of the first record, or nullptr if there is no segment.  *segment is the
  // segment's number.
  char* Take(SegmentKind kind, uint32_t index, uint32_t* segment) {
    *segment = file_->Take();
    if (*segment == 0) return nullptr;
    char* const begin = file_->At(*segment);
    const Written<SegmentHeader> header(begin);
    header[&SegmentHeader::kind].Store(kind);
    header[&SegmentHeader::process].Store(kind == SegmentKind::kProcess ? *segment : process_);
    header[&SegmentHeader::index].Store(index);
    header[&SegmentHeader::magic].Publish(kSegmentMagic);
    return begin + sizeof(SegmentHeader);
  }

 private:
  SegmentFile* file_ = nullptr;
  uint32_t process_ = 0;
};

// The segments of one kind, by their index.
class SegmentList {
 public:
  uint32_t size() const { return size_; }
  char* At(uint32_t index) const { return begins_.At(index); }
  // False if there is no room.
  bool Add(SegmentSource* source, SegmentKind kind) {
    uint32_t segment = 0;
    if (!begins_.Reserve(size_)) return false;
    char* const begin = source->Take(kind, size_, &segment);
    if (begin == nullptr) return false;
    begins_.At(size_) = begin;
    ALLOMON_DCHECK_LT("inv.recording.segment", size_, kMostSegments);
    ++size_;
    return true;
  }
  void Clear() {
    begins_.Clear();
    size_ = 0;
  }

 private:
  static constexpr uint32_t kMostSegments = kMostLimitBytes / kSegmentBytes;
  OwnArray<char*, kMostSegments> begins_;
  uint32_t size_ = 0;
};

template <typename Record, SegmentKind kKind>
class Records {
 public:
  // `count` is the field of the file that holds the number of records.
  void Begin(SegmentSource* source, WrittenField<uint32_t> count) {
    source_ = source;
    written_count_ = count;
    count_ = 0;
  }
  void Clear() {
    segments_.Clear();
    count_ = 0;
  }

  SegmentFile* file() const { return source_->file(); }  // any thread, too

  // Under the lock, as all but At().
  uint32_t size() const { return count_; }
  Written<Record> At(uint32_t number) const {
    ALLOMON_DCHECK_NE("inv.recording.number", number, 0u);
    return Written<Record>(segments_.At((number - 1) / kEach) +
                           (number - 1) % kEach * sizeof(Record));
  }

  // Whether there is room for one more.
  bool Reserve() {
    return count_ < kMostRecords &&
           (count_ < segments_.size() * kEach || segments_.Add(source_, kKind));
  }
  // Call after a successful Reserve().  The record is counted in the file once it is complete.
  uint32_t Add(const Record& record) {
    ALLOMON_DCHECK_LT("inv.recording.number", count_, segments_.size() * kEach);
    At(++count_).Write(record);
    written_count_.Publish(count_);
    return count_;
  }
  // Releases the records after the first `count` and zeroes them.
  void Shrink(uint32_t count) {
    written_count_.Publish(count);
    for (uint32_t number = count + 1; number <= count_; ++number) At(number).Write(Record{});
    count_ = count;
  }

 private:
  static constexpr uint32_t kEach = static_cast<uint32_t>(kRecordsPerSegment<Record>);

  SegmentSource* source_ = nullptr;
  WrittenField<uint32_t> written_count_;
  uint32_t count_ = 0;
  SegmentList segments_;
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_RECORDS_H_
