/* Makes two functions while it runs, and tells perf their names: in a map, or with the argument
 * "dump" in a jit-PID.dump in its folder.  They keep frame pointers; one calls the other.
 *
 * They lie in private memory; with the argument "shared", "memfd" or "file" in memory that has the
 * name of a file, or in a file that is no ELF file. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kCodeBytes = 4096 };

typedef void* (*Allocate)(size_t);
typedef void* (*Inner)(size_t size, Allocate allocate);
typedef void* (*Outer)(size_t size, Allocate allocate, Inner inner);

/* push rbp; mov rbp, rsp; call rsi; pop rbp; ret */
static const unsigned char kInner[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd6, 0x5d, 0xc3};
/* push rbp; mov rbp, rsp; sub rsp, 64; call rdx; leave; ret */
static const unsigned char kOuter[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83,
                                       0xec, 0x40, 0xff, 0xd2, 0xc9, 0xc3};

__attribute__((noinline)) void* CallGenerated(Outer outer, size_t size, Inner inner) {
  void* volatile block = outer(size, malloc, inner);
  return block;
}

static void WriteMap(const char* inner, const char* outer) {
  char path[64];
  snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
  FILE* const map = fopen(path, "w");
  if (map == NULL) exit(3);
  fprintf(map, "%lx %zx JS:~handler /srv/app.js:12:3\n", (unsigned long)(uintptr_t)inner,
          sizeof kInner);
  fprintf(map, "%lx %zx JS:*dispatch /srv/app.js:40:1\n", (unsigned long)(uintptr_t)outer,
          sizeof kOuter);
  fclose(map);
}

static void Put(FILE* file, uint64_t value, size_t bytes) { fwrite(&value, 1, bytes, file); }

static void PutRecord(FILE* file, uint32_t kind, size_t bytes) {
  Put(file, kind, 4);
  Put(file, 16 + bytes, 4);
  Put(file, 1, 8);
}

static void PutFunction(FILE* file, const char* code, size_t size, const char* name, int line,
                        uint64_t number) {
  static const char kFile[] = "/srv/app.js";
  PutRecord(file, 2, 16 + 16 + sizeof kFile); /* places of its instructions */
  Put(file, (uintptr_t)code, 8);
  Put(file, 1, 8);
  Put(file, (uintptr_t)code, 8);
  Put(file, (uint64_t)line, 4);
  Put(file, 0, 4);
  fwrite(kFile, 1, sizeof kFile, file);
  PutRecord(file, 0, 40 + strlen(name) + 1 + size);
  Put(file, (uint64_t)getpid(), 4);
  Put(file, (uint64_t)getpid(), 4);
  Put(file, (uintptr_t)code, 8);
  Put(file, (uintptr_t)code, 8);
  Put(file, size, 8);
  Put(file, number, 8);
  fwrite(name, 1, strlen(name) + 1, file);
  fwrite(code, 1, size, file);
}

static void WriteDump(const char* inner, const char* outer) {
  char path[64];
  snprintf(path, sizeof path, "jit-%d.dump", (int)getpid());
  FILE* const dump = fopen(path, "w");
  if (dump == NULL) exit(3);
  const uint32_t header[] = {0x4A695444, 1, 40, 62, 0, (uint32_t)getpid(), 1, 0, 0, 0};
  fwrite(header, 1, sizeof header, dump);
  PutFunction(dump, inner, sizeof kInner, "handler", 12, 1);
  PutFunction(dump, outer, sizeof kOuter, "dispatch", 40, 2);
  fclose(dump);
}

static char* MapCode(int fd, int flags) {
  if (fd >= 0 && ftruncate(fd, kCodeBytes) != 0) return MAP_FAILED;
  return mmap(NULL, kCodeBytes, PROT_READ | PROT_WRITE | PROT_EXEC, flags, fd, 0);
}

static char* MapCodeAsIn(const char* how) {
  if (strcmp(how, "shared") == 0) return MapCode(-1, MAP_SHARED | MAP_ANONYMOUS);
  if (strcmp(how, "memfd") == 0) return MapCode(memfd_create("doublemapper", 0), MAP_SHARED);
  if (strcmp(how, "file") == 0) return MapCode(open("code", O_CREAT | O_RDWR, 0666), MAP_SHARED);
  return MapCode(-1, MAP_PRIVATE | MAP_ANONYMOUS);
}

int main(int argc, char** argv) {
  char* const code = MapCodeAsIn(argc > 1 ? argv[1] : "");
  if (code == MAP_FAILED) return 2;
  char* const inner = memcpy(code + 64, kInner, sizeof kInner);
  char* const outer = memcpy(code + 256, kOuter, sizeof kOuter);
  if (argc > 1 && strcmp(argv[1], "dump") == 0) {
    WriteDump(inner, outer);
  } else {
    WriteMap(inner, outer);
  }
  for (int i = 0; i < 100; ++i) {
    CallGenerated((Outer)(uintptr_t)outer, 5000, (Inner)(uintptr_t)inner);
  }
  return 0;
}
