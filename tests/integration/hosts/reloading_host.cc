// A host that loads a library, calls it and unloads it, as often as its second argument says.  The
// third is a library that it loads before that and keeps; it has many mappings then.
#include <dlfcn.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>

namespace {

void* Load(const char* path) {
  void* const library = dlopen(path, RTLD_NOW);
  if (library != nullptr) return library;
  fprintf(stderr, "%s\n", dlerror());
  exit(1);
}

// Every second page is of another protection, so no two are one mapping.
void MapMuch() {
  constexpr size_t kPageBytes = 4096;
  constexpr size_t kPages = 2000;
  auto* const pages = static_cast<char*>(mmap(nullptr, kPages * kPageBytes, PROT_READ | PROT_WRITE,
                                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  for (size_t i = 0; i < kPages; i += 2) {
    if (mprotect(pages + i * kPageBytes, kPageBytes, PROT_READ) != 0) exit(2);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 3) {
    Load(argv[3]);
    MapMuch();
  }
  for (int i = atoi(argv[2]); i > 0; --i) {
    void* const library = Load(argv[1]);
    auto* const allocate = reinterpret_cast<void* (*)(int)>(dlsym(library, "AllocateBelow"));
    for (int depth = 0; depth < 5; ++depth) free(allocate(depth));
    dlclose(library);
  }
}
