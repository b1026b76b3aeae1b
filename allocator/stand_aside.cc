#include "allocator/stand_aside.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "allocator/host_stderr.h"
#include "allocator/malloc_owner.h"

namespace allomon {
namespace {

bool g_said = false;

bool IsOff(const char* variable) {
  const char* const value = getenv(variable);
  return value != nullptr && strcmp(value, "no") == 0;
}

// A preload asks for a profile of allocations where it names no other.
bool NothingIsAskedFor() {
  return IsOff("ALLOMON_PROFILE") && (getenv("ALLOMON_GUARD") == nullptr || IsOff("ALLOMON_GUARD"));
}

// Whether the object has the C interface, which only Allomon has.
bool IsAllomon(const char* object) { return internal::DefinerInFront("allomon_ready") == object; }

void Say(const char* object) {
  const bool is_program = *object == '\0';
  const bool is_allomon = IsAllomon(object);
  char line[4500];  // PATH_MAX and the words
  const int length = snprintf(
      line, sizeof(line),
      is_allomon ? "allomon: %.4096s comes first and samples; another copy of liballomon.so stands "
                   "aside%s\n"
                 : "allomon: malloc is that of %.4096s; liballomon.so stands aside: no profile, no "
                   "guard%s\n",
      is_program ? "the program itself" : object,
      is_program   ? ""
      : is_allomon ? " (name one in LD_PRELOAD)"
                   : " (name liballomon.so first in LD_PRELOAD)");
  internal::WriteToStderr(line, static_cast<size_t>(length));
}

}  // namespace

bool StandsAsideAndSaysSo() {
  if (!internal::StandsAside()) return false;
  if (!g_said && !NothingIsAskedFor()) Say(internal::OwnerOfMalloc());
  g_said = true;
  return true;
}

}  // namespace allomon
