// A host that loads modules with RTLD_DEEPBIND, as PHP and Apache do, at all times and in all ways
// that a host can.  It prints its observations, which must be the same with Allomon and without.
//
//   host FOLDER     the folder of libdeep_module.so
#include <dlfcn.h>
#include <link.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kDeep = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;

std::string g_folder;

std::string ModulePath() { return g_folder + "/libdeep_module.so"; }

template <typename Function>
Function* Find(void* module, const char* name) {
  return reinterpret_cast<Function*>(dlsym(module, name));
}

// Passes blocks of each side to the other.
void Exchange(void* module) {
  const auto take = Find<char*(size_t)>(module, "TakeFromModule");
  const auto grow = Find<char*(char*, size_t)>(module, "GrowInModule");
  const auto give = Find<void(char*)>(module, "GiveToModule");
  for (size_t size_bytes = 1; size_bytes < 3 << 20; size_bytes = size_bytes * 3 + 5) {
    char* const own = static_cast<char*>(malloc(size_bytes));
    memset(own, 'h', size_bytes);
    give(own);
    free(take(size_bytes));
    give(grow(strdup("a block of the C library"), size_bytes + 30));
    free(realloc(take(size_bytes), 2 * size_bytes));
  }
  delete Find<std::string*(const char*)>(module, "NewInModule")("a string beyond the short ones");
  Find<void(std::string*)>(module, "DeleteInModule")(new std::string(100, 'x'));
}

Lmid_t NamespaceOf(void* module) {
  Lmid_t id = -2;
  dlinfo(module, RTLD_DI_LMID, &id);
  return id;
}

bool HasNeighbour(void* module) {
  void* const neighbour = Find<void*()>(module, "OpenNeighbour")();
  const bool here = neighbour != nullptr && Find<int()>(neighbour, "NeighbourIsHere")() == 42 &&
                    NamespaceOf(neighbour) == NamespaceOf(module);
  if (!here) printf("%s\n", dlerror());
  return here && dlclose(neighbour) == 0;
}

bool UseModule() {
  void* const module = dlopen(ModulePath().c_str(), kDeep);
  if (module == nullptr) return printf("%s\n", dlerror()) < 0;
  Exchange(module);
  return HasNeighbour(module) && dlclose(module) == 0;
}

// Finds the C library's dlopen, before main and before the preloaded library's own constructors.
bool g_before_main = [] {
  char line[4096] = "";
  FILE* const command = fopen("/proc/self/cmdline", "r");
  const size_t length = fread(line, 1, sizeof(line) - 1, command);
  fclose(command);
  const char* const folder = line + strlen(line) + 1;
  if (folder >= line + length) return false;
  g_folder = folder;
  return UseModule();
}();

void InThreads() {
  std::vector<std::thread> threads;
  bool fine[4] = {};
  for (bool& result : fine) threads.emplace_back([&result] { result = UseModule(); });
  for (std::thread& thread : threads) thread.join();
  printf("threads: %d %d %d %d\n", fine[0], fine[1], fine[2], fine[3]);
}

void InAChild() {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) exit(UseModule() ? 7 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  printf("child: %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

void Errors() {
  for (const char* name : {"libnot_there_at_all.so", "/not/there.so", "/etc/passwd"}) {
    const bool opened = dlopen(name, kDeep) != nullptr;
    printf("%s: %d %s\n", name, opened, dlerror());
  }
  const bool opened = dlopen(ModulePath().c_str(), RTLD_DEEPBIND) != nullptr;
  printf("neither now nor lazy: %d %s\n", opened, dlerror());
  printf("neighbour by the host: %d\n", dlopen("libdeep_neighbour.so", kDeep) != nullptr);
  dlerror();
}

void TheProgramItself() {
  void* const deep = dlopen(nullptr, kDeep);
  void* const plain = dlopen(nullptr, RTLD_NOW);
  printf("the program: %d %d\n", deep != nullptr, deep == plain);
}

void Namespaces() {
  void* const base = dlmopen(LM_ID_BASE, ModulePath().c_str(), kDeep);
  Exchange(base);
  printf("base: %d\n", HasNeighbour(base));
  dlclose(base);
  void* const other = dlmopen(LM_ID_NEWLM, ModulePath().c_str(), kDeep);
  if (other == nullptr) printf("%s\n", dlerror());
  // Blocks stay on their side, because the namespace has another C library.
  const auto give = Find<void(char*)>(other, "GiveToModule");
  for (int i = 0; i < 100; ++i) give(Find<char*(size_t)>(other, "TakeFromModule")(100));
  printf("other: %d %d\n", HasNeighbour(other), NamespaceOf(other) != LM_ID_BASE);
}

}  // namespace

int main(int argc, char**) {
  if (argc != 2) return 2;
  printf("before main: %d\n", g_before_main);
  printf("main: %d\n", UseModule());
  InThreads();
  InAChild();
  Errors();
  TheProgramItself();
  Namespaces();
  return 0;
}
