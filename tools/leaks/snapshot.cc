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

// A page of the kernel (vsyscall) is among the mappings.
constexpr uint64_t kKernelBegin = uint64_t{1} << 63;
constexpr uint64_t kStepBytes = uint64_t{16} << 20;
// The rest of the machine's memory that a copy leaves, for whatever else grows meanwhile.
constexpr uint64_t kLeastRoomBytes = uint64_t{512} << 20;
// The page table is read page by page.
constexpr uint64_t kMostMappingBytes = uint64_t{2} << 40;

// Twice as fast as /proc/PID/mem, which also reads what process_vm_readv(2) may not.  It pins
// pages, so Linux 5.19 and later give a fork a page of its own for each that it still shares.
bool ReadFast(uint32_t pid, uint64_t address, char* to, uint64_t size_bytes) {
  const iovec local = {to, size_bytes};
  const iovec remote = {reinterpret_cast<void*>(address), size_bytes};
  return process_vm_readv(static_cast<pid_t>(pid), &local, 1, &remote, 1, 0) ==
         static_cast<ssize_t>(size_bytes);
}

// The room of the fork's own cgroup is no less than the process has memory (frozen_fork.cc).
uint64_t RoomBytes() {
  return std::min(process::MachineRoom(), process::MemoryRoom(static_cast<uint32_t>(getpid())));
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
  const uint64_t room_bytes = RoomBytes();
  least_room_bytes_ = std::max(kLeastRoomBytes, room_bytes / 10);
  uint64_t resident_bytes = 0;
  for (const explain::Mapping& mapping : mappings) {
    if (HasWords(mapping)) resident_bytes += mapping.resident_bytes + mapping.swapped_bytes;
  }
  if (fork_ == 0 && room_bytes < resident_bytes + least_room_bytes_) {
    return absl::ResourceExhaustedError("its memory is copied while it stands, " +
                                        std::to_string(resident_bytes >> 20) + " MiB, and only " +
                                        std::to_string(room_bytes >> 20) + " MiB are there");
  }
  unchecked_bytes_ = kStepBytes;
  for (const explain::Mapping& mapping : mappings) {
    if (mapping.end >= kKernelBegin) continue;
    addresses_.begin = std::min(addresses_.begin, mapping.begin);
    addresses_.end = std::max(addresses_.end, mapping.end);
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
  const uint64_t page_bytes = process.page_bytes();
  const uint64_t last = region.end / page_bytes;
  for (uint64_t page = region.begin / page_bytes; page < last;) {
    if (!process.HasContent(page)) {
      ++page;
      continue;
    }
    bool is_of_blocks = false;
    const uint64_t at = page * page_bytes;
    const uint64_t end =
        std::min(last, std::min(NextBorder(at, &is_of_blocks), at + kStepBytes) / page_bytes);
    uint64_t after = page + 1;
    while (after < end && process.HasContent(after)) ++after;
    const uint64_t size_bytes = (after - page) * page_bytes;
    const absl::Status status = CheckRoom(size_bytes);
    if (!status.ok()) return status;
    char* const to = region.bytes + (at - region.begin);
    if (is_of_blocks) {
      step_.assign(size_bytes, '\0');
      ReadPages(process, at, step_.data(), size_bytes);
      KeepPages(step_, page_bytes, to);
    } else {
      ReadPages(process, at, to, size_bytes);
    }
    page = after;
  }
  return absl::OkStatus();
}

uint64_t Snapshot::NextBorder(uint64_t address, bool* is_of_blocks) const {
  const auto after =
      std::upper_bound(blocks_.begin(), blocks_.end(), address,
                       [](uint64_t of, const Extent& extent) { return of < extent.begin; });
  *is_of_blocks = after != blocks_.begin() && address < (after - 1)->end;
  if (*is_of_blocks) return (after - 1)->end;
  return after == blocks_.end() ? UINT64_MAX : after->begin;
}

void Snapshot::ReadPages(const explain::Process& process, uint64_t address, char* to,
                         uint64_t size_bytes) {
  if ((process.pid() != fork_ && ReadFast(process.pid(), address, to, size_bytes)) ||
      process.memory().ReadAt(address, to, size_bytes)) {
    copied_bytes_ += size_bytes;
    return;
  }
  // Pages of devices, guards (MADV_GUARD_INSTALL) and those beyond the end of a file cannot be
  // read, and hold no pointers.  Their neighbours can.
  const uint64_t page_bytes = process.page_bytes();
  for (uint64_t done = 0; done < size_bytes; done += page_bytes) {
    if (process.memory().ReadAt(address + done, to + done, page_bytes)) copied_bytes_ += page_bytes;
  }
}

void Snapshot::KeepPages(const std::vector<char>& from, uint64_t page_bytes, char* to) const {
  for (size_t at = 0; at < from.size(); at += page_bytes) {
    if (MayHoldAddresses(&from[at], page_bytes)) memcpy(to + at, &from[at], page_bytes);
  }
}

// Without a branch for each word, so that the compiler takes several at once.
bool Snapshot::MayHoldAddresses(const char* page, uint64_t page_bytes) const {
  const uint64_t range_bytes = addresses_.end - addresses_.begin;
  uint64_t found = 0;
  for (uint64_t at = 0; at < page_bytes; at += sizeof(uint64_t)) {
    uint64_t word;
    memcpy(&word, page + at, sizeof(word));
    found += word - addresses_.begin < range_bytes ? 1 : 0;
  }
  return found != 0;
}

absl::Status Snapshot::CheckRoom(uint64_t read_bytes) {
  unchecked_bytes_ += read_bytes;
  if (unchecked_bytes_ < kStepBytes) return absl::OkStatus();
  unchecked_bytes_ = 0;
  if (RoomBytes() >= least_room_bytes_) return absl::OkStatus();
  return absl::ResourceExhaustedError("its memory is copied, and after " +
                                      std::to_string(copied_bytes_ >> 20) +
                                      " MiB there was no more room for it");
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
