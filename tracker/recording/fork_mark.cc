#include "tracker/recording/fork_mark.h"

#include <sys/mman.h>

#include "tracker/base/own_memory.h"
#include "tracker/base/page_size.h"

namespace allomon::recording {
namespace {

std::atomic<uint32_t>* MapMark() {
  const size_t page_bytes = internal::PageBytes();
  void* const page = internal::OwnMemory::Map(page_bytes);
  if (page == nullptr) return nullptr;
  if (madvise(page, page_bytes, MADV_WIPEONFORK) != 0) {
    internal::OwnMemory::Unmap(page, page_bytes);
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
