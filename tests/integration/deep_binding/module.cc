// A module that a host loads with RTLD_DEEPBIND, and that exchanges blocks with it.  Its RUNPATH is
// its own folder.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace {

// Allocated while the module is loaded, freed while it is unloaded.
struct FromTheLoader {
  FromTheLoader() : block(strdup("from a constructor of the module")) {}
  ~FromTheLoader() { free(block); }
  char* const block;
};
FromTheLoader from_the_loader;

}  // namespace

extern "C" {

char* TakeFromModule(size_t size_bytes) {
  char* const block = static_cast<char*>(malloc(size_bytes));
  memset(block, 'm', size_bytes);
  return block;
}

char* GrowInModule(char* block, size_t size_bytes) {
  return static_cast<char*>(realloc(block, size_bytes));
}

void GiveToModule(char* block) { free(block); }

std::string* NewInModule(const char* text) { return new std::string(text); }
void DeleteInModule(std::string* string) { delete string; }

// Finds the neighbour by the module's RUNPATH, which differs from the host's.
void* OpenNeighbour() { return dlopen("libdeep_neighbour.so", RTLD_NOW | RTLD_DEEPBIND); }

// The neighbour is this library once more, under another name.
int NeighbourIsHere() { return 42; }

}  // extern "C"
