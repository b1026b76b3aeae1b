// Runs a script in a Python that it loads, like servers that have Python as a plugin.
//
//   loading_host LIBRARY SCRIPT
#include <dlfcn.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  void* const library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    fprintf(stderr, "loading_host: %s\n", dlerror());
    return 2;
  }
  const auto begin = reinterpret_cast<void (*)(int)>(dlsym(library, "Py_InitializeEx"));
  const auto run = reinterpret_cast<int (*)(const char*)>(dlsym(library, "PyRun_SimpleString"));
  begin(0);
  return run(argv[2]);
}
