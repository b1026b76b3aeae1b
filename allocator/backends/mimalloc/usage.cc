// Counts the blocks of all threads in mimalloc's segments.
//
// In its release settings mimalloc counts no blocks, but each page has the number of its own.  The
// segments are found among the process's mappings: a segment starts at a multiple of its size, and
// its header holds a word that nobody else has (_mi_ptr_cookie).  Other threads go on meanwhile,
// and may return a segment to the kernel.  So the headers are read through a file, which answers
// with an error where there is no memory.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "allocator/backends/mimalloc/mapped_table.h"
#include "allomon_backend.h"

namespace allomon::backend {
namespace {

class File {
 public:
  explicit File(const char* path) : descriptor_(open(path, O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool ReadAt(uintptr_t offset, void* to, size_t bytes) const {
    const ssize_t done = pread(descriptor_, to, bytes, static_cast<off_t>(offset));
    return done == static_cast<ssize_t>(bytes);
  }
  // -1 at the end.
  int Next() {
    if (at_ == filled_) {
      filled_ = read(descriptor_, buffer_, sizeof(buffer_));
      at_ = 0;
      if (filled_ <= 0) return filled_ = at_ = -1;
    }
    return static_cast<unsigned char>(buffer_[at_++]);
  }

 private:
  const int descriptor_;
  char buffer_[1024];
  ssize_t at_ = 0;
  ssize_t filled_ = 0;
};

// The lines of the file, which proc(5) describes: "begin-end perms ...".
class Mappings {
 public:
  // The next one that can be written.
  bool Next(uintptr_t* begin, uintptr_t* end) {
    bool writable = false;
    do {
      *begin = Number();
      *end = Number();
      file_.Next();
      writable = file_.Next() == 'w';
      for (int c = 0; c != '\n';) {
        c = file_.Next();
        if (c < 0) return false;
      }
    } while (!writable);
    return true;
  }

 private:
  // Reads a hexadecimal number and the character behind it.
  uintptr_t Number() {
    uintptr_t number = 0;
    for (;;) {
      const int c = file_.Next();
      const bool digit = c >= '0' && c <= '9';
      if (!digit && !(c >= 'a' && c <= 'f')) return number;
      number = number * 16 + static_cast<uintptr_t>(digit ? c - '0' : c - 'a' + 10);
    }
  }

  File file_{"/proc/thread-self/maps"};
};

// A copy of a segment's header: too large for a thread's stack.
class Header {
 public:
  Header()
      : memory_(mmap(nullptr, sizeof(mi_segment_t), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  ~Header() {
    if (memory_ != MAP_FAILED) munmap(memory_, sizeof(mi_segment_t));
  }
  Header(const Header&) = delete;
  Header& operator=(const Header&) = delete;

  bool Copy(const File& from, uintptr_t address) {
    if (memory_ == MAP_FAILED) return false;
    // Most multiples are no segments, and are told by their first bytes.
    return from.ReadAt(address, memory_, offsetof(mi_segment_t, slices)) &&
           segment().cookie == _mi_ptr_cookie(reinterpret_cast<void*>(address)) &&
           from.ReadAt(address, memory_, sizeof(mi_segment_t));
  }
  const mi_segment_t& segment() const { return *static_cast<const mi_segment_t*>(memory_); }

 private:
  void* const memory_;
};

size_t CommittedBytes(const mi_segment_t& segment) {
  size_t pieces = 0;
  for (const size_t word : segment.commit_mask.mask) {
    pieces += static_cast<size_t>(__builtin_popcountl(word));
  }
  return pieces * MI_COMMIT_SIZE;
}

void AddHuge(const mi_segment_t& segment, Usage* usage) {
  if (segment.used == 0) return;
  ++usage->large_blocks;
  usage->large_bytes +=
      (segment.segment_slices - segment.segment_info_slices) * MI_SEGMENT_SLICE_SIZE;
}

// Free spans have the block size 0; those that change hands, 1.
void AddPages(const mi_segment_t& segment, Usage* usage) {
  usage->committed_bytes += CommittedBytes(segment);
  for (size_t i = segment.segment_info_slices; i < MI_SLICES_PER_SEGMENT;) {
    const mi_slice_t& slice = segment.slices[i];
    if (slice.slice_count == 0) return;
    if (slice.xblock_size > 1) usage->used_bytes += size_t{slice.used} * slice.xblock_size;
    i += slice.slice_count;
  }
}

}  // namespace

Usage ReadUsage() {
  Usage usage;
  Mappings mappings;
  const File memory("/proc/thread-self/mem");
  Header header;
  uintptr_t begin = 0;
  uintptr_t end = 0;
  while (mappings.Next(&begin, &end)) {
    uintptr_t address = (begin + MI_SEGMENT_MASK) & ~uintptr_t{MI_SEGMENT_MASK};
    for (; address < end; address += MI_SEGMENT_SIZE) {
      if (!header.Copy(memory, address)) continue;
      const bool huge = header.segment().kind == MI_SEGMENT_HUGE;
      huge ? AddHuge(header.segment(), &usage) : AddPages(header.segment(), &usage);
    }
  }
  const MappedTotal mapped = TotalOfMappings();
  usage.large_blocks += mapped.blocks;
  usage.large_bytes += mapped.bytes;
  return usage;
}

void Collect() { mi_collect(true); }

}  // namespace allomon::backend
