#include "allocator/auto_interpreters.h"

#include <cstdlib>
#include <cstring>
#include <string>

#include "allocator/auto_profile_say.h"
#include "tracker/cpython/attach.h"

namespace allomon::internal {

namespace {

// Whether the user leaves it to us.  Isolated interpreters do not look at the variable themselves.
bool MayTakeObjectsFromMalloc() {
  const char* const choice = getenv("PYTHONMALLOC");
  return choice == nullptr || strcmp(choice, "malloc") == 0;
}

}  // namespace

void ShowInterpretersIfWanted(const EnvironmentOptions& options, bool sees_memory) {
  if (!options.python) return;
  const char* const why_not = cpython::AttachPython();
  if (why_not == nullptr) {
    if (sees_memory && MayTakeObjectsFromMalloc()) cpython::TakeObjectsFromMalloc();
    return;
  }
  if (options.profile == "no") return;
  Say(std::string("Python's frames are not shown: ") + why_not + "; ALLOMON_PYTHON=0 says nothing");
}

}  // namespace allomon::internal
