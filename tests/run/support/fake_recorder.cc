// A preloaded library that joins a memory file as liballomon.so does, and records the amounts given
// in the environment: FAKE_<program>=allocated,live,peak,samples, in one row without a stack.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tracker/formats/recording_layout.h"

namespace {

namespace recording = allomon::recording;

struct Amounts {
  unsigned long allocated = 0, live = 0, peak = 0, samples = 0;
};

Amounts ReadAmounts() {
  Amounts amounts;
  const char* const text = getenv((std::string("FAKE_") + program_invocation_short_name).c_str());
  if (text != nullptr) {
    sscanf(text, "%lu,%lu,%lu,%lu", &amounts.allocated, &amounts.live, &amounts.peak,
           &amounts.samples);
  }
  return amounts;
}

char* Map() {
  const char* const name = getenv("ALLOMON_RECORD");
  const int fd = name == nullptr ? -1 : open(name, O_RDWR | O_CLOEXEC);
  struct stat status;
  if (fd < 0 || fstat(fd, &status) != 0) return nullptr;
  void* const begin =
      mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return begin == MAP_FAILED ? nullptr : static_cast<char*>(begin);
}

recording::SegmentHeader* Take(char* file, recording::SegmentKind kind, uint32_t process) {
  auto* const header = reinterpret_cast<recording::FileHeader*>(file);
  const uint64_t number = __atomic_fetch_add(&header->segments_used, 1, __ATOMIC_ACQ_REL);
  auto* const segment =
      reinterpret_cast<recording::SegmentHeader*>(file + number * recording::kSegmentBytes);
  segment->kind = kind;
  segment->process = process == 0 ? static_cast<uint32_t>(number) : process;
  segment->magic = recording::kSegmentMagic;
  return segment;
}

template <typename Record>
Record* TakeFor(char* file, recording::SegmentKind kind, uint32_t process) {
  return reinterpret_cast<Record*>(Take(file, kind, process) + 1);
}

// All blocks live; the amounts give the number of their bytes that do.
void AddRow(char* file, const Amounts& amounts, recording::ProcessRecord* process,
            uint32_t number) {
  if (amounts.samples == 0) return;
  auto* const row = TakeFor<recording::Row>(file, recording::SegmentKind::kRows, number);
  row->size_class =
      static_cast<uint16_t>(recording::SizeClassOf(amounts.allocated / amounts.samples) + 1);
  row->source = 3;
  row->flags = recording::kOfHalf[0] | recording::kOfHalf[1];
  row->blocks = amounts.samples;
  row->bytes = amounts.allocated;
  row->freed_bytes = amounts.allocated - amounts.live;
  *TakeFor<recording::SavedCount>(file, recording::SegmentKind::kSaved, number) = {amounts.samples,
                                                                                   amounts.peak};
  for (uint32_t half = 0; half < recording::kHalves; ++half) {
    row->saved[half] = 1;
    row->peak_epoch[half] = process->peak_epoch[half] = 1;
  }
  process->records.rows = 1;
  process->records.saved = 1;
}

// Adds a thread without a word count, so the words are unknown.
void AddThread(char* file, const Amounts& amounts, recording::ProcessRecord* process,
               uint32_t number) {
  auto* const thread = TakeFor<recording::Thread>(file, recording::SegmentKind::kThreads, number);
  thread->tid = process->pid;
  thread->samples = amounts.samples;
  thread->blocks.whole = amounts.samples;
  thread->bytes.whole = amounts.allocated;
  thread->freed_bytes.whole = amounts.allocated - amounts.live;
  process->records.threads = 1;
}

__attribute__((constructor)) void Join() {
  const char* const only = getenv("ALLOMON_RECORD_ONLY");
  if (only != nullptr && atoi(only) != getpid()) return;
  char* const file = Map();
  if (file == nullptr) return;
  recording::SegmentHeader* const segment = Take(file, recording::SegmentKind::kProcess, 0);
  recording::SegmentHeader* const text =
      Take(file, recording::SegmentKind::kText, segment->process);
  char* const path = reinterpret_cast<char*>(text + 1);
  const ssize_t length = readlink("/proc/self/exe", path, 4096);
  const Amounts amounts = ReadAmounts();
  auto* const process = reinterpret_cast<recording::ProcessRecord*>(segment + 1);
  process->pid = static_cast<uint32_t>(getpid());
  process->parent_pid = static_cast<uint32_t>(getppid());
  process->rate = 1;
  process->program = {0, static_cast<uint32_t>(length)};
  process->records.text_bytes = static_cast<uint32_t>(length);
  process->peak_bytes = amounts.peak;
  AddRow(file, amounts, process, segment->process);
  AddThread(file, amounts, process, segment->process);
  __atomic_store_n(&process->begun, 1, __ATOMIC_RELEASE);
}

}  // namespace
