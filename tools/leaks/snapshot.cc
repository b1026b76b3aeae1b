#include "tools/leaks/snapshot.h"

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "tools/process/memory_room.h"

namespace allomon::leaks {
namespace {

constexpr uint64_t kStepPages = 4096;
// The rest of the machine's memory that a copy leaves, for whatever else grows meanwhile.
constexpr uint64_t kLeastRoomBytes = uint64_t{512} << 20;
// The page table is read page by page.
constexpr uint64_t kMostMappingBytes = uint64_t{2} << 40;

// Twice as fast as /proc/PID/mem, which also reads what process_vm_readv(2) may not.
bool ReadFast(uint32_t pid, uint64_t address, char* to, uint64_t size_bytes) {
  const iovec local = {to, size_bytes};
  const iovec remote = {reinterpret_cast<void*>(address), size_bytes};
  return process_vm_readv(static_cast<pid_t>(pid), &local, 1, &remote, 1, 0) ==
         static_cast<ssize_t>(size_bytes);
}

}  // namespace

// A program may have written to a page that it may not write to any more.
bool HasWords(const explain::Mapping& mapping) {
  if (!mapping.is_readable) return false;
  return mapping.is_writable ? mapping.resident_bytes + mapping.swapped_bytes > 0
                             : mapping.anonymous_bytes + mapping.swapped_bytes > 0;
}

Snapshot::~Snapshot() {
  for (const Region& region : regions_) munmap(region.bytes, region.end - region.begin);
}

absl::Status Snapshot::Copy(const explain::Process& process,
                            const std::vector<explain::Mapping>& mappings) {
  uint64_t resident_bytes = 0;
  for (const explain::Mapping& mapping : mappings) {
    if (HasWords(mapping)) resident_bytes += mapping.resident_bytes + mapping.swapped_bytes;
  }
  const uint64_t available_bytes =
      std::min(process::MachineRoom(), process::MemoryRoom(static_cast<uint32_t>(getpid())));
  if (resident_bytes > available_bytes / 10 * 9 ||
      available_bytes - resident_bytes < kLeastRoomBytes) {
    return absl::ResourceExhaustedError("its memory is copied, " +
                                        std::to_string(resident_bytes >> 20) + " MiB, and only " +
                                        std::to_string(available_bytes >> 20) + " MiB are there");
  }
  for (const explain::Mapping& mapping : mappings) {
    if (!HasWords(mapping)) continue;
    if (mapping.end - mapping.begin > kMostMappingBytes) {
      return absl::FailedPreconditionError("it has a mapping of " +
                                           std::to_string((mapping.end - mapping.begin) >> 40) +
                                           " TiB, as under a sanitizer, which is not searched");
    }
    void* const bytes = mmap(nullptr, mapping.end - mapping.begin, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bytes == MAP_FAILED) {
      return absl::ResourceExhaustedError("there is no address space for a copy of its memory");
    }
    regions_.push_back({mapping.begin, mapping.end, static_cast<char*>(bytes)});
    const absl::Status status = CopyPages(process, regions_.back());
    if (!status.ok()) return status;
  }
  std::sort(regions_.begin(), regions_.end(),
            [](const Region& a, const Region& b) { return a.begin < b.begin; });
  return absl::OkStatus();
}

// Reading a page that was never touched would give the process that page, so it is not read.
absl::Status Snapshot::CopyPages(const explain::Process& process, const Region& region) {
  const auto page_bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t last = region.end / page_bytes;
  for (uint64_t page = region.begin / page_bytes; page < last;) {
    if (!process.HasContent(page)) {
      ++page;
      continue;
    }
    uint64_t after = page + 1;
    while (after < last && after - page < kStepPages && process.HasContent(after)) ++after;
    if (process::MachineRoom() < kLeastRoomBytes) {
      return absl::ResourceExhaustedError("its memory is copied, and the machine has no more room");
    }
    const uint64_t at = page * page_bytes, size_bytes = (after - page) * page_bytes;
    char* const to = region.bytes + (at - region.begin);
    if (ReadFast(process.pid(), at, to, size_bytes) ||
        process.memory().ReadAt(at, to, size_bytes)) {
      copied_bytes_ += size_bytes;
    } else {
      // Pages of devices, guards (MADV_GUARD_INSTALL) and those beyond the end of a file cannot be
      // read, and hold no pointers.  Their neighbours can.
      for (uint64_t done = 0; done < size_bytes; done += page_bytes) {
        if (process.memory().ReadAt(at + done, to + done, page_bytes)) copied_bytes_ += page_bytes;
      }
    }
    page = after;
  }
  return absl::OkStatus();
}

const char* Snapshot::Find(uint64_t begin, uint64_t* size_bytes) const {
  const auto after = std::upper_bound(
      regions_.begin(), regions_.end(), begin,
      [](uint64_t address, const Region& region) { return address < region.begin; });
  if (after == regions_.begin()) return nullptr;
  const Region& region = *(after - 1);
  if (begin >= region.end) return nullptr;
  *size_bytes = std::min(*size_bytes, region.end - begin);
  return region.bytes + (begin - region.begin);
}

bool Snapshot::ReadAt(uint64_t address, void* to, size_t size_bytes) const {
  uint64_t found = size_bytes;
  const char* const bytes = Find(address, &found);
  if (bytes == nullptr || found < size_bytes) return false;
  memcpy(to, bytes, size_bytes);
  return true;
}

}  // namespace allomon::leaks
