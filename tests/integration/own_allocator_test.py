#!/usr/bin/env python3
"""A host that exports a malloc of its own is left alone, or recorded over that malloc where the
library keeps it.  One that exports operators is not disturbed.  Their blocks are never given to us,
though they lack some of the names that we have."""

import ctypes
import json
import os
import platform
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(
    0, os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "tests/integration")
)

from support import Case, Mlmon, runfile  # noqa: E402

FOLDER = "//tests/integration/own_allocator"
LIBRARY = runfile("//allocator:liballomon.so")
KEEPING = runfile("//allocator:liballomon-host.so")
OWN_MALLOC = runfile(f"{FOLDER}:libown_malloc.so")
OVERSTATING_MALLOC = runfile(f"{FOLDER}:liboverstating_malloc.so")
ASIDE = "allomon: malloc is that of {}; liballomon.so stands aside: no profile, no guard"
SEEN = (
    "allomon: malloc is that of the program itself: what other modules call of it is seen, and "
    "what the executable calls by itself is not\n"
)
UNGUARDED = (
    "allomon: guard: the program defines malloc itself, which gives each block; the program runs "
    "unguarded\n"
)
# The buffer of the host's standard output, which the C library allocates.
BUFFER_BYTES = 4096
# The C++ runtime's operator new rounds the size of an aligned block up to a multiple of the
# alignment, which is 64 for each size of UseOperators().  Each of two threads has each of four
# forms 20 times.
ROUNDED_UP_BYTES = 2 * 20 * 4 * sum(-size % 64 for size in (1, 24, 100, 1000, 5000, 300_000))
# Its constructor waits for a thread that makes one call.
PLUGIN = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
static sem_t called;
static void* work(void* argument) {
  switch (atoi(getenv("CALL"))) {
    CALLS
  }
  sem_post(&called);
  return 0;
}
__attribute__((constructor)) static void wait_for_call(void) {
  pthread_t thread;
  sem_init(&called, 0, 0);
  pthread_create(&thread, 0, work, 0);
  sem_wait(&called);
  pthread_join(thread, 0);
}
"""
HOST_IN_C = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
static char arena[1 << 26] __attribute__((aligned(16)));
static atomic_size_t used;
void* malloc(size_t size) {
  size_t* header = (size_t*)(arena + atomic_fetch_add(&used, (size + 31) / 16 * 16));
  *header = size;
  return header + 2;
}
void free(void* block) {}
void* calloc(size_t count, size_t size) { return memset(malloc(count * size), 0, count * size); }
void* realloc(void* block, size_t size) {
  size_t old = block == 0 ? 0 : ((size_t*)block)[-2];
  return memcpy(malloc(size), block, old < size ? old : size);
}
void* memalign(size_t alignment, size_t size) {
  char* block = malloc(size + alignment + 16);
  return (void*)(((size_t)block + alignment - 1) & ~(alignment - 1));
}
int main(int count, char** arguments) {
  puts(dlopen(arguments[1], RTLD_NOW) ? "loaded" : dlerror());
  return 0;
}
"""
PLAIN_HOSTS = ["host_of_a_time", "host_that_wraps"]
MODES = [
    {"ALLOMON_PROFILE": "no"},
    {},
    {"ALLOMON_RATE": "1"},
    {"ALLOMON_PROFILE": "live,stack", "ALLOMON_RATE": "1", "ALLOMON_SUMMARY": "1"},
    {"ALLOMON_PROFILE": "time", "ALLOMON_HZ": "1000"},
    {"ALLOMON_PROFILE": "no", "ALLOMON_GUARD": "1/1", "ALLOMON_RATE": "1"},
]
PLAIN_MODES = [{"ALLOMON_PROFILE": "live"}, {"ALLOMON_RECORD": "x.rec"}, *MODES[1:-1]]


class Instruction(ctypes.Structure):
    _fields_ = [
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    ]


class Filter(ctypes.Structure):
    _fields_ = [("count", ctypes.c_uint16), ("instructions", ctypes.POINTER(Instruction))]


def install(*instructions):
    """Has the kernel judge each system call of this process, and of what it executes."""
    program = (Instruction * len(instructions))(*instructions)
    libc = ctypes.CDLL(None, use_errno=True)
    wanted = Filter(len(instructions), program)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(wanted), 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


