/* A host of a heap: threads, fork, all entry points, and jemalloc's own functions where it has
 * them. Prints the same whoever's malloc it is. */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((weak)) int mallctl(const char*, void*, size_t*, void*, size_t);
__attribute__((weak)) void* mallocx(size_t, int);
__attribute__((weak)) void dallocx(void*, int);
__attribute__((weak)) void sdallocx(void*, size_t, int);
__attribute__((weak)) void* rallocx(void*, size_t, int);
__attribute__((weak)) size_t sallocx(const void*, int);

enum { kBlocks = 400, kRounds = 50 };

static void* g_handed[kBlocks];
static uint64_t g_wrong;

static void Expect(int holds) {
  if (!holds) __atomic_add_fetch(&g_wrong, 1, __ATOMIC_RELAXED);
}

static char* Take(unsigned i, size_t size) {
  void* block = NULL;
  switch (i % 7) {
    case 0:
      block = calloc(1, size);
      for (size_t k = 0; k < size; ++k) Expect(((char*)block)[k] == 0);
      break;
    case 1:
      block = realloc(NULL, size);
      break;
    case 2:
      Expect(posix_memalign(&block, 64, size) == 0 && (uintptr_t)block % 64 == 0);
      break;
    case 3:
      block = aligned_alloc(4096, size);
      Expect((uintptr_t)block % 4096 == 0);
      break;
    case 4:
      block = memalign(32, size);
      Expect((uintptr_t)block % 32 == 0);
      break;
    default:
      block = malloc(size);
  }
  Expect(block != NULL && malloc_usable_size(block) >= size);
  memset(block, (int)i, size);
  return block;
}

static void Work(unsigned seed) {
  char* blocks[kBlocks];
  for (unsigned round = 0; round < kRounds; ++round) {
    for (unsigned i = 0; i < kBlocks; ++i) {
      const size_t size = 1 + (i * 37 + seed + round) % 3000;
      blocks[i] = Take(i, size);
      if (i % 5 == 0) {
        blocks[i] = realloc(blocks[i], size * 3);
        for (size_t k = 0; k < size; k += 97) Expect(blocks[i][k] == (char)i);
      }
    }
    for (unsigned i = 0; i < kBlocks; ++i) free(blocks[i]);
  }
}

static void* Thread(void* seed) {
  for (int i = 0; i < kBlocks; ++i) free(g_handed[i]);
  Work((unsigned)(uintptr_t)seed);
  for (int i = 0; i < kBlocks; ++i) g_handed[i] = malloc(100);
  return NULL;
}

/* What malloc gave is given to jemalloc's functions. */
static void UseOthers(void) {
  if (dallocx == NULL || rallocx == NULL || sallocx == NULL || sdallocx == NULL) return;
  for (int i = 0; i < 2000; ++i) {
    char* block = malloc(200);
    memset(block, 7, 200);
    Expect(sallocx(block, 0) >= 200);
    block = rallocx(block, 5000, i % 2 == 0 ? 0 : 64 /* MALLOCX_ZERO */ | 6 /* aligned to 64 */);
    Expect(block != NULL && block[199] == 7);
    if (i % 3 == 0)
      sdallocx(block, 5000, 0);
    else if (i % 3 == 1)
      dallocx(block, 0);
    else
      free(block);
  }
  /* And the other way round, as redis 8 does it.  What malloc's relatives are asked for is the same
   * without jemalloc. */
  for (int i = 0; i < 200; ++i) {
    char* block = NULL;
    if (mallocx != NULL) {
      block = mallocx(300, i % 2 == 0 ? 0 : 64 | 6);
      Expect(block != NULL && malloc_usable_size(block) >= 300 && malloc_usable_size(block) < 5000);
      if (i % 2 != 0) Expect((uintptr_t)block % 64 == 0 && block[0] == 0 && block[299] == 0);
      memset(block, 7, 300);
    }
    block = realloc(block, 500);
    Expect(block != NULL && (mallocx == NULL || block[299] == 7));
    free(block);
  }
}

/* jemalloc's own figure of what this program has, if it is jemalloc's. */
static void PrintKept(void) {
  enum { kKept = 100000 };
  static char* kept[kKept];
  for (int i = 0; i < kKept; ++i) kept[i] = memset(malloc(100), i, 100);
  if (mallctl != NULL) {
    uint64_t epoch = 1;
    size_t bytes = 0;
    size_t size = sizeof bytes;
    mallctl("epoch", NULL, NULL, &epoch, sizeof epoch);
    mallctl("stats.allocated", &bytes, &size, NULL, 0);
    printf("jemalloc has %s\n", bytes > 7000000 ? "most" : "little");
  }
  for (int i = 0; i < kKept; ++i) free(kept[i]);
}

int main(void) {
  Work(1);
  for (uintptr_t i = 0; i < 3; ++i) {
    pthread_t threads[1];
    pthread_create(&threads[0], NULL, Thread, (void*)i);
    Work((unsigned)i + 5);
    pthread_join(threads[0], NULL);
  }
  UseOthers();
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    Work(9);
    _exit(g_wrong != 0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  PrintKept();
  printf("wrong %lu, child %d, mallopt %d\n", g_wrong, status, mallopt(M_MMAP_THRESHOLD, 1 << 20));
  return 0;
}
