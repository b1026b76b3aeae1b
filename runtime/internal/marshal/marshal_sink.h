// The bytes that are written, in chunks of the backend's memory.  Unlike a sampled malloc, taking a
// chunk runs no user code, and growth copies no bytes.
#ifndef ALLOMON_RUNTIME_INTERNAL_MARSHAL_MARSHAL_SINK_H_
#define ALLOMON_RUNTIME_INTERNAL_MARSHAL_MARSHAL_SINK_H_

#include <algorithm>
#include <cstring>
#include <string>

#include "runtime/internal/space/memory.h"

namespace allomon::gc::internal {

// Throws std::bad_alloc.
class MarshalSink {
 public:
  MarshalSink() = default;
  ~MarshalSink() {
    for (char* chunk : chunks_) backend::Free(chunk);
  }
  MarshalSink(const MarshalSink&) = delete;
  MarshalSink& operator=(const MarshalSink&) = delete;

  // See MarshalSource::Number().
  void Number(uint64_t value) {
    for (; value >= 0x80; value >>= 7) Byte(static_cast<char>(value | 0x80));
    Byte(static_cast<char>(value));
  }

  void Append(const void* from, size_t size_bytes) {
    const char* bytes = static_cast<const char*>(from);
    while (size_bytes > 0) {
      if (at_ == end_) TakeChunk();
      const size_t part = std::min(size_bytes, static_cast<size_t>(end_ - at_));
      memcpy(at_, bytes, part);
      at_ += part;
      bytes += part;
      size_bytes -= part;
    }
  }

  size_t size_bytes() const {
    return chunks_.size() * kChunkBytes - static_cast<size_t>(end_ - at_);
  }

  void CopyTo(std::string* text) const {
    size_t left = size_bytes();
    for (const char* chunk : chunks_) {
      text->append(chunk, std::min(left, kChunkBytes));
      left -= std::min(left, kChunkBytes);
    }
  }

 private:
  static constexpr size_t kChunkBytes = size_t{64} << 10;

  void Byte(char byte) {
    if (__builtin_expect(at_ == end_, 0)) TakeChunk();
    *at_++ = byte;
  }

  void TakeChunk() {
    chunks_.reserve(chunks_.size() + 1 > chunks_.capacity() ? chunks_.size() * 2 + 1 : 0);
    char* chunk = static_cast<char*>(backend::Malloc(kChunkBytes));
    if (chunk == nullptr) throw std::bad_alloc();
    chunks_.push_back(chunk);
    at_ = chunk;
    end_ = chunk + kChunkBytes;
  }

  Vector<char*> chunks_;
  char* at_ = nullptr;
  char* end_ = nullptr;
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_MARSHAL_MARSHAL_SINK_H_
