// Records the blocks of a mimalloc that the program brings itself, from 3.5 on, by its profiling
// hooks: with our trials, stacks, labels and intervals, and without replacing malloc.  C11 and
// C++17; not part of allomon.h, since it includes mimalloc's own headers.
//
//   #include <allomon/mimalloc_hooks.h>
//
//   static allomon_mimalloc_hooks hooks = ALLOMON_MIMALLOC_HOOKS_DEFAULTS;
//   allomon_status status = allomon_mimalloc_attach(&hooks);
//   ... allomon_recording_start(), trackers, or ALLOMON_RECORD of a preloaded library
//
// The functions are found as those of custom_memory.h are: preload liballomon.so (also where the
// program's malloc is mimalloc), or link Allomon's C interface.  Attach before a recording starts.
//
// mimalloc calls a hook once in a number of requested bytes that the hook chooses.  Its own weight
// for the block is the number of bytes since the last call, which charges small blocks to large
// ones beside them.  Here the number is drawn from an exponential distribution with the mean
// `gap_bytes`, so a block of s bytes is hit with the probability 1 - exp(-s / gap_bytes), and
// stands for 1 / that many blocks of its size.  Each of these is reported as custom memory, which
// makes a trial for each of its words, as for any other block.  All numbers after that are ours.
//
// A number that is greater than the last one takes effect a call late: mimalloc takes the smaller
// of the two.  So after a hit come two calls with a gap of one byte, which see the next two blocks
// whatever they are, and report them as they are; then a drawn number is in force at once.  A block
// of 16 gaps or more is seen by any call: it is reported as it is, and the drawn number goes on
// after it as if it were not there.
//
// Cost in precision: two stages sample, and a recording knows the second one.  Its intervals of
// small blocks are too narrow by the factor sqrt(1 + gap_bytes / R), where R is 8 / rate bytes:
// 3 % at the defaults.  Blocks of mimalloc's fast path are counted when their page comes through
// its slow path, a delay that cannot be corrected here.
//
// Versions.  The hooks are experimental, and their header changed often.  This one is written
// against the header of the 3.5 line as published in 2026: fields sample_data_size,
// initial_sample_rate, on_alloc, on_free.  Older and preview versions are refused below.  Tests run
// it over a stand-in with the same rules; mimalloc 3.5 itself was not at hand to be linked.
#ifndef ALLOMON_ALLOMON_MIMALLOC_HOOKS_H_
#define ALLOMON_ALLOMON_MIMALLOC_HOOKS_H_

#ifndef MI_MALLOC_VERSION
#include <mimalloc.h>
#endif
#if MI_MALLOC_VERSION < 30500
#error "allomon/mimalloc_hooks.h needs mimalloc 3.5 or later, which has profiling hooks"
#endif
#ifndef MI_PROFILE_SAMPLE_DATA_MAX_SIZE
#include <mimalloc-profile.h>
#endif
#ifndef MI_PROFILE_SAMPLE_DATA_MAX_SIZE
#error "mimalloc-profile.h is that of a preview: take the header of a release from 3.5 on"
#endif

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "allomon/custom_memory.h"
#include "allomon/status.h"

// Parts of a hit block that our own trials hit as well: as many as one block can keep.
#define ALLOMON_MIMALLOC_HANDLES 8

// Give it static storage: mimalloc refers to it until the process ends.
typedef struct allomon_mimalloc_hooks {
  mi_profiler_t profiler;  // the first field, by which a hook finds the others
  size_t gap_bytes;        // mean of the drawn numbers; from 64 to 1 MiB
  uint64_t seed;           // of the drawn numbers
  // Counts since the attachment, of all threads.
  uint64_t calls;      // blocks that mimalloc has shown
  uint64_t crowded;    // parts that found no room in their block: they count as freed at once
  uint64_t surprises;  // calls that came too late: this mimalloc has other rules, do not trust it
  uint64_t draws;      // random numbers
} allomon_mimalloc_hooks;
#define ALLOMON_MIMALLOC_HOOKS_DEFAULTS \
  { {0}, 4096, 0x9e3779b97f4a7c15u, 0, 0, 0, 0 }

// ---- Inside.

static inline uint64_t allomon_mimalloc_add_(uint64_t* counter, uint64_t amount) {
  return __atomic_add_fetch(counter, amount, __ATOMIC_RELAXED);
}

// A uniform number in (0, 1): the finalizer of a counter, so that threads share no state but it.
static inline double allomon_mimalloc_uniform_(allomon_mimalloc_hooks* hooks) {
  uint64_t bits = hooks->seed + allomon_mimalloc_add_(&hooks->draws, 1) * 0x9e3779b97f4a7c15u;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  bits ^= bits >> 31;
  return ((double)(bits >> 12) + 0.5) * 0x1p-52;
}

// The number between one and a drawn one.  Even.  The chance of a longer gap is 1e-7.
static inline size_t allomon_mimalloc_limit_(const allomon_mimalloc_hooks* hooks) {
  return hooks->gap_bytes * 16;
}

// Odd and more than 1, by which the next call knows what it ends.
static inline size_t allomon_mimalloc_drawn_(size_t bytes) { return bytes < 3 ? 3 : bytes | 1; }

