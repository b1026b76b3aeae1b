"""For WORKSPACE of Bazel 4, here and in other workspaces: all that Allomon and Bazel 4 load."""

load(":aarch64.bzl", "aarch64_toolchain")
load(":debian.bzl", "debian_libraries")
load(":httplib.bzl", "httplib_source")
load(":mimalloc.bzl", "mimalloc_source")

def _stand_in_impl(ctx):
    # Bazel 4 has repositories of these names, which are no packages of Allomon.
    names = ctx.path(Label("//tools/workspace:BUILD")).dirname.get_child("stand_ins")
    for entry in names.get_child(ctx.attr.of).readdir():
        ctx.symlink(entry, entry.basename)

_stand_in = repository_rule(
    implementation = _stand_in_impl,
    attrs = {"of": attr.string(mandatory = True)},
    local = True,
)

_STAND_INS = [
    # What Debian's package of it is too new for, and rules of a later time.
    "rules_cc",
    "rules_shell",
    # Every cc_test refers to it, even without coverage.
    "remote_coverage_tools",
    # The system's libraries.
    "abseil-cpp",
    "cpp-httplib",
    "google_benchmark",
    "googletest",
    "nlohmann_json",
]

# Loaded by the tools that Bazel 4 brings.
_DEBIAN_RULES = {
    "bazel_skylib": "/usr/share/bazel/tools/skylib",
    "platforms": "/usr/share/bazel/tools/platforms",
    "rules_java": "/usr/share/bazel/rules/java",
    "rules_proto": "/usr/share/bazel/rules/proto",
}

def allomon_dependencies():
    """Declares what the workspace has not declared before."""
    for name in _STAND_INS:
        if not native.existing_rule(name):
            _stand_in(name = name, of = name)
    for name, path in _DEBIAN_RULES.items():
        if not native.existing_rule(name):
            native.local_repository(name = name, path = path)
    aarch64_toolchain(name = "aarch64")
    debian_libraries()
    httplib_source(name = "httplib_source")
    mimalloc_source(name = "mimalloc")
