"""The configurations that compare.py measures: allocators and profilers to preload, and the Debian
packages that they come from.
"""

import glob
import os
import subprocess
import sys
from dataclasses import dataclass, field

ALLOMON = "allomon"  # stands for the path of liballomon.so
HEAPTRACK = "/usr/lib/heaptrack/libheaptrack_preload.so"


def debian(name):
    """The pattern of a shared library's path in Debian's multiarch folders."""
    return f"/usr/lib/*-linux-gnu/{name}"


# package -> a file that it installs
PACKAGES = {
    "libmimalloc2.0": debian("libmimalloc.so.2"),
    "libgoogle-perftools4": debian("libtcmalloc.so.4"),
    "libjemalloc2": debian("libjemalloc.so.2"),
    "heaptrack": HEAPTRACK,
    "sqlite3": "/usr/bin/sqlite3",
}
MANAGED_PACKAGES = {
    "ocaml-nox": "/usr/bin/ocamlopt",
    "libgc-dev": debian("libgc.so"),
}


@dataclass(frozen=True)
class Configuration:
    """A library to preload and its settings; a workload does operations/divisor operations."""

    library: str = ""
    settings: dict = field(default_factory=dict)
    divisor: int = 1

    def environment(self, allomon):
        """The variables to add to the environment.  None if the library is not installed."""
        if not self.library:
            return dict(self.settings)
        found = [allomon] if self.library == ALLOMON else sorted(glob.glob(self.library))
        return {"LD_PRELOAD": found[0], **self.settings} if found else None


def allomon_at(rate, divisor=1):
    return Configuration(
        ALLOMON, {"ALLOMON_RATE": rate, "ALLOMON_SEED": "1", "ALLOMON_OUT": "mlmon.out"}, divisor
    )


TCMALLOC, JEMALLOC = PACKAGES["libgoogle-perftools4"], PACKAGES["libjemalloc2"]
ONE_PER_8_KIB = str(8 / 8192)  # samples per word

# Slow configurations do fewer operations.  The time of start-up is subtracted before dividing.
RECORDED = {
    "ALLOMON_RATE": "1e-4", "ALLOMON_SEED": "1", "ALLOMON_RECORD": "/dev/shm/compare.%p.rec"
}
CONFIGURATIONS = {
    "mimalloc": Configuration(PACKAGES["libmimalloc2.0"]),
    "allomon off": allomon_at("0"),
    "allomon 1e-4": allomon_at("1e-4"),
    "allomon recorded": Configuration(ALLOMON, RECORDED),
    "allomon in place": Configuration(ALLOMON, {**RECORDED, "ALLOMON_IN_PLACE": "1/16"}),
    "allomon 8 KiB": allomon_at(ONE_PER_8_KIB),
    "allomon all": allomon_at("1", divisor=4),
    "tcmalloc": Configuration(TCMALLOC),
    "tcmalloc 8 KiB": Configuration(TCMALLOC, {"TCMALLOC_SAMPLE_PARAMETER": "8192"}, 8),
    "tcmalloc HEAPPROFILE": Configuration(TCMALLOC, {"HEAPPROFILE": "tcmalloc"}, 1000),
    # What their users leave it at: tcmalloc's default today; gperftools has none.
    "tcmalloc 2 MiB": Configuration(TCMALLOC, {"TCMALLOC_SAMPLE_PARAMETER": "2097152"}),
    "jemalloc": Configuration(JEMALLOC),
    "jemalloc 8 KiB": Configuration(JEMALLOC, {"MALLOC_CONF": "prof:true,lg_prof_sample:13"}, 4),
    "jemalloc 512 KiB": Configuration(JEMALLOC, {"MALLOC_CONF": "prof:true,lg_prof_sample:19"}),
    "glibc": Configuration(divisor=4),
    "heaptrack": Configuration(HEAPTRACK, {"DUMP_HEAPTRACK_OUTPUT": "heaptrack.raw"}, 20),
}

JEMALLOC_PROFILED = [name for name in CONFIGURATIONS if name.startswith("jemalloc ")]

# The ratios: unprofiled configurations to mimalloc, profiled ones to themselves unprofiled.
COLUMNS = [
    ("allomon off", "mimalloc"),
    ("allomon 1e-4", "mimalloc"),
    ("allomon recorded", "mimalloc"),
    ("allomon in place", "mimalloc"),
    ("tcmalloc", "mimalloc"),
    ("jemalloc", "mimalloc"),
    ("glibc", "mimalloc"),
    ("allomon 1e-4", "allomon off"),
    ("allomon recorded", "allomon 1e-4"),
    ("allomon in place", "allomon recorded"),
    ("tcmalloc 2 MiB", "tcmalloc"),
    ("jemalloc 512 KiB", "jemalloc"),
    ("allomon 8 KiB", "allomon off"),
    ("tcmalloc 8 KiB", "tcmalloc"),
    ("jemalloc 8 KiB", "jemalloc"),
    ("allomon all", "allomon off"),
    ("heaptrack", "glibc"),
    ("tcmalloc HEAPPROFILE", "tcmalloc"),
]
MANAGED_COLUMNS = [("allomon runtime", "OCaml"), ("allomon runtime", "Boehm")]


def say(text):
    print(f"compare: {text}", file=sys.stderr)


def missing(packages):
    return [name for name, file in packages.items() if not glob.glob(file)]


def needed(columns, files):
    """The packages of malloc's rows: those of the columns' libraries, and those that have a file
    of `files`, the programs of the rows.
    """
    used = {CONFIGURATIONS[name].library for column in columns for name in column} | set(files)
    return {name: file for name, file in PACKAGES.items() if file in used}


def install(packages):
    """Installs what is missing, as root; otherwise says what is missing, and the run goes on."""
    wanted = missing(packages)
    if wanted and os.geteuid() == 0:
        say(f"installing {' '.join(wanted)}")
        apt_get = ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=600"]
        quiet = {
            "stdout": subprocess.DEVNULL,
            "stderr": subprocess.DEVNULL,
            "env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            "check": False,
        }
        subprocess.run([*apt_get, "update"], **quiet)
        for name in wanted:  # one by one: a package that cannot be had does not stop the others
            subprocess.run([*apt_get, "install", "-y", "--no-install-recommends", name], **quiet)
        wanted = missing(packages)
    if wanted:
        say(f"without {', '.join(wanted)}: not installed; apt-get install {' '.join(wanted)}")


def selected(only):
    """The columns of malloc's rows whose head, "over / under", matches `only` (None: all)."""
    return [column for column in COLUMNS if not only or only.search(" / ".join(column))]


def available(allomon, columns):
    """name -> environment of each configuration of the columns that this machine can run."""
    wanted = {name for column in columns for name in column}
    found = {name: it.environment(allomon) for name, it in CONFIGURATIONS.items() if name in wanted}
    found = {name: environment for name, environment in found.items() if environment is not None}
    profiled = [name for name in found if name in JEMALLOC_PROFILED]
    if profiled and not profiles(found[profiled[0]]):
        say(f"without {', '.join(profiled)}: this jemalloc was built without --enable-prof")
        found = {name: environment for name, environment in found.items() if name not in profiled}
    return found


def profiles(jemalloc_environment):
    """Whether jemalloc accepts the setting; one that was not built for it complains."""
    done = subprocess.run(
        ["/bin/true"], env=jemalloc_environment, stderr=subprocess.PIPE, check=False
    )
    return not done.stderr