static inline size_t allomon_mimalloc_draw_(allomon_mimalloc_hooks* hooks) {
  const double gap = -log(allomon_mimalloc_uniform_(hooks)) * (double)hooks->gap_bytes;
  const size_t limit = allomon_mimalloc_limit_(hooks);
  return allomon_mimalloc_drawn_(gap < (double)limit ? (size_t)gap : limit - 1);
}

static inline void allomon_mimalloc_report_(allomon_mimalloc_hooks* hooks,
                                            allomon_custom_memory* handles, size_t size_bytes,
                                            double weight) {
  uint64_t blocks = (uint64_t)(weight + allomon_mimalloc_uniform_(hooks));
  int used = 0;
  for (; blocks != 0; --blocks) {
    const allomon_custom_memory part = allomon_custom_memory_report(size_bytes);
    if (part == 0) continue;
    if (used < ALLOMON_MIMALLOC_HANDLES) {
      handles[used++] = part;
    } else {
      allomon_mimalloc_add_(&hooks->crowded, 1);
      allomon_custom_memory_release(part);
    }
  }
}

static inline size_t allomon_mimalloc_on_alloc_(mi_profiler_t* profiler,
                                                mi_profiler_sample_data_t* data, void* block,
                                                size_t size_bytes, size_t rate_bytes,
                                                uint64_t passed_bytes, const mi_heap_t* heap) {
  allomon_mimalloc_hooks* const hooks = (allomon_mimalloc_hooks*)(void*)profiler;
  allomon_custom_memory* const handles = (allomon_custom_memory*)(void*)data->user_data;
  (void)block;
  (void)heap;
  for (int i = 0; i < ALLOMON_MIMALLOC_HANDLES; ++i) handles[i] = 0;
  allomon_mimalloc_add_(&hooks->calls, 1);
  const size_t limit = allomon_mimalloc_limit_(hooks);
  const int is_large = size_bytes >= limit;
  const int is_drawn = rate_bytes > 1 && (rate_bytes & 1) == 1;
  // The number of blocks of its size that this one stands for.
  double weight = 1;
  size_t next = rate_bytes <= 1 ? limit : 0;
  if (is_drawn && !is_large) {
    weight = 1 / -expm1(-(double)size_bytes / (double)hooks->gap_bytes);
    next = 1;
  } else if (is_drawn) {
    const uint64_t before = passed_bytes - size_bytes;
    next = allomon_mimalloc_drawn_(before < rate_bytes ? rate_bytes - (size_t)before : 0);
  } else if (next == 0) {
    if (passed_bytes < (uint64_t)rate_bytes - 1 + size_bytes) {
      allomon_mimalloc_add_(&hooks->surprises, 1);
    }
    next = allomon_mimalloc_draw_(hooks);
  }
  if (size_bytes != 0) allomon_mimalloc_report_(hooks, handles, size_bytes, weight);
  return next;
}

static inline void allomon_mimalloc_on_free_(mi_profiler_t* profiler,
                                             mi_profiler_sample_data_t* data, void* block,
                                             const mi_heap_t* heap) {
  allomon_custom_memory* const handles = (allomon_custom_memory*)(void*)data->user_data;
  (void)profiler;
  (void)block;
  (void)heap;
  for (int i = 0; i < ALLOMON_MIMALLOC_HANDLES && handles[i] != 0; ++i) {
    allomon_custom_memory_release(handles[i]);
    handles[i] = 0;
  }
}

// ---- For users.

// Has all heaps of the process's mimalloc report.  Fails with ALLOMON_INVALID_ARGUMENT (gap_bytes),
// ALLOMON_ABSENT, or ALLOMON_ALREADY_STARTED if mimalloc has another profiler.
static inline allomon_status allomon_mimalloc_attach(allomon_mimalloc_hooks* hooks) {
  if (hooks == NULL || hooks->gap_bytes < 64 || hooks->gap_bytes > 1048576) {
    return ALLOMON_INVALID_ARGUMENT;
  }
  const allomon_status status = allomon_custom_memory_serve();
  if (status != ALLOMON_OK) return status;
  hooks->profiler.sample_data_size = ALLOMON_MIMALLOC_HANDLES * sizeof(allomon_custom_memory);
  hooks->profiler.initial_sample_rate = 1;
  // Casts: the heap is const in some versions of the header, and not in others.
  hooks->profiler.on_alloc = (mi_profiler_on_alloc_fun*)allomon_mimalloc_on_alloc_;
  hooks->profiler.on_free = (mi_profiler_on_free_fun*)allomon_mimalloc_on_free_;
  if (!mi_profile(&hooks->profiler)) return ALLOMON_ALREADY_STARTED;
  mi_profiler_start(&hooks->profiler);
  return ALLOMON_OK;
}

// Ends it.  mimalloc reports no frees either, so blocks that are live now stay live in recordings:
// stop these first.
static inline void allomon_mimalloc_detach(allomon_mimalloc_hooks* hooks) {
  mi_profiler_stop(&hooks->profiler);
}

#endif  // ALLOMON_ALLOMON_MIMALLOC_HOOKS_H_