def refuse_pwrite():
    """From now on pwrite64 fails with EPERM."""
    install(
        (0x20, 0, 0, 0),  # loads the call's number
        (0x15, 0, 1, {"x86_64": 18, "aarch64": 68}[platform.machine()]),
        (0x06, 0, 0, 0x50001),
        (0x06, 0, 0, 0x7FFF0000),
    )


def end_at_brk():
    """From now on a brk that moves the heap's end is the end of the process, as in Firefox."""
    install(
        (0x20, 0, 0, 0),
        (0x15, 0, 3, {"x86_64": 12, "aarch64": 214}[platform.machine()]),
        (0x20, 0, 0, 16),  # loads the first argument's lower half; 0 asks where the end is
        (0x15, 1, 0, 0),
        (0x06, 0, 0, 0x80000000),
        (0x06, 0, 0, 0x7FFF0000),
    )


class OwnAllocator(Case):
    def check_aside(self, name):
        plain = self.run_plain([runfile(f"{FOLDER}:{name}")])
        self.assertEqual((plain.returncode, plain.stderr), (0, ""), plain.stdout)
        for env in MODES:
            with self.subTest(env):
                done = self.run_preloaded([runfile(f"{FOLDER}:{name}")], env)
                self.assertEqual((done.returncode, done.stdout), (0, plain.stdout))
                said = "" if env == MODES[0] else ASIDE.format("the program itself") + "\n"
                self.assertEqual(done.stderr, said)
                self.assertEqual(self.files(), [])

    def test_malloc_and_operators_but_no_sized_delete(self):
        self.check_aside("host_with_malloc_and_operators")

    def test_malloc_alone(self):
        self.check_aside("host_with_malloc")

    def play(self, host, *arguments, **env):
        """Runs a host over its own malloc, and returns what it said and the profile's bytes."""
        argv = [runfile(f"{FOLDER}:{host}"), *arguments]
        plain = self.run_plain(argv)
        done = self.run_plain(argv, {"LD_PRELOAD": KEEPING, "ALLOMON_RATE": "1", **env})
        self.assertEqual((done.returncode, done.stdout), (0, plain.stdout), done.stderr)
        path = self.path("mlmon.out")
        return done.stderr, Mlmon(path).total if os.path.exists(path) else None

    def live(self, *arguments, **env):
        said, total = self.play("host_that_reuses", *arguments, ALLOMON_PROFILE="live", **env)
        self.assertEqual(said, SEEN)
        return total - BUFFER_BYTES

    def test_kept_malloc_runs_as_without_us_in_each_mode(self):
        for host in "host_with_malloc", "host_with_malloc_and_operators", "host_that_reuses":
            arguments = ["leak", "threads", "fork"] if host == "host_that_reuses" else []
            for env in MODES:
                with self.subTest(host, env=env):
                    argv = [runfile(f"{FOLDER}:{host}"), *arguments]
                    plain = self.run_plain(argv)
                    done = self.run_plain(argv, {"LD_PRELOAD": KEEPING, **env})
                    self.assertEqual((done.returncode, done.stdout), (0, plain.stdout), done.stderr)
                    said = "" if env == MODES[0] else SEEN
                    if "ALLOMON_GUARD" in env:
                        said += UNGUARDED
                    summary = "allomon: ([0-9,]+ bytes|only) .*\n"
                    self.assertEqual(re.sub(summary, "", done.stderr), said)

    def test_kept_malloc_has_the_same_profile_as_a_replaced_one(self):
        self.run_preloaded([runfile(f"{FOLDER}:host_with_neither")], {"ALLOMON_RATE": "1"})
        wanted = Mlmon(self.path("mlmon.out")).total
        said, total = self.play("host_with_malloc")
        self.assertEqual(said, SEEN)
        wanted += ROUNDED_UP_BYTES
        # What the loader allocates for a thread is called by no slot.
        self.assertAlmostEqual(total, wanted, delta=400)
        self.assertGreater(total, 200_000_000)
        # Operators of the executable call its malloc, which is one call and not two.
        self.assertAlmostEqual(self.play("host_with_malloc_and_operators")[1], wanted, delta=400)

    def test_kept_malloc_block_of_two_functions_is_one(self):
        wanted = self.play("host_with_malloc")[1]
        _, total = self.play("host_that_wraps_new")
        said = self.run_plain([runfile(f"{FOLDER}:host_that_wraps_new")]).stdout
        news = int(re.match(r"news (\d+), ", said)[1])
        self.assertGreater(news, 1000)
        # Every other one has the library allocate a string of 21 bytes besides.
        self.assertAlmostEqual(total, wanted + (news + 1) // 2 * 21, delta=400)

    def test_kept_malloc_leaks_are_found_in_modules_of_each_kind(self):
        # The library of the host is bound lazily, the one that is loaded later at once.
        late = "late:" + runfile(f"{FOLDER}:libuser.so")
        self.assertEqual(self.live(), 0)
        self.assertEqual(self.live("leak"), 100 * 1000)
        self.assertEqual(self.live("leak", LD_BIND_NOW="1"), 100 * 1000)
        self.assertEqual(self.live(late), 10 * 1000)
        self.assertEqual(self.live(late, "leak", late), 120 * 1000)
        # It finds the C library's malloc, as without us.
        self.assertEqual(self.live("deep:" + runfile(f"{FOLDER}:libuser.so")), 0)

    def test_kept_malloc_threads_and_forks(self):
        self.assertEqual(self.live("threads"), 0)
        self.assertEqual(self.live("fork", "leak"), 100 * 1000)
        os.unlink(self.path("mlmon.out"))
        self.play("host_that_reuses", "leak", "fork", ALLOMON_PROFILE="live", ALLOMON_OUT="%p.out")
        outs = [name for name in self.files() if name.endswith(".out")]
        totals = sorted(Mlmon(self.path(name)).total for name in outs)
        # What the parent leaked before is the child's, too.
        self.assertEqual(totals, [BUFFER_BYTES + 100 * 1000, 130 * 1000])

    def test_kept_malloc_frees_of_the_executable_end_when_the_address_is_taken_again(self):
        # 50 blocks of 21 bytes lie at one address.
        self.assertEqual(self.live("own frees"), 21)
        _, total = self.play("host_that_reuses", "own frees")
        self.assertEqual(total - BUFFER_BYTES, 50 * 21)
        # A recording knows that it has seen all but the last one too late.
        self.play("host_that_reuses", "own frees", ALLOMON_RECORD="x.rec")
        command = [runfile("//tools/allomon:allomon"), "report"]
        report = json.loads(self.run_plain([*command, "--json", self.path("x.rec")]).stdout)
        self.assertEqual(report["unseen_frees"], 49)
        text = self.run_plain([*command, self.path("x.rec")]).stdout
        self.assertIn("note: 49 blocks ended when the address was taken again", text)

    def check_plain_hosts(self, *arguments, live=None, env=None, hosts=PLAIN_HOSTS):
        for host in hosts:
            with self.subTest(host):
                argv = [runfile(f"{FOLDER}:{host}"), *arguments]
                plain = self.run_plain(argv)
                self.assertEqual((plain.returncode, plain.stderr), (0, ""), plain.stdout)
                for mode in PLAIN_MODES:
                    with self.subTest(mode):
                        mode = {"LD_PRELOAD": KEEPING, "ALLOMON_RATE": "1", **mode, **(env or {})}
                        done = self.run_plain(argv, mode)
                        self.assertEqual((done.returncode, done.stdout), (0, plain.stdout))
                        self.assertTrue(done.stderr.startswith(SEEN), done.stderr)
                        if live is not None and mode.get("ALLOMON_PROFILE") == "live":
                            self.assertEqual(Mlmon(self.path("mlmon.out")).total, live)

    def test_kept_malloc_that_works_between_its_constructor_and_its_destructor_only(self):
        self.check_plain_hosts("use", "leak", "many", live=100_000, hosts=PLAIN_HOSTS[:1])

    def test_kept_malloc_next_one_gives_no_block_of_the_library(self):
        # The C library's would move the end of the heap.
        argv = [runfile(f"{FOLDER}:host_of_a_time"), "use", "leak", "many"]
        plain = self.run_plain(argv, preexec_fn=end_at_brk)
        self.assertEqual((plain.returncode, plain.stderr), (0, ""), plain.stdout)
        for mode in PLAIN_MODES[:2]:
            env = {"LD_PRELOAD": KEEPING, "ALLOMON_RATE": "1", **mode}
            done = self.run_plain(argv, env, preexec_fn=end_at_brk)
            self.assertEqual((done.returncode, done.stdout), (0, plain.stdout), done.stderr)
            self.assertEqual(done.stderr.splitlines()[:1], SEEN.splitlines())

    def test_kept_malloc_that_wraps_the_next_one(self):
        self.check_plain_hosts("use", "leak", "many", live=100_000, hosts=PLAIN_HOSTS[1:])

    def test_kept_malloc_that_wraps_the_next_one_is_estimated(self):
        # Each call passes by the library twice, of which one is counted.
        for host in PLAIN_HOSTS:
            _, total = self.play(host, "many", ALLOMON_RATE="1e-2", ALLOMON_SEED="7")
            self.assertAlmostEqual(total, 200_000 * 64, delta=200_000 * 64 * 0.05)

    def test_kept_malloc_with_a_library_that_was_loaded_before(self):
        # Its operator new is in sight of nobody else, and so is ours that it has found.
        early = {"EARLY_LOAD": runfile(f"{FOLDER}:libuser.so")}
        argv = [runfile(f"{FOLDER}:host_that_wraps"), "early", "leak"]
        plain = self.run_plain(argv, early)
        self.assertEqual((plain.returncode, plain.stdout), (0, "done\n"))
        for mode in MODES:
            done = self.run_plain(argv, {**early, "LD_PRELOAD": KEEPING, **mode})
            self.assertEqual((done.returncode, done.stdout), (0, plain.stdout), done.stderr)
        live = {**early, "LD_PRELOAD": KEEPING, "ALLOMON_PROFILE": "live", "ALLOMON_RATE": "1"}
        self.run_plain(argv, live)
        self.assertGreaterEqual(Mlmon(self.path("mlmon.out")).total, 100_000)

    def test_kept_malloc_that_does_not_return_is_seen_further_on(self):
        self.check_plain_hosts("jump", "leak", live=100_000)

    def test_kept_malloc_block_lives_on_where_a_product_overflows(self):
        self.check_plain_hosts("overflow", live=1_000)

    def test_kept_malloc_sized_frees_are_seen(self):
        self.check_plain_hosts("sized", live=0)

    def test_kept_malloc_functions_have_their_names(self):
        self.check_plain_hosts("names")
        names = self.run_plain([runfile(f"{FOLDER}:host_that_wraps"), "names"]).stdout
        self.assertRegex(names, r"\Amalloc is malloc[+]0, there by the symbol, of [1-9]\d* bytes\n")
        self.assertRegex(names, "\nbehind the start of malloc is malloc[+]1, there ")
        self.assertIn("\nthe library's malloc is malloc+0\n", names)

    def test_kept_malloc_functions_that_nobody_has_stay_nowhere(self):
        self.check_plain_hosts("weak")

    def test_kept_malloc_is_left_as_it_is_where_nothing_is_asked_for(self):
        for host in PLAIN_HOSTS:
            argv = [runfile(f"{FOLDER}:{host}"), "owner"]
            off = {"LD_PRELOAD": KEEPING, "ALLOMON_PROFILE": "no"}
            for env in {}, off, {**off, "ALLOMON_GUARD": "no"}:
                done = self.run_plain(argv, env)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(done.stdout, f"malloc is in {host}\ndone\n")
            for asked in {"ALLOMON_RECORD": "x.rec"}, {"ALLOMON_PROFILE": "idle"}:
                done = self.run_plain(argv, {**off, **asked})
                self.assertEqual(done.stdout, "malloc is in liballomon-host.so\ndone\n")

    def test_kept_malloc_never_meets_a_block_of_ours_in_the_arenas_of_python(self):
        script = "x = [str(i) * 10 for i in range(100000)]; del x; print(3)"
        # From a rate of .05 on Python takes all objects from malloc; below, none.
        for rate in "1e-3", "1":
            said, total = self.play("host_with_python", "-c", script, ALLOMON_RATE=rate)
            self.assertEqual(said, SEEN)
        self.assertGreater(total, 100_000 * 50)

    def test_kept_malloc_protections_stay(self):
        argv = [runfile(f"{FOLDER}:host_that_reuses"), "leak", "protections"]
        plain = sorted(self.run_plain(argv).stdout.splitlines())
        kept = self.run_plain(argv, {"LD_PRELOAD": KEEPING, "ALLOMON_PROFILE": "live"})
        self.assertEqual(kept.stderr, SEEN)
        self.assertEqual(sorted(kept.stdout.splitlines()), plain)

    def check_left_alone(self, host, reason, *arguments, **options):
        env = {"LD_PRELOAD": KEEPING, "ALLOMON_RATE": "1", **options.pop("env", {})}
        argv = [runfile(f"{FOLDER}:{host}"), *arguments]
        done = self.run_plain(argv, env, **options)
        self.assertEqual((done.returncode, done.stdout), (0, self.run_plain(argv).stdout))
        self.assertEqual(done.stderr, reason)
        self.assertEqual(self.files(), [])

    def test_kept_malloc_that_cannot_be_seen_is_left_alone(self):
        aside = ASIDE.format("the program itself")
        self.check_left_alone("host_like_a_sanitizer", f"{aside}; a sanitizer is linked in\n")
        self.check_left_alone(
            "host_that_reuses",
            f"{aside}; there are threads already\n",
            "leak",
            env={"EARLY_THREAD": "1"},
        )
        self.check_left_alone(
            "host_that_reuses",
            f"{aside}; this library was loaded late\n",
            f"load:{KEEPING}",
            env={"LD_PRELOAD": ""},
        )
        self.check_left_alone(
            "host_that_reuses",
            f"{aside}; /proc/self/mem cannot be written\n",
            "leak",
            preexec_fn=refuse_pwrite,
        )
        self.check_left_alone(
            "host_like_ours",
            "allomon: the program itself comes first and samples; another copy of liballomon.so "
            "stands aside\n",
        )

    def test_operators_alone_are_called_in_each_form_and_the_program_is_profiled(self):
        host = [runfile(f"{FOLDER}:host_with_operators")]
        plain = self.run_plain(host)
        self.assertEqual((plain.returncode, plain.stderr), (0, ""), plain.stdout)
        self.assertNotIn("news 0,", plain.stdout)
        for env in MODES[:-1]:
            with self.subTest(env):
                done = self.run_preloaded(host, env)
                self.assertEqual((done.returncode, done.stdout), (0, plain.stdout), done.stderr)
        self.run_preloaded(host, {"ALLOMON_RATE": "1"})
        self.assertGreater(Mlmon(self.path("mlmon.out")).total, 10_000_000)

    def test_operators_alone_are_guarded(self):
        host = [runfile(f"{FOLDER}:host_with_operators")]
        done = self.run_preloaded(host, {"ALLOMON_GUARD": "1/1", "ALLOMON_RATE": "1e-3"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, self.run_plain(host).stdout)

    def test_library_that_is_preloaded_before_is_named(self):
        python = ["/usr/bin/python3", "-c", "print(len(str(list(range(1000)))))"]
        first = {"LD_PRELOAD": f"{OWN_MALLOC} {LIBRARY}", "PYTHONMALLOC": "malloc"}
        done = self.run_plain(python, first)
        self.assertEqual((done.returncode, done.stdout), (0, "4890\n"))
        remedy = " (name liballomon.so first in LD_PRELOAD)\n"
        self.assertEqual(done.stderr, ASIDE.format(OWN_MALLOC) + remedy)
        self.assertEqual(self.files(), [])
        # Where it is told to.
        behind = {**first, "LD_PRELOAD": f"{LIBRARY} {OWN_MALLOC}"}
        done = self.run_plain(python, behind)
        self.assertEqual((done.returncode, done.stdout), (0, "4890\n"))
        self.assertIn(f"takes the place of the malloc of {OWN_MALLOC};", done.stderr)
        self.assertGreater(Mlmon(self.path("mlmon.out")).total, 0)

    def compile(self, compiler, text, output, *options):
        done = subprocess.run(
            [compiler, "-O1", "-fno-builtin", "-w", "-x", "c++" if "++" in compiler else "c", "-",
             "-o", self.path(output), "-pthread", *options],
            input=text, text=True, capture_output=True, check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.path(output)

    def test_a_thread_that_a_constructor_of_a_plugin_waits_for_never_waits_for_the_loader(self):
        # dlopen() holds the loader's lock meanwhile.
        calls = [
            'pthread_setname_np(pthread_self(), "worker")', 'prctl(PR_SET_NAME, "worker")',
            "mlockall(0)", "munlockall()", "malloc_trim(0)",
            "mallinfo2()", "malloc_usable_size(malloc(9))", "mallopt(M_MMAP_THRESHOLD, 1 << 20)",
            "free(realloc(malloc(8), 100000))", "signal(SIGPIPE, SIG_IGN)",
        ]
        plugin = self.compile("gcc", PLUGIN.replace("CALLS", "".join(
            f"case {i}: {call}; break;\n" for i, call in enumerate(calls))),
            "plugin.so", "-shared", "-fPIC")
        load = "import ctypes, sys; ctypes.CDLL(sys.argv[1]); print('loaded')"
        for library in LIBRARY, KEEPING:
            for mode in {"ALLOMON_PROFILE": "no"}, {"ALLOMON_RATE": "1"}:
                for i, call in enumerate(calls):
                    with self.subTest(library, mode=mode, call=call):
                        env = {"LD_PRELOAD": library, "CALL": str(i), **mode}
                        done = self.run_plain(["/usr/bin/python3", "-c", load, plugin], env)
                        self.assertEqual((done.returncode, done.stdout), (0, "loaded\n"))

    def test_a_plugin_in_cxx_of_a_host_in_c_that_has_a_malloc_never_waits_for_the_loader(self):
        host = self.compile("gcc", HOST_IN_C, "host", "-rdynamic", "-ldl")
        operators = "case 0: delete[] new char[100]; break;\n"
        plugin = self.compile("g++", PLUGIN.replace("CALLS", operators), "plugin.so", "-shared",
                              "-fPIC")
        for library in LIBRARY, KEEPING:
            with self.subTest(library):
                env = {"LD_PRELOAD": library, "CALL": "0", "ALLOMON_PROFILE": "no"}
                done = self.run_plain([host, plugin], env)
                self.assertEqual((done.returncode, done.stdout), (0, "loaded\n"), done.stderr)

    def test_blocks_whose_size_is_not_known_keep_their_bytes(self):
        # One malloc says too much of a block's size, and for the other the C library answers.
        grow = (
            "piece = bytes(range(251))\n"
            "for k in range(40):\n"
            "  b = bytearray()\n"
            "  for i in range(200): b += piece\n"
            "  assert b == piece * 200\n"
            "print(True)"
        )
        for library in OVERSTATING_MALLOC, OWN_MALLOC:
            for mode in MODES + [{"ALLOMON_RECORD": "x.rec"}]:
                with self.subTest(library, mode=mode):
                    env = {"LD_PRELOAD": f"{KEEPING} {library}", "PYTHONMALLOC": "malloc", **mode}
                    # Of the blocks that grow about half are sampled.
                    env["ALLOMON_RATE"] = "3e-4"
                    done = self.run_plain(["/usr/bin/python3", "-c", grow], env)
                    self.assertEqual((done.returncode, done.stdout), (0, "True\n"), done.stderr)

    def test_each_free_takes_each_block_of_a_malloc_without_memalign(self):
        free = (
            "import ctypes\n"
            "c = ctypes.CDLL(None)\n"
            "for f in c.malloc, c.memalign, c.aligned_alloc: f.restype = ctypes.c_void_p\n"
            "for k in range(100):\n"
            "  c.free(ctypes.c_void_p(c.memalign(64, 100)))\n"
            "  c.free_sized(ctypes.c_void_p(c.malloc(100)), 100)\n"
            "  c.free_aligned_sized(ctypes.c_void_p(c.aligned_alloc(64, 128)), 64, 128)\n"
            "print(True)"
        )
        for mode in MODES + [{"ALLOMON_RECORD": "x.rec"}]:
            with self.subTest(mode=mode):
                env = {"LD_PRELOAD": f"{KEEPING} {OWN_MALLOC}", **mode}
                done = self.run_plain(["/usr/bin/python3", "-c", free], env)
                self.assertEqual((done.returncode, done.stdout), (0, "True\n"), done.stderr)

    def test_library_that_is_loaded_late_leaves_the_program_alone(self):
        load = f"import ctypes; ctypes.CDLL({LIBRARY!r}); print(len(str(list(range(1000)))))"
        done = self.run_plain(["/usr/bin/python3", "-c", load], {"PYTHONMALLOC": "malloc"})
        self.assertEqual((done.returncode, done.stdout), (0, "4890\n"), done.stderr)
        self.assertIn("stands aside", done.stderr)
        self.assertEqual(self.files(), [])

    def test_addresses_that_a_host_takes_are_not_its_own_functions(self):
        host = [runfile(f"{FOLDER}:addresses")]
        done = self.run_preloaded(host, {"ALLOMON_RATE": "1"})
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "done\n", ""))
        self.assertGreaterEqual(Mlmon(self.path("mlmon.out")).total, 1_000_000)


if __name__ == "__main__":
    sys.exit(unittest.main())
