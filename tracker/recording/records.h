// The records of one kind and process: numbered from 1 through all segments of their kind.
//
// Guarded by the recorder's lock.  Numbers stay valid until the store is emptied.
#ifndef ALLOMON_TRACKER_RECORDING_RECORDS_H_
#define ALLOMON_TRACKER_RECORDING_RECORDS_H_

#include <atomic>
#include <cstdint>

#include "tracker/base/check.h"
#include "tracker/base/own_memory.h"
#include "tracker/recording/segment_file.h"

namespace allomon::recording {

// Takes segments for one process.
class SegmentSource {
 public:
  void Begin(SegmentFile* file, uint32_t process) {
    file_ = file;
    process_ = process;
  }
  SegmentFile& file() const { return *file_; }

  // nullptr if there is none.
  char* Take(SegmentKind kind, uint32_t index) {
    const uint32_t segment = file_->Take();
    if (segment == 0) return nullptr;
    char* const begin = file_->At(segment);
    SegmentHeader& header = *reinterpret_cast<SegmentHeader*>(begin);
    header.kind = kind;
    header.process = kind == SegmentKind::kProcess ? segment : process_;
    header.index = index;
    // A reader that sees the mark sees the rest.
    __atomic_store_n(&header.magic, kSegmentMagic, __ATOMIC_RELEASE);
    return begin + sizeof(SegmentHeader);
  }

 private:
  SegmentFile* file_ = nullptr;
  uint32_t process_ = 0;
};

// A list of pointers that grows by mapping, in own memory.  Empty while nothing was added.
class SegmentList {
 public:
  SegmentList() = default;
  ~SegmentList() { Clear(); }
  SegmentList(const SegmentList&) = delete;
  SegmentList& operator=(const SegmentList&) = delete;

  char* At(uint32_t index) const { return begins_[index]; }
  uint32_t size() const { return size_; }
  // `most` is how many there can ever be.  False when own memory is exhausted.
  bool Reserve(uint32_t most) {
    if (begins_ != nullptr) return true;
    begins_ = static_cast<char**>(internal::OwnMemory::Map(uint64_t{most} * sizeof(char*)));
    most_ = begins_ == nullptr ? 0 : most;
    return begins_ != nullptr;
  }
  void Add(char* begin) {
    ALLOMON_DCHECK_LT("inv.recording.segment", size_, most_);
    begins_[size_++] = begin;
  }
  void Clear() {
    if (begins_ != nullptr) internal::OwnMemory::Unmap(begins_, uint64_t{most_} * sizeof(char*));
    begins_ = nullptr;
    size_ = most_ = 0;
  }

 private:
  char** begins_ = nullptr;  // a page that is not read is never touched
  uint32_t size_ = 0;
  uint32_t most_ = 0;
};

template <typename Record, SegmentKind kKind>
class Records {
 public:
  // `count` is the number of records in use, in the ProcessRecord.
  void Begin(SegmentSource* source, uint32_t* count) {
    source_ = source;
    count_ = count;
  }
  void Clear() { segments_.Clear(); }

  uint32_t size() const { return *count_; }
  // While somebody truncates the file, what is read from it turns to zeros, numbers included: there
  // is a record for these, too.
  Record& At(uint32_t number) const {
    if (__builtin_expect(number == 0, 0)) return nowhere_;
    ALLOMON_DCHECK_LE("inv.recording.number", number, segments_.size() * kEach);
    return reinterpret_cast<Record*>(segments_.At((number - 1) / kEach))[(number - 1) % kEach];
  }

  // The number of the record that is added; 0 if there is no room.  It is counted when it is whole.
  uint32_t Add(const Record& record) {
    const uint32_t count = *count_;
    if (count == segments_.size() * kEach && !AddSegment()) return 0;
    reinterpret_cast<Record*>(segments_.At(count / kEach))[count % kEach] = record;
    __atomic_store_n(count_, count + 1, __ATOMIC_RELEASE);
    return count + 1;
  }
  // The records behind the first `count` are given back, and zero again.
  void Shrink(uint32_t count) {
    const uint32_t before = *count_;
    for (uint32_t number = count + 1; number <= before; ++number) At(number) = Record{};
    __atomic_store_n(count_, count, __ATOMIC_RELEASE);
  }

 private:
  static constexpr uint32_t kEach = static_cast<uint32_t>(kRecordsPerSegment<Record>);

  bool AddSegment() {
    if (!segments_.Reserve(source_->file().segment_count())) return false;
    char* const begin = source_->Take(kKind, segments_.size());
    if (begin != nullptr) segments_.Add(begin);
    return begin != nullptr;
  }

  static inline Record nowhere_ = {};  // nobody reads it; under the recorder's lock

  SegmentSource* source_ = nullptr;
  uint32_t* count_ = nullptr;
  SegmentList segments_;
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_RECORDS_H_
