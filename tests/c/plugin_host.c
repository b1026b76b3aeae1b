// Loads a module that uses Allomon.
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* const module = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW);
  int (*run_plugin)(void) = NULL;
  if (module != NULL) *(void**)&run_plugin = dlsym(module, "run_plugin");
  if (run_plugin != NULL) return run_plugin();
  fprintf(stderr, "%s\n", dlerror());
  return 1;
}
