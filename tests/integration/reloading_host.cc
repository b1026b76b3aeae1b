// A host that loads a library, calls it and unloads it, as often as its second argument says.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

int main(int, char** argv) {
  for (int i = atoi(argv[2]); i > 0; --i) {
    void* const library = dlopen(argv[1], RTLD_NOW);
    if (library == nullptr) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    auto* const allocate = reinterpret_cast<void* (*)(int)>(dlsym(library, "AllocateBelow"));
    for (int depth = 0; depth < 5; ++depth) free(allocate(depth));
    dlclose(library);
  }
}
