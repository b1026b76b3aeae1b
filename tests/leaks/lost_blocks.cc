// Holds blocks in many ways, and loses others, for leaks_test.py.
//
//   lost_blocks        says "ready" when all are there, and waits for a line
//   lost_blocks keep   the same, and loses none
//   lost_blocks filter loses them, and would be killed if it forked
//   lost_blocks busy   keeps all, and its threads check that nothing changes their calls
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
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
void** apart[3];          // in pages that a child of fork would not have as they are

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
__attribute__((noinline)) void KeepInPagesApart() {
  constexpr size_t kBytes = 4096;
  const int sharing[] = {MAP_PRIVATE, MAP_PRIVATE, MAP_SHARED};
  const int advice[] = {MADV_DONTFORK, MADV_WIPEONFORK, MADV_NORMAL};
  for (int i = 0; i < 3; ++i) {
    void* const page =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, sharing[i] | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || madvise(page, kBytes, advice[i]) != 0) _exit(4);
    apart[i] = static_cast<void**>(page);
    for (int block = 0; block < 10; ++block) apart[i][block] = malloc(95);
  }
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

void RefuseToFork() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),  // the number of the call
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_wait4, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  const sock_fprog filter = {sizeof(code) / sizeof(code[0]), code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) != 0) {
    _exit(6);
  }
}

// ---- Threads that are stopped in all kinds of places, and must not notice.

std::atomic<bool> ends{false};
std::atomic<uint64_t> signals_handled{0}, children_told{0};

[[noreturn]] void Fail(const char* what) {
  fprintf(stderr, "%s: errno %d\n", what, errno);
  _exit(5);
}
void Expect(bool is_so, const char* what) {
  if (!is_so) Fail(what);
}

uint64_t NowNanos() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

void* Sleep(void*) {
  while (!ends) {
    const uint64_t begin = NowNanos();
    const timespec pause = {0, 3'000'000};
    Expect(nanosleep(&pause, nullptr) == 0, "nanosleep");
    Expect(NowNanos() - begin >= 3'000'000, "nanosleep was too short");
  }
  return nullptr;
}

// Words of all registers that a function keeps must stay.
void* Compute(void*) {
  while (!ends) {
    uint64_t sum = 1, other = 2, third = 3;
    for (uint64_t i = 0; i < 1'000'000; ++i) {
      sum = sum * 6364136223846793005 + other;
      other ^= sum >> 7;
      third += other * i;
    }
    static const uint64_t first[] = {sum, other, third};
    Expect(sum == first[0] && other == first[1] && third == first[2], "registers changed");
  }
  return nullptr;
}

void* CallKernel(void*) {
  const pid_t parent = getppid();
  while (!ends) Expect(getppid() == parent, "getppid");
  return nullptr;
}

// Closed files are closed: a copy of the process does not hold them open.
void* ClosePipes(void*) {
  while (!ends) {
    int pipe_ends[2];
    Expect(pipe(pipe_ends) == 0, "pipe");
    Expect(write(pipe_ends[1], "x", 1) == 1, "write");
    close(pipe_ends[1]);
    char bytes[4];
    Expect(read(pipe_ends[0], bytes, 4) == 1, "read");
    pollfd end = {pipe_ends[0], POLLIN, 0};
    Expect(poll(&end, 1, 2000) == 1 && read(pipe_ends[0], bytes, 4) == 0, "a pipe stays open");
    close(pipe_ends[0]);
  }
  return nullptr;
}

void* MakeChildren(void*) {
  sigset_t of_child;
  sigemptyset(&of_child);
  sigaddset(&of_child, SIGCHLD);
  pthread_sigmask(SIG_UNBLOCK, &of_child, nullptr);
  for (uint64_t made = 1; !ends; ++made) {
    const pid_t child = fork();
    Expect(child >= 0, "fork");
    if (child == 0) _exit(7);
    int status = 0;
    pid_t done = 0;
    do {
      done = waitpid(-1, &status, 0);
    } while (done < 0 && errno == EINTR);
    Expect(done == child && WEXITSTATUS(status) == 7, "waitpid");
    Expect(waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD, "there is another child");
    Expect(children_told <= made, "SIGCHLD came for another child");
  }
  return nullptr;
}

// The signal is blocked, but for ppoll.
void* HandleSignals(void*) {
  sigset_t none;
  sigemptyset(&none);
  sigaddset(&none, SIGCHLD);
  while (!ends) {
    const timespec limit = {0, 2'000'000};
    Expect(ppoll(nullptr, 0, &limit, &none) == 0 || errno == EINTR, "ppoll");
    sigset_t mask;
    Expect(pthread_sigmask(SIG_SETMASK, nullptr, &mask) == 0 && sigismember(&mask, SIGUSR1) == 1,
           "the mask of signals has changed");
  }
  return nullptr;
}

void Busy() {
  struct sigaction action = {};
  action.sa_handler = [](int) { ++signals_handled; };
  sigaction(SIGUSR1, &action, nullptr);
  action.sa_handler = [](int) { ++children_told; };
  action.sa_flags = SA_RESTART;
  sigaction(SIGCHLD, &action, nullptr);
  signal(SIGTRAP, SIG_IGN);
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  sigaddset(&blocked, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  void* (*const work[])(void*) = {Sleep,      Compute,      CallKernel,
                                  ClosePipes, MakeChildren, HandleSignals};
  constexpr size_t kThreads = 6;
  pthread_t threads[kThreads];
  for (size_t i = 0; i < kThreads; ++i) {
    Expect(pthread_create(&threads[i], nullptr, work[i], nullptr) == 0, "pthread_create");
  }
  puts("ready");
  fflush(stdout);
  pollfd input = {0, POLLIN, 0};
  // One signal at a time: a second one would be the same.
  for (uint64_t sent = 0; poll(&input, 1, 0) <= 0;) {
    pthread_kill(threads[kThreads - 1], SIGUSR1);
    ++sent;
    const uint64_t begin = NowNanos();
    while (signals_handled < sent && NowNanos() - begin < 20'000'000'000) usleep(200);
    Expect(signals_handled == sent, "a signal was lost");
  }
  ends = true;
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  sigaction(SIGTRAP, nullptr, &action);
  Expect(action.sa_handler == SIG_IGN, "SIGTRAP is not ignored any more");
  puts("done");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && argv[1][0] == 'b') return Busy(), 0;
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
  KeepInPagesApart();
  void* volatile const on_stack = KeepOnStack();
  const bool is_filtered = argc > 1 && argv[1][0] == 'f';
  if (argc == 1 || is_filtered) OnOtherStack(Lose);
  usleep(100'000);  // the thread waits by now
  if (is_filtered) RefuseToFork();
  puts("ready");
  fflush(stdout);
  char line[16];
  if (fgets(line, sizeof(line), stdin) == nullptr) return 2;
  if (write(ends[1], line, 1) != 1) return 2;
  pthread_join(thread, nullptr);
  free(on_stack);
  puts("done");
  return 0;
}
