#include "allocator/host/stand_aside.h"

#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstring>

#include "allocator/host/host_stderr.h"
#include "allocator/host/malloc_owner.h"
#include "allocator/host/next_function.h"
#include "allocator/host/program_malloc.h"
#include "allomon_backend.h"
#include "tracker/base/check.h"
#include "tracker/base/large_object.h"

namespace allomon {
namespace {

bool g_said = false;

// Whether the object has the C interface, which only Allomon has.
bool IsAllomon(const char* object) { return internal::DefinerInFront("allomon_ready") == object; }

const char* RemedyFor(const char* object, bool is_allomon) {
  if (*object == '\0') return "";
  return is_allomon ? " (name one in LD_PRELOAD)" : " (name liballomon.so first in LD_PRELOAD)";
}

void Say(const char* object) {
  ALLOMON_DCHECK_NE("inv.owner.named", object, nullptr);
  const bool is_program = *object == '\0';
  const bool is_allomon = IsAllomon(object);
  const char* const reason = internal::why_program_malloc_is_unseen;
  char line[4500];  // PATH_MAX and the words
  const int length = snprintf(
      line, sizeof(line),
      is_allomon ? "allomon: %.4096s comes first and samples; another copy of liballomon.so stands "
                   "aside%s%s%s\n"
                 : "allomon: malloc is that of %.4096s; liballomon.so stands aside: no profile, no "
                   "guard%s%s%s\n",
      is_program ? "the program itself" : object, RemedyFor(object, is_allomon),
      reason == nullptr ? "" : "; ", reason == nullptr ? "" : reason);
  ALLOMON_DCHECK_LT("inv.host.text", static_cast<size_t>(length), sizeof(line));
  internal::WriteToStderr(line, static_cast<size_t>(length));
}

const char* FileOfMalloc() {
  static ALLOMON_LARGE_ZEROS char program[PATH_MAX];
  if (internal::program_malloc_is_seen) {
    const ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    return length > 0 ? program : nullptr;
  }
  return internal::DefinerBehind == nullptr ? nullptr : internal::DefinerBehind("malloc");
}

// A look-up waits for the loader's lock, and a thread in dlopen(), which holds it, may wait for the
// caller.  So all that exists is found before there is a second thread, if calls are passed on. The
// C library has all functions but the operators.  A look-up in vain would call malloc.
__attribute__((constructor)) void FindNextFunctions() {
  if (internal::WhoseMalloc() == internal::MallocOwner::kOurs) return;
  for (int i = 0; i < internal::kFunctions; ++i) {
    const auto function = static_cast<internal::Function>(i);
    const char* const name = internal::NameOf(function);
    const bool exists =
        !internal::IsOperator(function) ||
        (internal::DefinerBehind != nullptr && internal::DefinerBehind(name) != nullptr);
    if (exists) internal::FindNext(function);
  }
  internal::FindMallocAndFree();
}

}  // namespace

bool StandsAsideAndSaysSo() {
  if (!internal::SeesNoMalloc()) return false;
  if (!g_said && internal::SomethingIsAskedFor()) Say(internal::OwnerOfMalloc());
  g_said = true;
  return true;
}

AllocatorNames NamesOfAllocator() {
  static const AllocatorNames names = {backend::kName, FileOfMalloc()};
  return names;
}

void SayWhatIsReplaced(const char* wanted) {
  if (internal::program_malloc_is_seen) {
    static constexpr char kLine[] =
        "allomon: malloc is that of the program itself: what other modules call of it is seen, and "
        "what the executable calls by itself is not\n";
    return internal::WriteToStderr(kLine, sizeof(kLine) - 1);
  }
  const char* const own = backend::kName;
  char line[4500];
  int length = 0;
  if (*wanted != '\0') {
    if (strcmp(wanted, own) == 0) return;
    const bool is_host = strcmp(wanted, "host") == 0;
    length =
        snprintf(line, sizeof(line),
                 "allomon: ALLOMON_BACKEND=%s: this library is built over %s, which stays; %s\n",
                 wanted, own,
                 is_host ? "preload liballomon-host.so (allomon run --keep-malloc)"
                         : "preload liballomon.so");
  } else {
    if (strcmp(own, "host") == 0) return;
    const char* const object = NamesOfAllocator().file;
    if (object == nullptr) return;
    length = snprintf(line, sizeof(line),
                      "allomon: %s takes the place of the malloc of %.4000s; allomon run "
                      "--keep-malloc (liballomon-host.so) keeps it\n",
                      own, object);
  }
  ALLOMON_DCHECK_LT("inv.host.text", static_cast<size_t>(length), sizeof(line));
  internal::WriteToStderr(line, static_cast<size_t>(length));
}

}  // namespace allomon
