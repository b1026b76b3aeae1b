#include "tracker/recording/fork_mark.h"

#include <sys/mman.h>

#include "tracker/base/own_memory.h"

namespace allomon::recording {
namespace {

constexpr size_t kPageBytes = 4096;

std::atomic<uint32_t>* MapMark() {
  void* const page = internal::OwnMemory::Map(kPageBytes);
  if (page == nullptr) return nullptr;
  if (madvise(page, kPageBytes, MADV_WIPEONFORK) != 0) {
    internal::OwnMemory::Unmap(page, kPageBytes);
    return nullptr;
  }
  return static_cast<std::atomic<uint32_t>*>(page);
}

}  // namespace

void ForkMark::Set() {
  if (mark_ == nullptr) mark_ = MapMark();
  if (mark_ != nullptr) mark_->store(1, std::memory_order_release);
  forks_ = internal::TimesForked();
}

}  // namespace allomon::recording
