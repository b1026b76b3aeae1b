/* Notes the pauses of OCaml by its runtime's hooks.  A minor collection and the slice of a major
 * one that follows it are one pause, as are all that a thread has less than 10 us apart. */
#define CAML_INTERNALS
#include <caml/minor_gc.h>
#include <caml/misc.h>
#include <caml/mlvalues.h>

#include "pauses.h"

enum { kApartNs = 10000 };

static uint64_t started_ns;
static __thread int depth;
static __thread uint64_t began_ns, cpu_began_ns, ended_ns;
static __thread long last = -1;

static void Begin(void) {
  if (depth++ > 0) return;
  const uint64_t now_ns = Now(CLOCK_MONOTONIC);
  if (last >= 0 && now_ns - ended_ns < kApartNs) return;
  last = -1;
  began_ns = now_ns;
  cpu_began_ns = Now(CLOCK_THREAD_CPUTIME_ID);
}

static void End(void) {
  if (depth == 0 || --depth > 0) return;
  ended_ns = Now(CLOCK_MONOTONIC);
  const uint64_t cpu_ns = Now(CLOCK_THREAD_CPUTIME_ID) - cpu_began_ns;
  if (last < 0) {
    last = NotePause(ended_ns - began_ns, cpu_ns);
  } else {
    wall_pauses_ns[last] = ended_ns - began_ns;
    cpu_pauses_ns[last] = cpu_ns;
  }
}

value note_pauses(value unit) {
  started_ns = Now(CLOCK_MONOTONIC);
  caml_minor_gc_begin_hook = Begin;
  caml_minor_gc_end_hook = End;
  caml_major_slice_begin_hook = Begin;
  caml_major_slice_end_hook = End;
  return unit;
}

value end_run(value unit) {
  EndRun(started_ns);
  return unit;
}

/* OCaml does not tell of the time to safepoint. */
value print_run(value checksum) {
  PrintRun(Long_val(checksum), 0, 0);
  return Val_unit;
}
