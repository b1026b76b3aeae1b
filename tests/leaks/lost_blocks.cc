// Holds blocks in many ways, and loses others, for leaks_test.py.
//
//   lost_blocks        says "ready" when all are there, and waits for a line
//   lost_blocks keep   the same, and loses none
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

constexpr int kLost = 100, kKept = 100;

// Runs it on a thread with a stack that is unmapped afterwards, with all words that are left there.
void OnOtherStack(void* (*run)(void*)) {
  constexpr size_t kBytes = 256 << 10;
  void* const stack =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_attr_t attributes;
  pthread_t thread;
  if (stack == MAP_FAILED || pthread_attr_init(&attributes) != 0 ||
      pthread_attr_setstack(&attributes, stack, kBytes) != 0 ||
      pthread_create(&thread, &attributes, run, nullptr) != 0) {
    _exit(4);
  }
  pthread_join(thread, nullptr);
  munmap(stack, kBytes);
}

struct Node {
  Node* next;
  char payload[40];
};

Node* list;                       // reached through each other
void* volatile table[kKept];      // by the data segment
std::map<int, std::string> tree;  // by a container's nodes
std::vector<std::unique_ptr<char[]>> owners;
char* volatile middles[kKept];          // pointers into the middle
thread_local void* volatile of_thread;  // by thread-local storage
pthread_key_t key;                      // by pthread_setspecific
void* volatile large;
struct Holder {
  virtual ~Holder() = default;
  void* volatile held = nullptr;
};
Holder* volatile holder;  // by a C++ object with a table of virtual functions
void** sealed;            // in a page that may not be written any more

}  // namespace

extern "C" {
__attribute__((noinline)) void* LoseSmall(size_t bytes) { return malloc(bytes); }
__attribute__((noinline)) void LoseRing() {
  Node* const first = static_cast<Node*>(malloc(sizeof(Node)));
  Node* last = first;
  for (int i = 1; i < kLost; ++i) {
    last->next = static_cast<Node*>(malloc(sizeof(Node)));
    last = last->next;
  }
  last->next = first;
}
__attribute__((noinline)) void LoseLarge() {
  char* volatile const block = static_cast<char*>(malloc(3 << 20));
  block[0] = 1;
}
__attribute__((noinline)) void LoseFromThread() {
  OnOtherStack([](void*) -> void* {
    for (int i = 0; i < kLost; ++i) LoseSmall(200);
    return nullptr;
  });
}
__attribute__((noinline)) void KeepList() {
  for (int i = 0; i < kKept; ++i) {
    Node* const node = static_cast<Node*>(malloc(sizeof(Node)));
    node->next = list;
    list = node;
  }
}
__attribute__((noinline)) void KeepInTable() {
  for (void* volatile& place : table) place = malloc(64);
}
__attribute__((noinline)) void KeepInTree() {
  for (int i = 0; i < kKept; ++i) tree[i] = std::string(100, 'x');
}
__attribute__((noinline)) void KeepOwners() {
  for (int i = 0; i < kKept; ++i) owners.emplace_back(new char[48]);
}
__attribute__((noinline)) void KeepMiddles() {
  for (char* volatile& place : middles) place = static_cast<char*>(malloc(500)) + 250;
}
__attribute__((noinline)) void KeepLarge() { large = malloc(20 << 20); }
__attribute__((noinline)) void KeepInSealedPage() {
  constexpr size_t kBytes = 4096;
  void* const page =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) _exit(4);
  sealed = static_cast<void**>(page);
  for (int i = 0; i < kKept; ++i) sealed[i] = malloc(90);
  mprotect(page, kBytes, PROT_READ);
}
__attribute__((noinline)) void KeepInHolder() {
  holder = new Holder;
  holder->held = malloc(55);
}
__attribute__((noinline)) void KeepByThread() { of_thread = malloc(123); }
__attribute__((noinline)) void KeepSpecific() { pthread_setspecific(key, malloc(321)); }
__attribute__((noinline)) void* KeepOnStack() { return malloc(77); }
}

namespace {

__attribute__((noinline)) void* Lose(void*) {
  for (int i = 0; i < kLost; ++i) LoseSmall(static_cast<size_t>(16 + i));
  LoseRing();
  LoseLarge();
  LoseFromThread();
  return nullptr;
}

// Blocks of a thread that waits.
void* Wait(void* read_end) {
  void* volatile const on_stack = KeepOnStack();
  KeepByThread();
  KeepSpecific();
  char byte;
  if (read(*static_cast<int*>(read_end), &byte, 1) < 0) _exit(3);
  free(on_stack);
  return nullptr;
}

}  // namespace

int main(int argc, char**) {
  int ends[2];
  pthread_t thread;
  if (pipe(ends) != 0 || pthread_key_create(&key, nullptr) != 0) return 2;
  if (pthread_create(&thread, nullptr, Wait, &ends[0]) != 0) return 2;
  KeepList();
  KeepInTable();
  KeepInTree();
  KeepOwners();
  KeepMiddles();
  KeepLarge();
  KeepInSealedPage();
  KeepInHolder();
  if (argc == 1) OnOtherStack(Lose);
  usleep(100'000);  // the thread waits by now
  puts("ready");
  fflush(stdout);
  char line[16];
  if (fgets(line, sizeof(line), stdin) == nullptr) return 2;
  if (write(ends[1], line, 1) != 1) return 2;
  pthread_join(thread, nullptr);
  puts("done");
  return 0;
}
