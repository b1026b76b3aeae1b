// Small programs in one: each loses blocks in its own way, or keeps them, and exits.  For
// exit_leaks_test.py, which compares what `allomon run --leaks=error` and the leak sanitizer say.
// With LIBRARY defined it is a library with a pointer.  With ALONE defined it has no C++ library,
// which would have allocated a block before the first sample: all of its blocks are sampled.
//
//   exit_cases CASE [LIBRARY]
//   exit_case_alone         loses a block
//   exit_case_alone frees   frees it, and loses nothing
#ifdef LIBRARY
extern "C" void* library_pointer;
void* library_pointer = nullptr;
#elif defined(ALONE)
#include <stdlib.h>

int main(int argc, char**) {
  void* block = malloc(100);
  asm volatile("" : : "r"(block) : "memory");
  if (argc > 1) free(block);
  return 0;
}
#else
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#define CASE __attribute__((noinline)) void

namespace {

const char* library = "";

struct Node {
  Node* next = nullptr;
  Node* other = nullptr;
  char payload[32] = {};
};

struct Shared {
  std::shared_ptr<Shared> other;
};

// Keeps the compiler from leaving an allocation out.
template <typename T>
T* Used(T* pointer) {
  asm volatile("" : : "r"(pointer) : "memory");
  return pointer;
}

}  // namespace

extern "C" {

// ---- Lost.

CASE Malloc() { Used(malloc(100)); }

CASE ManyOfOnePlace() {
  for (int i = 0; i < 50; ++i) Used(malloc(10 + i));
}

CASE Aligned() {
  Used(aligned_alloc(256, 512));
  void* block = nullptr;
  if (posix_memalign(&block, 4096, 5000) != 0) _exit(4);
  Used(block);
}

CASE Realloc() {
  void* const first = malloc(10);
  Used(realloc(first, 100'000));
}

CASE Large() { memset(Used(malloc(5 << 20)), 1, 5 << 20); }

CASE StrDup() { Used(strdup("a text of the C library's")); }

CASE StringObject() { Used(new std::string(100, 'x')); }

CASE VectorOfStrings() { Used(new std::vector<std::string>(20, std::string(50, 'x'))); }

CASE MapObject() {
  auto* const map = new std::map<int, int>;
  for (int i = 0; i < 30; ++i) (*map)[i] = i;
  Used(map);
}

CASE List() {
  Node* head = nullptr;
  for (int i = 0; i < 10; ++i) {
    Node* const node = new Node;
    node->next = head;
    head = node;
  }
  Used(head);
}

CASE Ring() {
  Node* const first = new Node;
  Node* last = first;
  for (int i = 1; i < 10; ++i) last = last->next = new Node;
  last->next = first;
  Used(first);
}

CASE CycleOfSharedPointers() {
  auto one = std::make_shared<Shared>(), two = std::make_shared<Shared>();
  one->other = two;
  two->other = one;
}

// The container is destroyed before the search, and does not own them.
std::vector<Node*> global_vector;
CASE InDestroyedContainer() {
  global_vector.reserve(5);
  for (int i = 0; i < 5; ++i) global_vector.push_back(new Node);
}

CASE OverwrittenGlobal() {
  static Node* volatile global;
  global = new Node;
  global = new Node;
  Used(&global);
}

void* OnThread(void* (*run)(void*)) {
  pthread_t thread;
  void* result = nullptr;
  if (pthread_create(&thread, nullptr, run, nullptr) != 0) _exit(4);
  pthread_join(thread, &result);
  return result;
}

CASE OnStackOfEndedThread() {
  OnThread([](void*) -> void* {
    void* volatile block = malloc(70);
    Used(&block);
    return nullptr;
  });
}

thread_local void* volatile of_thread = nullptr;
CASE InStorageOfEndedThread() {
  OnThread([](void*) -> void* {
    of_thread = malloc(71);
    return nullptr;
  });
}

CASE InKeyOfEndedThread() {
  static pthread_key_t key;
  if (pthread_key_create(&key, nullptr) != 0) _exit(4);
  OnThread([](void*) -> void* {
    pthread_setspecific(key, malloc(72));
    return nullptr;
  });
}

CASE InUnloadedLibrary() {
  void* const handle = dlopen(library, RTLD_NOW);
  if (handle == nullptr) _exit(4);
  *static_cast<void**>(dlsym(handle, "library_pointer")) = malloc(73);
  dlclose(handle);
}

CASE InHandler() {
  struct sigaction action = {};
  action.sa_handler = [](int) { Used(malloc(74)); };
  sigaction(SIGUSR1, &action, nullptr);
  raise(SIGUSR1);
}

CASE AtExit() {
  atexit([] { Used(malloc(75)); });
}

CASE InChild() {
  const pid_t pid = fork();
  if (pid == 0) {
    Used(malloc(76));
    exit(0);
  }
  int status = 0;
  if (waitpid(pid, &status, 0) != pid) _exit(4);
  exit(WEXITSTATUS(status));
}

// A filter that kills for all system calls but those of malloc, getpid and the last one.
CASE BehindFilter() {
  Used(malloc(80));
  fflush(stdout);
#define ALLOW(call)                                      \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), \
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
  sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                          ALLOW(mmap),
                          ALLOW(munmap),
                          ALLOW(mprotect),
                          ALLOW(madvise),
                          ALLOW(getpid),
                          ALLOW(exit_group),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL)};
  const sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    _exit(4);
  }
}

// Nobody else can stop it then.
CASE Traced() {
  Used(malloc(81));
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(4);
}

