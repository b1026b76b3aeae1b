"""Programs that the compilers of Go, Rust and Java make of their files in inputs/sources.txt."""

from interpreters import source
from program import Program


def go(host, _options):
    """A program with cgo, whose run-time library ends it by a system call of its own."""
    path = host.file("words.go", source("words.go"))
    more = {"GOCACHE": host.path("cache"), "GOFLAGS": "-mod=mod", "GOPROXY": "off"}
    host.helper(["go", "build", "-o", host.path("words"), path], env=more)
    return {"words": host.outcome([host.path("words")])}


RUSTC = ("/usr/bin/rustc", "-g", "-O")


def rustc(host, _options):
    """The compiler and the linker that it calls."""
    path = host.file("words.rs", source("words.rs"))
    return {"rustc": host.outcome([*RUSTC, "-o", host.path("words"), path])}


def rust(host, _options):
    """A program of threads, two of which panic."""
    path = host.file("words.rs", source("words.rs"))
    host.helper([*RUSTC, "-o", host.path("words"), path])
    return {"words": host.outcome([host.path("words")], env={"RUST_BACKTRACE": "0"})}


def javac(host, _options):
    path = host.file("Words.java", source("Words.java"))
    return {"javac": host.outcome(["javac", "-d", host.directory, path])}


def java(host, _options):
    """A program of threads that ends itself, and one that ends by an exception."""
    path = host.file("Words.java", source("Words.java"))
    host.helper(["javac", "-d", host.directory, path])
    return {
        "words": host.outcome(["java", "-cp", host.directory, "Words"]),
        "no class": host.outcome(["java", "-cp", host.directory, "NoSuchClass"]),
    }


JDK = (("javac", "openjdk-17-jdk-headless"), ("java", "openjdk-17-jre-headless"))

PROGRAMS = (
    Program(
        "go",
        go,
        (("go", "golang-go"), ("gcc", "gcc")),
        may_say=r"allomon: this is a program of Go, which ends by a system call .*",
        profiled=False,
    ),
    Program("rustc", rustc, (("/usr/bin/rustc", "rustc"),)),
    Program("rust", rust, (("/usr/bin/rustc", "rustc"),)),
    Program("javac", javac, JDK),
    Program("java", java, JDK[::-1]),
)
