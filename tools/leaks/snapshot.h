// The writable memory of a process at one moment, copied.
#ifndef ALLOMON_TOOLS_LEAKS_SNAPSHOT_H_
#define ALLOMON_TOOLS_LEAKS_SNAPSHOT_H_

#include <cstddef>
#include <cstdint>
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

  // Adds a copy of the pages of mappings with words that have been touched; the others are zero
  // here.  Their words are of one moment only if nobody writes them meanwhile.  The mappings of all
  // calls may not overlap.  Fails if this machine has no room for a second copy.
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

  uint64_t copied_bytes() const { return copied_bytes_; }

 private:
  struct Region {
    uint64_t begin;
    uint64_t end;
    char* bytes;
  };
  absl::Status CopyPages(const explain::Process& process, const Region& region);

  std::vector<Region> regions_;  // by address
  uint64_t copied_bytes_ = 0;
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
