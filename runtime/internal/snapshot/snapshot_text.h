// The text of a snapshot on its way to the file: buffered, without malloc.
#ifndef ALLOMON_RUNTIME_INTERNAL_SNAPSHOT_SNAPSHOT_TEXT_H_
#define ALLOMON_RUNTIME_INTERNAL_SNAPSHOT_SNAPSHOT_TEXT_H_

#include <cstdint>
#include <cstring>
#include <string_view>

#include "runtime/internal/space/memory.h"
#include "tracker/formats/write_file.h"

namespace allomon::gc::internal {

class SnapshotText {
 public:
  // Throws std::bad_alloc.  `file` is open and not owned.
  explicit SnapshotText(FileInPieces& file) : file_(file) { buffer_.resize(kBufferBytes); }

  void Add(std::string_view text) {
    while (!text.empty()) {
      MakeRoom(1);
      const size_t part = text.size() < Room() ? text.size() : Room();
      memcpy(&buffer_[used_], text.data(), part);
      used_ += part;
      text.remove_prefix(part);
    }
  }
  // Writes the number without sign and leading zeros.
  void Add(uint64_t number) {
    MakeRoom(kMostDigits);
    used_ += WriteDigits(number, &buffer_[used_]);
  }
  // Writes numbers separated by commas, with a comma before the first one except at the beginning
  // of a list.
  void AddItem(std::initializer_list<uint64_t> numbers) {
    MakeRoom((kMostDigits + 1) * numbers.size());
    for (const uint64_t number : numbers) {
      if (!first_) buffer_[used_++] = ',';
      first_ = false;
      used_ += WriteDigits(number, &buffer_[used_]);
    }
  }
  void BeginList() { first_ = true; }

  // Writes a JSON string.  Bytes that are not ASCII are copied.
  void AddQuoted(std::string_view text);

  void Flush() {
    file_.Write({buffer_.data(), used_});
    used_ = 0;
  }
  // Whether a write failed, for instance because the disk is full.  Further output is dropped.
  bool failed() const { return file_.failed(); }

 private:
  static constexpr size_t kBufferBytes = size_t{256} << 10;
  static constexpr size_t kMostDigits = 20;

  size_t Room() const { return kBufferBytes - used_; }
  void MakeRoom(size_t bytes) {
    if (__builtin_expect(bytes > Room(), 0)) Flush();
  }

  static size_t WriteDigits(uint64_t number, char* to) {
    char digits[kMostDigits];
    size_t begin = kMostDigits;
    do {
      digits[--begin] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    memcpy(to, digits + begin, kMostDigits - begin);
    return kMostDigits - begin;
  }

  FileInPieces& file_;
  Vector<char> buffer_;
  size_t used_ = 0;
  bool first_ = true;
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_SNAPSHOT_SNAPSHOT_TEXT_H_
