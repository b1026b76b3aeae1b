#include "zeroed_block.h"

#include <errno.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>

#include "tracker/base/check.h"
#include "tracker/base/page_size.h"

namespace allomon::backend {
namespace {

using internal::PageBytes;

// Compares eight words at a time: the first words of a page in use usually differ from zero.
bool IsZero(const char* page) {
  const auto* words = reinterpret_cast<const uint64_t*>(page);
  const size_t count = PageBytes() / sizeof(*words);
  for (size_t i = 0; i < count; i += 8) {
    const uint64_t any = words[i] | words[i + 1] | words[i + 2] | words[i + 3] | words[i + 4] |
                         words[i + 5] | words[i + 6] | words[i + 7];
    if (any != 0) return false;
  }
  return true;
}

bool LooksUnused(const char* first, size_t pages) {
  return IsZero(first) && IsZero(first + pages / 2 * PageBytes()) &&
         IsZero(first + (pages - 1) * PageBytes());
}

bool GiveBack(char* first, size_t pages) {
  const int kept_errno = errno;
  const bool given = madvise(first, pages * PageBytes(), MADV_DONTNEED) == 0;
  errno = kept_errno;
  return given;
}

void WriteWhereNeeded(char* first, size_t pages) {
  const size_t page_bytes = PageBytes();
  for (char* page = first; page != first + pages * page_bytes; page += page_bytes) {
    if (!IsZero(page)) memset(page, 0, page_bytes);
  }
}

void ZeroPages(char* first, size_t pages) {
  if (LooksUnused(first, pages) && GiveBack(first, pages)) return;
  WriteWhereNeeded(first, pages);
}

}  // namespace

void ZeroBlock(void* block, size_t size_bytes) {
  char* const begin = static_cast<char*>(block);
  const size_t before =
      (PageBytes() - reinterpret_cast<uintptr_t>(begin) % PageBytes()) % PageBytes();
  if (size_bytes < before + PageBytes()) {
    memset(begin, 0, size_bytes);
    return;
  }
  const size_t pages = (size_bytes - before) / PageBytes();
  char* const first = begin + before;
  char* const behind = first + pages * PageBytes();
  ALLOMON_DCHECK_EQ("inv.pages.whole", reinterpret_cast<uintptr_t>(first) % PageBytes(), 0);
  ALLOMON_DCHECK_LE("inv.pages.whole", behind, begin + size_bytes);
  memset(begin, 0, before);
  memset(behind, 0, static_cast<size_t>(begin + size_bytes - behind));
  ZeroPages(first, pages);
}

}  // namespace allomon::backend
