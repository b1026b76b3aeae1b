#include "commit_pages.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "tracker/base/check.h"
#include "tracker/base/page_size.h"

namespace allomon::backend {
namespace {

using internal::PageBytes;

constexpr int kReadWrite = PROT_READ | PROT_WRITE;

// The kernel reads the signal set before it examines the operation, and -1 is no valid operation.
// So the answer is EFAULT for a page without access, EINVAL for one with access, and no signal mask
// changes.
enum class Access : uint8_t { kNone, kReadable, kUnknown };

Access AccessOf(const char* page) {
  constexpr size_t kKernelSetBytes = 8;
  syscall(SYS_rt_sigprocmask, -1, page, nullptr, kKernelSetBytes);
  if (errno == EFAULT) return Access::kNone;
  return errno == EINVAL ? Access::kReadable : Access::kUnknown;
}

bool MapOver(char* page) {
  return mmap(page, PageBytes(), kReadWrite,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == page;
}

// Only pages without access may be mapped over: mimalloc's range also contains pages that are not
// fresh, and these hold blocks.
bool MapWithoutAccess(char* first, size_t size_bytes) {
  const size_t page_bytes = PageBytes();
  ALLOMON_DCHECK_EQ("inv.pages.whole", reinterpret_cast<uintptr_t>(first) % page_bytes, 0);
  ALLOMON_DCHECK_EQ("inv.pages.whole", size_bytes % page_bytes, 0);
  for (char* page = first; page < first + size_bytes; page += page_bytes) {
    const Access access = AccessOf(page);
    if (access == Access::kUnknown || (access == Access::kNone && !MapOver(page))) return false;
  }
  return true;
}

}  // namespace
}  // namespace allomon::backend

int allomon_commit_pages(void* start, size_t size_bytes, int protection) {
  const int kept_errno = errno;
  if (mprotect(start, size_bytes, protection) == 0) return 0;
  if (protection != allomon::backend::kReadWrite) return -1;
  if (!allomon::backend::MapWithoutAccess(static_cast<char*>(start), size_bytes)) return -1;
  errno = kept_errno;
  return 0;
}
