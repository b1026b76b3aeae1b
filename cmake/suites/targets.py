"""Which target of CMake has what a label of Bazel names.

The first row that matches a label counts.  A room of tracker/ or of tools/ that comes new needs no
row: it is part of the archive of its module.
"""

import re

_ARCHIVES = [
    (r"@googletest//:gtest_main", "GTest::gmock_main GTest::gmock GTest::gtest"),
    (r"@googletest//:gtest", "GTest::gmock GTest::gtest"),
    (r"@google_benchmark//:benchmark", "benchmark::benchmark"),
    (r"@abseil-cpp//.*", "absl::status absl::statusor absl::strings absl::cord"),
    (r"@nlohmann_json//:json", "nlohmann_json::nlohmann_json"),
    (r"@debian_embedded//:python", "Python3::Python"),
    (r"@debian//:zlib", "ZLIB::ZLIB"),
    (r"@debian//:libdw", "dw elf"),
    (r"@debian//:libiberty", "iberty"),
    (r"@mimalloc//:malloc", "allomon_plain_mimalloc"),
    (r"@bazel_tools//.*", ""),
    (r"//allocator:malloc", "Allomon::malloc"),
    (r"//allocator:allocator", "allomon_all_of_allocator"),
    (r"//allocator:backend_headers", "allomon_backend_headers allomon_backend"),
    (r"//allocator:(auto_profile|profile_from_environment)", "Allomon::auto_profile"),
    (r"//allocator:environment", "allomon_environment Allomon::counting"),
    (r"//allocator/old_glibc:find_object", "allomon_find_object"),
    (r"//allocator:.*", "allomon_core"),
    (r"//runtime:.*", "allomon_runtime"),
    (r"//tools/.*", "allomon_tools"),
    (r"//tracker/c:headers", "allomon_core"),
    (r"//tracker/c:c", "Allomon::c"),
    (r"//tracker/dwarf:.*", "allomon_dwarf"),
    (r"//tracker/gates:gtest", "allomon_gates_gtest"),
    (r"//tracker/gates:benchmark_main", "Allomon::benchmark_main"),
    (r"//tracker/gates:benchmark.*", "allomon_gates_benchmark"),
    (r"//tracker/gates:.*", "allomon_gates"),
    (r"//tracker/profile:profile", "Allomon::profile"),
    (r"//tracker/profile:entry_hooks", "Allomon::entry_hooks"),
    (r"//tracker/profile:entry_hook_linking", "Allomon::entry_hook_linking"),
    (r"//tracker/profile(/mon)?:mon_auto", "Allomon::mon_auto"),
    (r"//tracker/profile(:mon|/mon:.*)", "Allomon::mon"),
    (r"//tracker/profile(:counting|/hooks:hooks)", "Allomon::counting"),
    (r"//tracker:tracker", "Allomon::tracker"),
    (r"//tracker[:/].*", "allomon_core"),
]

# What is whole in an executable is there once: the first of each pair has the second.
_INSIDE = [
    ("Allomon::malloc", "allomon_all_of_allocator"),
    ("Allomon::profile", "Allomon::counting"),
    ("Allomon::entry_hooks", "Allomon::auto_profile"),
]

_COMMANDS = {
    "//allocator:liballomon.so": "allomon_preloaded",
    "//allocator:liballomon-host.so": "allomon_preloaded_host",
    "//tools/allomon:allomon": "command_allomon",
    "//tools/mlprof:mlprof": "command_mlprof",
    "//tools/prof:prof": "command_prof",
}


def command(label):
    """The target of a file that is built for users, or None."""
    return _COMMANDS.get(label)


def archives(labels):
    """The targets that a program links for what it depends on, in the order of the linker."""
    found = set()
    for label in labels:
        for pattern, names in _ARCHIVES:
            if re.fullmatch(pattern, label):
                found.update(names.split())
                break
        else:
            raise SystemExit(f"cmake/suites/targets.py: no target for {label}")
    for whole, part in _INSIDE:
        if whole in found:
            found.discard(part)
    order = " ".join(names for _, names in _ARCHIVES).split()
    users = [name for name in order if name in found and "absl" not in name]
    return list(dict.fromkeys(users + [name for name in order if name in found]))
