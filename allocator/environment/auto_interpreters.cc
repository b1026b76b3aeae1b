#include "allocator/environment/auto_interpreters.h"

#include <cstdlib>
#include <cstring>
#include <string>

#include "allocator/environment/auto_profile_say.h"
#include "allocator/host/loaded_python.h"
#include "allocator/python_objects.h"
#include "tracker/cpython/attach.h"
#include "tracker/lua/attach.h"

namespace allomon::internal {

namespace {

// Returns the sampling of objects that PYTHONMALLOC leaves to us.  Isolated interpreters ignore the
// variable.
ObjectSampling Wanted(ObjectSampling objects) {
  const char* const choice = getenv("PYTHONMALLOC");
  if (choice == nullptr || objects == ObjectSampling::kNever) return objects;
  return strcmp(choice, "malloc") == 0 ? ObjectSampling::kAll : ObjectSampling::kNever;
}

void SampleObjects(ObjectSampling objects) {
  if (SamplePythonObjects == nullptr) return;
  if (objects == ObjectSampling::kInArenas) SamplePythonObjects();
  if (objects == ObjectSampling::kAll) TakePythonObjectsFromMalloc();
}

void SayIsNotShown(const char* language, const char* why_not, const char* variable) {
  Say(std::string(language) + "'s frames are not shown: " + why_not + "; " + variable +
      "=0 says nothing");
}

void ShowPython(const EnvironmentOptions& options, ObjectSampling objects) {
  const bool says_why_not = options.profile != "no";
  if (!cpython::IsPythonLinked()) {
    return ExpectLoadedPython(Wanted(objects) != ObjectSampling::kNever, says_why_not);
  }
  const char* const why_not = cpython::AttachPython();
  // Arenas are the same since 3.5.
  if (why_not == nullptr || cpython::IsEarlierPython()) SampleObjects(Wanted(objects));
  if (why_not != nullptr && says_why_not) SayPythonIsNotShown(why_not);
}

void ShowLua(const EnvironmentOptions& options) {
  const char* const why_not = lua::AttachLua();
  if (why_not != nullptr && options.profile != "no") SayIsNotShown("Lua", why_not, "ALLOMON_LUA");
}

}  // namespace

void SayPythonIsNotShown(const char* why_not) {
  SayIsNotShown("Python", why_not, "ALLOMON_PYTHON");
}

void ShowInterpretersIfWanted(const EnvironmentOptions& options, ObjectSampling objects) {
  if (options.python) ShowPython(options, objects);
  if (options.lua) ShowLua(options);
}

}  // namespace allomon::internal
