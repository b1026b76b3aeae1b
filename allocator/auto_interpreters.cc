#include "allocator/auto_interpreters.h"

#include <cstdlib>
#include <string>

#include "allocator/auto_profile_say.h"
#include "tracker/cpython/attach.h"

namespace allomon::internal {

void ShowInterpretersIfWanted(const EnvironmentOptions& options, bool sees_memory) {
  if (!options.python) return;
  const char* const why_not = cpython::AttachPython();
  if (why_not == nullptr) {
    if (sees_memory && getenv("PYTHONMALLOC") == nullptr) cpython::TakeObjectsFromMalloc();
    return;
  }
  if (options.profile == "no") return;
  Say(std::string("Python's frames are not shown: ") + why_not + "; ALLOMON_PYTHON=0 says nothing");
}

}  // namespace allomon::internal
