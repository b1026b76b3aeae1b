// The writable memory of a process at one moment, copied: all of it that may hold addresses.
#ifndef ALLOMON_TOOLS_LEAKS_SNAPSHOT_H_
#define ALLOMON_TOOLS_LEAKS_SNAPSHOT_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tools/explain/mappings.h"
#include "tools/explain/process.h"

namespace allomon::leaks {

// Whether the program may have written words into the mapping.
bool HasWords(const explain::Mapping& mapping);

class Snapshot {
 public:
  Snapshot() = default;
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  struct Extent {
    uint64_t begin;
    uint64_t end;
  };
  // Call before Copy(), with the memory of blocks: by address, without overlap.  Pages there in
  // which no word can be the address of anything are not kept; they are zero here.
  void LeaveOutData(std::vector<Extent> blocks) { blocks_ = std::move(blocks); }
  // Says that the process is a fork, and shares its pages with another one.
  void ExpectFork(uint32_t pid) { fork_ = pid; }

  // Adds a copy of the pages of mappings with words that have been touched; the others are zero
  // here.  Their words are of one moment only if nobody writes them meanwhile.  The mappings of all
  // calls may not overlap.  Fails if memory gets short, before it does; of a process that is no
  // fork, and so stands, at once if it is larger than what is free.
  absl::Status Copy(const explain::Process& process, const std::vector<explain::Mapping>& mappings);

  // Returns the bytes from `begin` on, and in *size_bytes how many of the asked ones lie there;
  // null if the address is in no copied mapping.
  const char* Find(uint64_t begin, uint64_t* size_bytes) const;

  // Calls visit(word, address) for the aligned words of [begin, end), each with its own address.
  template <typename Visit>
  void VisitWords(uint64_t begin, uint64_t end, Visit visit) const;

  // False unless all bytes lie in one mapping that was copied.
  bool ReadAt(uint64_t address, void* to, size_t size_bytes) const;
  template <typename Value>
  bool Read(uint64_t address, Value* value) const {
    return ReadAt(address, value, sizeof(*value));
  }

  uint64_t copied_bytes() const { return copied_bytes_; }  // read, and kept or left out

 private:
  struct Region {
    uint64_t begin;
    uint64_t end;
    char* bytes;
  };
  absl::Status CopyPages(const explain::Process& process, const Region& region);
  // Returns where the memory from `address` on changes from blocks to other memory or back.
  uint64_t NextBorder(uint64_t address, bool* is_of_blocks) const;
  // Reads pages, or one by one those that can be read.
  void ReadPages(const explain::Process& process, uint64_t address, char* to, uint64_t size_bytes);
  void KeepPages(const std::vector<char>& from, uint64_t page_bytes, char* to) const;
  bool MayHoldAddresses(const char* page, uint64_t page_bytes) const;
  absl::Status CheckRoom(uint64_t read_bytes);

  std::vector<Region> regions_;  // by address
  std::vector<Extent> blocks_;
  Extent addresses_ = {UINT64_MAX, 0};  // from the first mapping to the last one
  std::vector<char> step_;
  uint64_t copied_bytes_ = 0;
  uint64_t unchecked_bytes_ = 0;  // read since there was last seen to be room
  uint32_t fork_ = 0;
  uint64_t least_room_bytes_ = 0;  // that a copy leaves
};

template <typename Visit>
void Snapshot::VisitWords(uint64_t begin, uint64_t end, Visit visit) const {
  begin = (begin + 7) & ~uint64_t{7};
  while (begin + sizeof(uint64_t) <= end) {
    uint64_t size_bytes = end - begin;
    const char* const bytes = Find(begin, &size_bytes);
    if (bytes == nullptr) return;
    for (uint64_t at = 0; at + sizeof(uint64_t) <= size_bytes; at += sizeof(uint64_t)) {
      visit(*reinterpret_cast<const uint64_t*>(bytes + at), begin + at);
    }
    begin += size_bytes < sizeof(uint64_t) ? sizeof(uint64_t) : size_bytes;
  }
}

}  // namespace allomon::leaks

#endif  // ALLOMON_TOOLS_LEAKS_SNAPSHOT_H_
