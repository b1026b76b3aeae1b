"""The malloc replacement over a backend of a test.

Only what depends on the backend is compiled once more.  With --//allocator:backend=... everything
would be, since the flag makes another configuration of the whole build.
"""

load("@rules_cc//cc:defs.bzl", "cc_library", "cc_test")

def malloc_over(name, backend):
    """//allocator:malloc over another backend.

    Args:
      name: of the library, which is for the attribute malloc of a test
      backend: label of the library that has allomon_backend.h
    """
    cc_library(
        name = name + "_allocator",
        testonly = True,
        srcs = ["//allocator:allocator_sources"],
        hdrs = ["//allocator:headers"],
        linkstatic = True,
        alwayslink = True,
        deps = [
            backend,
            "//allocator:host_stderr",
            "//allocator:writing_reserve",
            "//tracker:heap_client",
            "//tracker/base",
            "//tracker/formats:process_map",
        ],
    )
    cc_library(
        name = name + "_c_malloc",
        testonly = True,
        srcs = ["//allocator:c_malloc_sources"],
        copts = [
            "-fno-builtin",
            "-fno-exceptions",  # a thread may end itself in malloc: allocator/BUILD
        ],
        linkstatic = True,
        alwayslink = True,
        deps = [name + "_allocator"],
    )
    cc_library(
        name = name,
        testonly = True,
        srcs = ["//allocator:malloc_sources"],
        copts = ["-fno-builtin"],
        linkstatic = True,
        alwayslink = True,
        deps = [
            name + "_allocator",
            name + "_c_malloc",
        ],
    )

def malloc_family_test(name, backend):
    """The tests of malloc's functions over another backend."""
    malloc_over(
        name = name + "_malloc",
        backend = backend,
    )
    cc_test(
        name = name,
        srcs = ["//tests/integration:malloc_family_sources"],
        copts = [
            "-fno-builtin",
            "-Wno-alloc-size-larger-than",
            "-Wno-unused-result",
            "-Wno-use-after-free",
        ],
        malloc = name + "_malloc",
        tags = [
            "nosan",
            "opt_only",  # the invariants are those of //tests/integration:malloc_family_test
        ],
        deps = [
            name + "_malloc_allocator",
            "//tests/support:profile_bytes",
            "//tests/support:statistics",
            "//tracker",
            "//tracker/profile",
            "@googletest//:gtest_main",
        ],
    )
