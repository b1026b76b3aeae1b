// Leaks, frees and forks as its standard input says, for live_profile_test.py; one command a
// line, each answered when it is done.  Not built for Allomon: it is preloaded.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr size_t kBlockBytes = 1000;
void* g_blocks[1000];
int g_count = 0;

}  // namespace

// With external linkage, so that a profile has names for them.
extern "C" {

__attribute__((noinline)) void Leak(int blocks) {
  for (int i = 0; i < blocks; ++i) g_blocks[g_count++] = malloc(kBlockBytes);
}

__attribute__((noinline)) void Release(int blocks) {
  for (int i = 0; i < blocks; ++i) free(g_blocks[--g_count]);
}

__attribute__((noinline)) void AllocateAndFree(int blocks) {
  for (int i = 0; i < blocks; ++i) free(malloc(kBlockBytes));
}

__attribute__((noinline)) void LeakInChild(int blocks) { Leak(blocks); }

}  // extern "C"

namespace {

void ForkAndWait(int blocks) {
  const pid_t child = fork();
  if (child == 0) {
    LeakInChild(blocks);
    printf("%d\n", static_cast<int>(getpid()));
    fflush(stdout);
    for (;;) pause();
  }
  int status = 0;
  waitpid(child, &status, 0);
}

void Obey(const char* command, int count) {
  if (strcmp(command, "leak") == 0) Leak(count);
  if (strcmp(command, "release") == 0) Release(count);
  if (strcmp(command, "both") == 0) AllocateAndFree(count);
  if (strcmp(command, "fork") == 0) ForkAndWait(count);
}

}  // namespace

int main() {
  // Their buffers would be in the profile.
  setvbuf(stdout, nullptr, _IONBF, 0);
  setvbuf(stdin, nullptr, _IONBF, 0);
  char command[16];
  int count;
  while (scanf("%15s %d", command, &count) == 2) {
    Obey(command, count);
    printf("done\n");
  }
}
