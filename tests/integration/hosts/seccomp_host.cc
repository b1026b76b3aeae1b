// A host that gets a seccomp filter while it runs, for seccomp_test.py: from then on the kernel
// refuses one system call with an error.  It continues to allocate, and checks its blocks.
//
// The arguments are the number of the call, the error, and 1 for a host that had threads before.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr size_t kBlocks = 2000;

[[noreturn]] void Fail(const char* what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

void Refuse(int call, int error) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    Fail("no seccomp");
  }
}

size_t DrawBytes(unsigned* seed, int round) {
  if (round % 3000 == 0) return size_t{20} << 20;
  const unsigned kind = static_cast<unsigned>(rand_r(seed)) % 10;
  const unsigned limit = kind == 0 ? 300'000 : kind == 1 ? 3'000'000 : 2'000;
  return 1 + static_cast<unsigned>(rand_r(seed)) % limit;
}

char* Another(char* block, size_t bytes, unsigned how) {
  if (how < 3) return static_cast<char*>(realloc(block, bytes));
  free(block);
  if (how > 4) return static_cast<char*>(malloc(bytes));
  char* zeroed = static_cast<char*>(calloc(1, bytes));
  if (zeroed != nullptr && (zeroed[0] != 0 || zeroed[bytes - 1] != 0)) Fail("not zero");
  return zeroed;
}

void Allocate(unsigned seed) {
  std::vector<char*> blocks(kBlocks);
  for (int round = 0; round < 4'000; ++round) {
    const size_t at = static_cast<unsigned>(rand_r(&seed)) % kBlocks;
    if (blocks[at] != nullptr && blocks[at][0] != static_cast<char>(at)) Fail("overwritten");
    const size_t bytes = DrawBytes(&seed, round);
    blocks[at] = Another(blocks[at], bytes, static_cast<unsigned>(rand_r(&seed)) % 10);
    if (blocks[at] == nullptr) Fail("no memory");
    blocks[at][bytes - 1] = 1;
    blocks[at][0] = static_cast<char>(at);
  }
  for (char* block : blocks) free(block);
}

void AllocateInThreads() {
  std::vector<std::thread> threads;
  for (unsigned i = 1; i <= 2; ++i) threads.emplace_back(Allocate, i);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main(int, char** argv) {
  const int call = atoi(argv[1]);
  if (atoi(argv[3]) != 0) AllocateInThreads();
  Allocate(9);
  Refuse(call, atoi(argv[2]));
  Allocate(5);
  // A thread's stack needs mprotect().
  if (call != SYS_mprotect) AllocateInThreads();
  puts("fine");
}
