// mlockall and munlockall, in front of the C library's: tables of ours, and memory that the
// allocator has in reserve, are locked as they are touched, not made resident
// (tracker/base/lazy_pages.h).
//
// All mappings are first locked on fault; then those that are not ours, and parts of them, are made
// resident one by one.  What may be mapped meanwhile is locked as the kernel does it.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "allocator/host/program_malloc.h"
#include "tracker/base/check.h"
#include "tracker/base/errno_keeper.h"
#include "tracker/base/lazy_pages.h"
#include "tracker/base/next_symbol.h"
#include "tracker/base/sys/raw_calls.h"
#include "tracker/heap_client.h"

namespace allomon::internal {
namespace {

constexpr int kOnFault = 4;  // MCL_ONFAULT

using Mlockall = int (*)(int);
using Munlockall = int (*)();

// What the C library's do, for static programs, in which no next function is found.
int CallMlockall(int flags) { return static_cast<int>(syscall(SYS_mlockall, flags)); }
int CallMunlockall() { return static_cast<int>(syscall(SYS_munlockall)); }

NextSymbol<int(int)> g_next_mlockall("mlockall");
NextSymbol<int()> g_next_munlockall("munlockall");

__attribute__((constructor)) void LookUp() {
  [[maybe_unused]] const Mlockall next = g_next_mlockall.Find();
  ALLOMON_DCHECK_NE("inv.next.other", next, &mlockall);
  g_next_munlockall.Find();
}

Mlockall Next() {
  const Mlockall next = g_next_mlockall.Find();
  return next != nullptr ? next : &CallMlockall;
}

void SetLaterPagesAreLocked(bool are_locked) {
  // A child does not inherit the lock of later pages.
  if (are_locked) heap_client::InstallForkHandlers();
  later_pages_are_locked.store(are_locked, std::memory_order_relaxed);
}

// Where the backend has its segments (backends/mimalloc/low_pages.h), and where sampled blocks and
// the writing reserve lie (high_reservation.cc).  Neither the kernel nor libraries put mappings
// there.
constexpr AddressPart kHeaps[] = {{uintptr_t{2} << 40, uintptr_t{32} << 40},
                                  {uintptr_t{64} << 40, uintptr_t{85} << 40}};

AddressPart FirstOnFault(uintptr_t begin, uintptr_t end) {
  AddressPart first = FirstLazyPart(begin, end);
  for (const AddressPart& heap : kHeaps) {
    const uintptr_t from = std::max(heap.begin, begin);
    if (from < heap.end && from < first.begin) first = {from, std::min(heap.end, end)};
  }
  return first;
}

void MakeResident(uintptr_t begin, uintptr_t end) {
  while (begin < end) {
    const AddressPart lazy = FirstOnFault(begin, end);
    ALLOMON_DCHECK("inv.mlock.part", begin <= lazy.begin && lazy.begin <= end);
    ALLOMON_DCHECK_LT("inv.mlock.part", begin, lazy.end);
    if (begin < lazy.begin) sys::SystemCall(SYS_mlock, begin, lazy.begin - begin);
    begin = lazy.end;
  }
}

// Hexadecimal; stops at another character, which is left out.
uintptr_t TakeAddress(std::string_view* text) {
  uintptr_t value = 0;
  size_t i = 0;
  for (; i < text->size(); ++i) {
    const char c = (*text)[i];
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit && (c < 'a' || c > 'f')) break;
    value = value * 16 + static_cast<uintptr_t>(is_digit ? c - '0' : c - 'a' + 10);
  }
  text->remove_prefix(i < text->size() ? i + 1 : i);
  return value;
}

// A line of the list.  Mappings without access have nothing to make resident.
void MakeLineResident(std::string_view line) {
  const uintptr_t begin = TakeAddress(&line);
  const uintptr_t end = TakeAddress(&line);
  if (line.substr(0, 3) != "---") MakeResident(begin, end);
}

// False: there is no list.  It does not use /proc/self, which is the first thread's: that list is
// empty once the thread has ended.
bool MakeOthersResident() {
  const int fd = sys::Open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return false;
  char text[8192];
  size_t length = 0;
  bool is_list = false;
  ssize_t got;
  while ((got = sys::Read(fd, text + length, sizeof(text) - length)) > 0) {
    length += static_cast<size_t>(got);
    size_t done = 0;
    while (const void* newline = memchr(text + done, '\n', length - done)) {
      const size_t end = static_cast<size_t>(static_cast<const char*>(newline) - text);
      MakeLineResident({text + done, end - done});
      is_list = true;
      done = end + 1;
    }
    if (done == 0 && length == sizeof(text)) break;  // no line is that long
    ALLOMON_DCHECK_LE("inv.mlock.part", done, length);
    memmove(text, text + done, length - done);
    length -= done;
  }
  sys::Close(fd);
  return got == 0 && is_list;
}

int LockAll(int flags) {
  if ((flags & MCL_CURRENT) == 0 || (flags & kOnFault) != 0) return Next()(flags);
  // A kernel before 4.4 does not know the flag.
  if (Next()(flags | kOnFault) != 0) return Next()(flags);
  const ErrnoKeeper keeper;
  if (!MakeOthersResident()) return Next()(flags);
  if ((flags & MCL_FUTURE) != 0) Next()(MCL_FUTURE);
  return 0;
}

}  // namespace
}  // namespace allomon::internal

extern "C" __attribute__((visibility("default"), used)) int mlockall(int flags) {
  using namespace allomon::internal;  // NOLINT
  if (SeesNoMalloc()) return Next()(flags);
  const int result = LockAll(flags);
  if (result == 0) SetLaterPagesAreLocked((flags & (MCL_FUTURE | kOnFault)) == MCL_FUTURE);
  return result;
}

extern "C" __attribute__((visibility("default"), used)) int munlockall() {
  using namespace allomon::internal;  // NOLINT
  const Munlockall next = g_next_munlockall.Find();
  // A tick of a time profile may come on the way back from the kernel and map tables, and other
  // threads map some at any time: what they map after the call is not to be locked (MapUnlocked()).
  const bool were_locked = later_pages_are_locked.load(std::memory_order_relaxed);
  SetLaterPagesAreLocked(false);
  const int result = next != nullptr ? next() : CallMunlockall();
  if (result != 0) SetLaterPagesAreLocked(were_locked);
  return result;
}
