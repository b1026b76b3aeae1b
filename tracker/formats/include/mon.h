/* monitor(3C) of System V: a histogram of the program counter, and counts of calls.
 *
 *   #include <mon.h>
 *   extern int etext();
 *   monitor((int (*)())4, etext, buf, bufsize, nfunc);     starts
 *   monitor((int (*)())0, (int (*)())0, 0, 0, 0);          stops, writes mon.out
 *
 * prof(1), here //tools:prof, shows what was written.  MON.md has the file byte by byte;
 * the manual page is that of DG/UX 4.30.
 *
 * Sampled: the processor time of every thread, HZ times a second of its own.  Counted: the
 * calls of functions compiled for profiling (-fpatchable-function-entry=9), exactly, by all
 * threads.  For C and C++; may be called by any thread, not in signal handlers, nor by two
 * threads at once.
 *
 * The variable PROFDIR of the environment is a directory: then the file is PID.PROGRAM there,
 * PROGRAM without the directories of argv[0].  If it is empty, all calls do nothing.  A setuid
 * program ignores it.
 *
 * On an error nothing is started, stopped or written; one line on standard error says why,
 * and monitor_error() returns it.
 */
#ifndef ALLOMON_MON_H_
#define ALLOMON_MON_H_

#ifdef __cplusplus
extern "C" {
#endif

/* A cell of the histogram.  It stays at its greatest value rather than wrap. */
typedef unsigned short WORD;

/* What the buffer begins with. */
struct hdr {
  char *lpc;                 /* the lowest address that is sampled */
  char *hpc;                 /* just above the highest */
  int nfns;                  /* call counts that there is room for */
  unsigned int magic;        /* MON_MAGIC */
  unsigned int ncells;       /* WORDs behind the call counts */
  unsigned int cell_bytes;   /* bytes of text that share a cell; the last one takes the rest */
  unsigned int hz;           /* ticks in a second */
  unsigned int flags;        /* MON_... below */
  unsigned long bias;        /* what was added to the addresses in the file of the code */
  unsigned long ticks;       /* between lpc and hpc */
  unsigned long other_ticks; /* elsewhere; 0 in all ranges but the first */
  unsigned char id_bytes;    /* of the build id below; 0: the file has none */
  unsigned char id[31];      /* the build id of the file of the code */
};

/* A call count; fnpc is 0 in those that are not used. */
struct cnt {
  char *fnpc; /* where the function starts */
  long mcnt;  /* how often it was called */
};

#define MON_OUT "mon.out"
#define MON_MAGIC 0x316e6f6du /* "mon1" in the file */
#define MON_SATURATED 1u      /* a cell reached its greatest value: ticks are missing in it */
#define MON_COUNTS_LOST 2u    /* more functions were called than nfns: the rarest are missing */

/* Starts when lowpc is not 0: samples [lowpc, highpc) into the buffer of bufsize WORDs, which
 * is the caller's and may not be touched until the stop.  Addresses where the program has no
 * code are left out of the range first, so that 4 and etext mean the whole program wherever
 * it was loaded; and of a buffer that is larger than 4 bytes of text per WORD need, only the
 * beginning is used.  Stops when all arguments are 0: writes MON_OUT into the current directory,
 * or what PROFDIR says. */
void monitor(int (*lowpc)(void), int (*highpc)(void), WORD *buffer, int bufsize, int nfunc);

/* Beyond the page: adds a range to a monitor that runs, for instance of a shared library.  At
 * most 16 in all, which may not overlap. */
void monitor_range(int (*lowpc)(void), int (*highpc)(void), WORD *buffer, int bufsize, int nfunc);

/* Ticks in a second of processor time, from the next start on: 1 to 10000; 100 by default. */
void monitor_hz(int hz);

/* Why the last call of the functions above failed: one line; null if it did not. */
const char *monitor_error(void);

#ifdef __cplusplus
}
#endif

#endif /* ALLOMON_MON_H_ */