// A thread that waits for a child of vfork cannot be stopped.
CASE AsleepInKernel() {
  Used(malloc(83));
  std::thread([] {
    const timespec pause = {3, 0};
    if (vfork() == 0) {
      syscall(SYS_nanosleep, &pause, nullptr);
      syscall(SYS_exit_group, 0);
    }
  }).detach();
  usleep(500'000);
}

CASE AfterLine() {
  Used(malloc(82));
  puts("ready");
  fflush(stdout);
  char line[16];
  if (fgets(line, sizeof(line), stdin) == nullptr) _exit(4);
}

CASE WithOwnStatus() {
  Used(malloc(77));
  exit(3);
}

// ---- Kept, in a form that no search knows.

Node* volatile xored;
CASE XorPointer() {
  xored = reinterpret_cast<Node*>(reinterpret_cast<uintptr_t>(new Node) ^ 0x5555555555555555);
}

CASE TaggedAbove() {
  xored = reinterpret_cast<Node*>(reinterpret_cast<uintptr_t>(new Node) | uintptr_t{1} << 63);
}

// ---- Kept.

Node* volatile kept;
CASE InGlobal() { kept = new Node; }

CASE ByMiddle() { kept = reinterpret_cast<Node*>(static_cast<char*>(malloc(500)) + 250); }

CASE TaggedBelow() { kept = reinterpret_cast<Node*>(reinterpret_cast<uintptr_t>(new Node) | 1); }

CASE InStaticObjects() {
  static std::map<int, std::string> map;
  static std::list<std::unique_ptr<Node>> list;
  for (int i = 0; i < 20; ++i) {
    map[i] = std::string(60, 'x');
    list.emplace_back(new Node);
  }
  static auto* const never_destroyed = new std::map<int, std::string>(map);
  Used(never_destroyed);
}

CASE InStorageOfThread() {
  static thread_local std::unique_ptr<Node> node;
  static thread_local Node* volatile raw;
  node.reset(new Node);
  raw = new Node;
  Used(&raw);
}

CASE OfRunningThread() {
  static std::atomic<bool> is_there{false};
  std::thread([] {
    Node* volatile node = new Node;
    Used(&node);
    is_there = true;
    for (;;) pause();
  }).detach();
  while (!is_there) std::this_thread::yield();
}

CASE InLibrary() {
  void* const handle = dlopen(library, RTLD_NOW);
  if (handle == nullptr) _exit(4);
  *static_cast<void**>(dlsym(handle, "library_pointer")) = malloc(78);
}

CASE OnStackOfExit() {
  Node* volatile node = new Node;
  Used(&node);
  exit(0);
}

CASE InMapping() {
  void* const page =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) _exit(4);
  *static_cast<Node**>(page) = new Node;
}

CASE InMappingOfOthers() {
  void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) _exit(4);
  *static_cast<Node**>(page) = new Node;
}

CASE FirstThreadEnds() {
  std::thread([] { usleep(50'000); }).detach();
  kept = new Node;
  pthread_exit(nullptr);
}

CASE QuickEnd() {
  Used(malloc(79));
  _exit(0);
}

}  // extern "C"

namespace {

struct Case {
  const char* name;
  void (*run)();
};
#define ENTRY(name) \
  { #name, name }
// clang-format off
constexpr Case kCases[] = {
    ENTRY(Malloc), ENTRY(ManyOfOnePlace), ENTRY(Aligned), ENTRY(Realloc), ENTRY(Large),
    ENTRY(StrDup), ENTRY(StringObject), ENTRY(VectorOfStrings), ENTRY(MapObject), ENTRY(List),
    ENTRY(Ring), ENTRY(CycleOfSharedPointers), ENTRY(InDestroyedContainer),
    ENTRY(OverwrittenGlobal), ENTRY(OnStackOfEndedThread), ENTRY(InStorageOfEndedThread),
    ENTRY(InKeyOfEndedThread), ENTRY(InUnloadedLibrary), ENTRY(InHandler), ENTRY(AtExit),
    ENTRY(InChild), ENTRY(BehindFilter), ENTRY(Traced), ENTRY(AsleepInKernel), ENTRY(AfterLine),
    ENTRY(WithOwnStatus), ENTRY(XorPointer), ENTRY(TaggedAbove), ENTRY(InGlobal), ENTRY(ByMiddle),
    ENTRY(TaggedBelow), ENTRY(InStaticObjects), ENTRY(InStorageOfThread), ENTRY(OfRunningThread),
    ENTRY(InLibrary), ENTRY(OnStackOfExit), ENTRY(InMapping), ENTRY(InMappingOfOthers),
    ENTRY(FirstThreadEnds), ENTRY(QuickEnd),
};
// clang-format on

// The leak sanitizer searches the registers of vectors, too, in which copies stay.
void ClearVectors() {
#if defined(__x86_64__)
  asm volatile(
      "pxor %%xmm0, %%xmm0\n\tpxor %%xmm1, %%xmm1\n\tpxor %%xmm2, %%xmm2\n\t"
      "pxor %%xmm3, %%xmm3\n\tpxor %%xmm4, %%xmm4\n\tpxor %%xmm5, %%xmm5\n\t"
      "pxor %%xmm6, %%xmm6\n\tpxor %%xmm7, %%xmm7"
      :
      :
      : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7");
#endif
}

// The frames of a case lie far below those of exit(), so that no word of them is searched.
__attribute__((noinline)) void RunDeep(void (*run)()) {
  char room[64 << 10];
  Used(room);
  run();
  ClearVectors();
  Used(room);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  if (argc > 2) library = argv[2];
  for (const Case& one : kCases) {
    if (strcmp(one.name, argv[1]) != 0) continue;
    RunDeep(one.run);
    return 0;
  }
  return 2;
}
#endif
