// Work in which versions of mimalloc differ: large blocks, threads, resident memory.  The program
// knows no allocator; compare_versions.py preloads one.
//
//   memory_workloads WORK COUNT BYTES        prints the resident set in KiB, see kWorks
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

using Generator = std::mt19937;

void* Filled(size_t size_bytes) {
  void* block = malloc(size_bytes);
  if (block == nullptr) abort();
  return memset(block, 1, size_bytes);
}

void* Touched(size_t size_bytes) {
  auto* block = static_cast<volatile char*>(malloc(size_bytes));
  if (block == nullptr) abort();
  *block = 1;
  return const_cast<char*>(block);
}

// Calls no malloc, so that the measurement does not change the result.
long ResidentKib() {
  char text[128] = {};
  const int file = open("/proc/self/statm", O_RDONLY);
  if (file < 0 || read(file, text, sizeof(text) - 1) <= 0) abort();
  close(file);
  return atol(strchr(text, ' ')) * (sysconf(_SC_PAGESIZE) / 1024);
}

size_t Between(size_t first, size_t last, Generator* generator) {
  return std::uniform_int_distribution<size_t>(first, last)(*generator);
}

std::vector<void*> FilledBlocks(long count, size_t size_bytes) {
  std::vector<void*> blocks;
  for (long i = 0; i < count; ++i) blocks.push_back(Filled(size_bytes));
  return blocks;
}

// Blocks that all live.
long Live(long count, size_t size_bytes) {
  FilledBlocks(count, size_bytes);
  return ResidentKib();
}

// Blocks of random sizes; nine out of ten die in random order.
long Sparse(long count, size_t size_bytes) {
  Generator generator(1);
  std::vector<void*> blocks;
  for (long i = 0; i < count; ++i) blocks.push_back(Filled(Between(16, size_bytes, &generator)));
  std::shuffle(blocks.begin(), blocks.end(), generator);
  for (long i = 0; i < count * 9 / 10; ++i) free(blocks[i]);
  return ResidentKib();
}

// mimalloc gives memory back after a while, when it is called.
void LiveOnForTwoSeconds() {
  for (int i = 0; i < 200; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::vector<void*> blocks;
    for (size_t size_bytes = 16; size_bytes < 100'000; size_bytes += size_bytes / 8 + 1) {
      blocks.push_back(Touched(size_bytes));
    }
    for (void* block : blocks) free(block);
  }
}

// Blocks that all die, followed by two seconds in which little is allocated.
long Returned(long count, size_t size_bytes) {
  for (void* block : FilledBlocks(count, size_bytes)) free(block);
  LiveOnForTwoSeconds();
  return ResidentKib();
}

// Threads that live at the same time, each with 20 blocks.
long Threads(long count, size_t size_bytes) {
  std::vector<std::thread> threads;
  for (long i = 0; i < count; ++i) {
    threads.emplace_back([size_bytes] {
      FilledBlocks(20, size_bytes);
      std::this_thread::sleep_for(std::chrono::seconds(1));
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const long resident_kib = ResidentKib();
  for (std::thread& thread : threads) thread.join();
  return resident_kib;
}

// Threads one after the other, each with 100 blocks that the next one frees.
long ShortThreads(long count, size_t size_bytes) {
  std::vector<void*> blocks;
  for (long i = 0; i < count; ++i) {
    std::thread([&blocks, size_bytes] {
      for (void* block : blocks) free(block);
      blocks = FilledBlocks(100, size_bytes);
    }).join();
  }
  return ResidentKib();
}

// Blocks of which one byte is written; all are live at once, then all die.
long Large(long count, size_t size_bytes) {
  std::vector<void*> blocks;
  for (long i = 0; i < count; ++i) blocks.push_back(Touched(size_bytes));
  for (void* block : blocks) free(block);
  return ResidentKib();
}

// 64 blocks of up to the size, which are replaced one by one.
long Replaced(long count, size_t size_bytes) {
  Generator generator(1);
  std::vector<void*> blocks(64);
  for (long i = 0; i < count; ++i) {
    void*& block = blocks[Between(0, blocks.size() - 1, &generator)];
    free(block);
    block = Touched(Between(size_bytes / 64, size_bytes, &generator));
  }
  return ResidentKib();
}

// calloc and free; one byte of each block is read.
long Calloc(long count, size_t size_bytes) {
  for (long i = 0; i < count; ++i) {
    void* block = calloc(1, size_bytes);
    if (block == nullptr || *static_cast<volatile char*>(block) != 0) abort();
    free(block);
  }
  return ResidentKib();
}

// calloc and free; all bytes of each block are written.
long CallocFilled(long count, size_t size_bytes) {
  for (long i = 0; i < count; ++i) {
    void* block = calloc(1, size_bytes);
    if (block == nullptr) abort();
    free(memset(block, 1, size_bytes));
  }
  return ResidentKib();
}

// A buffer that grows by a quarter until it has the size, as a string or a vector does.
long Grown(long count, size_t size_bytes) {
  for (long i = 0; i < count; ++i) {
    void* block = nullptr;
    for (size_t now_bytes = 64; now_bytes < size_bytes; now_bytes += now_bytes / 4) {
      block = realloc(block, now_bytes);
      if (block == nullptr) abort();
      static_cast<volatile char*>(block)[now_bytes - 1] = 1;
    }
    free(block);
  }
  return ResidentKib();
}

struct Work {
  const char* name;
  long (*run)(long count, size_t size_bytes);
};

constexpr Work kWorks[] = {
    {"live", Live},
    {"sparse", Sparse},
    {"returned", Returned},
    {"threads", Threads},
    {"short_threads", ShortThreads},
    {"large", Large},
    {"replaced", Replaced},
    {"calloc", Calloc},
    {"calloc_filled", CallocFilled},
    {"grown", Grown},
};

}  // namespace

int main(int argc, char** argv) {
  for (const Work& work : kWorks) {
    if (argc != 4 || strcmp(argv[1], work.name) != 0) continue;
    return printf("%ld\n", work.run(atol(argv[2]), strtoul(argv[3], nullptr, 10))) < 0;
  }
  fputs("usage: memory_workloads WORK COUNT BYTES; see memory_workloads.cc\n", stderr);
  return 1;
}
