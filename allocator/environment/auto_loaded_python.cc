#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <climits>
#include <cstring>

#include "allocator/environment/auto_interpreters.h"
#include "allocator/host/loaded_python.h"
#include "allocator/python_objects.h"
#include "tracker/base/errno_keeper.h"
#include "tracker/cpython/attach.h"

namespace allomon::internal {
namespace {

constexpr char kPrefix[] = "libpython3.";

// Written before the first look.
bool g_samples_objects = false;
bool g_says_why_not = false;
// The thread that changes it to false attaches the library; no other thread does.
std::atomic<bool> g_is_expected{false};

bool IsPython(const char* path) {
  const char* const slash = strrchr(path, '/');
  const char* const name = slash == nullptr ? path : slash + 1;
  return strncmp(name, kPrefix, sizeof(kPrefix) - 1) == 0;
}

using Path = char[PATH_MAX];

// Called under a lock of the dynamic linker.  dlopen takes its locks in another order, so it must
// not be called here.
int CopyPath(dl_phdr_info* info, size_t, void* path) {
  if (info->dlpi_name == nullptr || !IsPython(info->dlpi_name)) return 0;
  strncpy(static_cast<char*>(path), info->dlpi_name, sizeof(Path) - 1);
  return 1;
}

// dlopen is found by its address: in a static executable that named it the linker would warn.
using Dlopen = void* (*)(const char* path, int flags);

// Returns the loaded Python, or nullptr if it is not (or no longer) loaded.  The handle is never
// closed: the library stays loaded.
void* FindLoaded() {
  Path path = {};
  if (dl_iterate_phdr(CopyPath, path) == 0) return nullptr;
  const auto open = reinterpret_cast<Dlopen>(dlsym(RTLD_NEXT, "dlopen"));
  return open == nullptr ? nullptr : open(path, RTLD_LAZY | RTLD_NOLOAD);
}

void AttachLoaded(void* library) {
  const char* const why_not = cpython::AttachLoadedPython(library, dlsym);
  if (why_not != nullptr) {
    if (g_says_why_not) SayPythonIsNotShown(why_not);
    return;
  }
  if (g_samples_objects && SampleLoadedPythonObjects != nullptr) {
    SampleLoadedPythonObjects(library, dlsym);
  }
}

}  // namespace

void ExpectLoadedPython(bool samples_objects, bool says_why_not) {
  g_samples_objects = samples_objects;
  g_says_why_not = says_why_not;
  // Pairs with the acquire in LookForLoadedPython(): the two answers are there.
  g_is_expected.store(true, std::memory_order_release);
}

void LookForLoadedPython() {
  // Pairs with the release in ExpectLoadedPython().
  if (__builtin_expect(!g_is_expected.load(std::memory_order_acquire), 1)) return;
  const ErrnoKeeper keeper;
  // One thread looks at a time: acquire pairs with the release of the look before.
  if (!g_is_expected.exchange(false, std::memory_order_acq_rel)) return;
  void* const library = FindLoaded();
  if (library == nullptr) return g_is_expected.store(true, std::memory_order_release);
  AttachLoaded(library);
}

}  // namespace allomon::internal
