// A host with as many threads as its argument says; each allocates a little and waits. Prints the
// resident KiB of the process while all of them wait.
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

pthread_barrier_t all_wait;
pthread_barrier_t all_end;

long ResidentKiB() {
  char line[256];
  FILE* file = fopen("/proc/self/smaps_rollup", "r");
  long kib = 0;
  while (fgets(line, sizeof(line), file) != nullptr && sscanf(line, "Rss: %ld", &kib) != 1) {
  }
  fclose(file);
  return kib;
}

void* Wait(void*) {
  for (int i = 0; i < 20; ++i) {
    volatile char* block = static_cast<char*>(malloc(100));
    block[0] = 1;
    free(const_cast<char*>(block));
  }
  pthread_barrier_wait(&all_wait);
  pthread_barrier_wait(&all_end);
  return nullptr;
}

}  // namespace

int main(int, char** argv) {
  const auto count = static_cast<unsigned>(atoi(argv[1]));
  pthread_barrier_init(&all_wait, nullptr, count + 1);
  pthread_barrier_init(&all_end, nullptr, count + 1);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 128 * 1024);
  std::vector<pthread_t> threads(count);
  for (pthread_t& thread : threads) {
    if (pthread_create(&thread, &attributes, Wait, nullptr) != 0) return 1;
  }
  pthread_barrier_wait(&all_wait);
  printf("%ld\n", ResidentKiB());
  pthread_barrier_wait(&all_end);
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
}
