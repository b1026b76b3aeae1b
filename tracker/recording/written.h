// What stands in a recording's file, as its writer sees it: places to store to and to add to.
//
// Others can write the file, so nothing of it may steer the process.  A written field therefore has
// no conversion to its value, and no call here returns one: what the process must know it keeps in
// its own memory.  What somebody else writes into the file can spoil a report and no host.
//
// Any thread; no lock; no system call.  A store into a file that was truncated meanwhile raises
// SIGBUS, which bus_errors.h answers.  Stores are relaxed but for Publish().
#ifndef ALLOMON_TRACKER_RECORDING_WRITTEN_H_
#define ALLOMON_TRACKER_RECORDING_WRITTEN_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tracker/formats/recording_layout.h"

namespace allomon::recording {

template <typename Value>
class WrittenField {
  static_assert(alignof(Value) == sizeof(Value), "stored in one piece");

 public:
  WrittenField() = default;
  explicit WrittenField(Value* at) : at_(at) {}

  void Store(Value value) const { __atomic_store(at_, &value, __ATOMIC_RELAXED); }
  // A reader that sees the value sees what was stored before.
  void Publish(Value value) const { __atomic_store(at_, &value, __ATOMIC_RELEASE); }
  void Add(Value value) const { __atomic_fetch_add(at_, value, __ATOMIC_RELAXED); }
  // The difference of two other fields, which stays in the file.
  void StoreDifference(const WrittenField& of, const WrittenField& less) const {
    Store(__atomic_load_n(of.at_, __ATOMIC_RELAXED) - __atomic_load_n(less.at_, __ATOMIC_RELAXED));
  }

 private:
  Value* at_ = nullptr;
};

template <typename Record>
class Written {
 public:
  Written() = default;
  explicit Written(char* at) : at_(at) {}

  bool is_there() const { return at_ != nullptr; }

  // Of a record that nobody refers to yet.
  void Write(const Record& record) const { memcpy(at_, &record, sizeof(record)); }

  template <typename Value>
  WrittenField<Value> operator[](Value Record::*field) const {
    return WrittenField<Value>(&(Place()->*field));
  }
  template <typename Value, size_t kCount>
  WrittenField<Value> At(Value (Record::*field)[kCount], size_t index) const {
    return WrittenField<Value>(&(Place()->*field)[index]);
  }
  template <typename Inner, typename Value>
  WrittenField<Value> In(Inner Record::*outer, Value Inner::*field) const {
    return WrittenField<Value>(&(Place()->*outer.*field));
  }

 private:
  Record* Place() const { return reinterpret_cast<Record*>(at_); }

  char* at_ = nullptr;
};

// Copies a part of a file that others change meanwhile, word by word: `size_bytes` and both places
// are multiples of 8.  For copies of the file alone.
inline void CopyWords(const char* from, char* to, size_t size_bytes) {
  for (size_t i = 0; i < size_bytes; i += sizeof(uint64_t)) {
    const uint64_t word =
        __atomic_load_n(reinterpret_cast<const uint64_t*>(from + i), __ATOMIC_RELAXED);
    memcpy(to + i, &word, sizeof(word));
  }
}

template <typename Record>
inline void Store(const TextRef& text, const Written<Record>& record, TextRef Record::*field) {
  record.In(field, &TextRef::offset).Store(text.offset);
  record.In(field, &TextRef::length_bytes).Store(text.length_bytes);
}

// Adds to a fraction of 2^-32, and answers the wholes that it has passed: in 2^32 parts it would
// pass the end of its word.
inline uint64_t AddFraction(uint64_t part, std::atomic<uint64_t>* fraction) {
  const uint64_t before = fraction->fetch_add(part, std::memory_order_relaxed);
  return static_cast<uint32_t>(((before + part) >> 32) - (before >> 32));
}

// Any thread; `fraction` is the sum's in own memory.  Of two threads the later one's fraction stays
// in the file, which is an error of less than 1.
template <typename Record>
inline void Add(const Wide& part, std::atomic<uint64_t>* fraction, const Written<Record>& record,
                Wide Record::*sum) {
  if (part.fraction == 0) return record.In(sum, &Wide::whole).Add(part.whole);
  record.In(sum, &Wide::whole).Add(part.whole + AddFraction(part.fraction, fraction));
  record.In(sum, &Wide::fraction)
      .Store(static_cast<uint32_t>(fraction->load(std::memory_order_relaxed)));
}

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_WRITTEN_H_
