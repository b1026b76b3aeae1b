// Write access to the fields of a recording's file: stores and additions.
//
// Other processes can write the file, so its contents must never steer this process.  A written
// field therefore has no conversion to its value, and no call here returns one.  Values that the
// process needs are kept in own memory.  Foreign writes to the file can spoil a report, but not the
// host.
//
// Any thread; no lock; no system call.  A store into a file that was truncated meanwhile raises
// SIGBUS, which bus_errors.h handles.  Stores are relaxed except in Publish().
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
  // A reader that sees the value sees all earlier stores.
  void Publish(Value value) const { __atomic_store(at_, &value, __ATOMIC_RELEASE); }
  void Add(Value value) const { __atomic_fetch_add(at_, value, __ATOMIC_RELAXED); }
  // Stores the difference of two other fields of the file; its value is not returned.
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

  // Writes a record that nothing refers to yet.
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

// Copies a part of a file word by word while others may change it.  `size_bytes` and both addresses
// are multiples of 8.  Use it only to copy the file.
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

// Adds to a fraction of 2^-32, and returns the wholes that this completes.  2^32 parts would
// overflow the word.
inline uint64_t AddFraction(uint64_t part, std::atomic<uint64_t>* fraction) {
  const uint64_t before = fraction->fetch_add(part, std::memory_order_relaxed);
  return static_cast<uint32_t>(((before + part) >> 32) - (before >> 32));
}

// Adds `part` to a sum of the file.  Any thread; `fraction` is the sum's fraction in own memory.
// If two threads add at once, the file keeps the later fraction: an error of less than 1.
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
