"""Repository rules over what Debian's packages put on the machine: nothing is downloaded."""

# Target name -> the pkg-config modules whose libraries it links.
_MODULES = {
    "absl_status": ["absl_statusor", "absl_status", "absl_strings", "absl_cord"],
    "gtest": ["gtest", "gmock"],
    "gtest_main": ["gmock_main", "gmock", "gtest"],
    "benchmark": ["benchmark"],
    "libdw": ["libdw", "libelf"],
    # gzip, in commands only.
    "zlib": ["zlib"],
    # Headers only.
    "nlohmann_json": [],
}

# Libraries without a module.  libiberty is static: the demanglers of Rust and D.
_OTHERS = {
    "libiberty": ["-liberty"],
}

_PACKAGES = {
    "absl_statusor": "libabsl-dev",
    "absl_status": "libabsl-dev",
    "absl_strings": "libabsl-dev",
    "absl_cord": "libabsl-dev",
    "gtest": "libgtest-dev",
    "gmock": "libgmock-dev",
    "gmock_main": "libgmock-dev",
    "benchmark": "libbenchmark-dev",
    "libdw": "libdw-dev",
    "libelf": "libdw-dev",
    "zlib": "zlib1g-dev",
}

def _link_flags(ctx, pkg_config, modules):
    asked = ctx.execute([pkg_config, "--libs"] + modules)
    if asked.return_code != 0:
        packages = {_PACKAGES[module]: None for module in modules}
        fail("pkg-config does not know %s: install %s (./bazelw --setup-only does).\n%s" % (
            " ".join(modules),
            " ".join(packages.keys()),
            asked.stderr,
        ))
    return [flag for flag in asked.stdout.strip().split(" ") if flag]

def _target(name, modules, flags):
    # Abseil's list is of forty libraries, of which a program uses a few.  Those that were asked for
    # stay: in tests, which are linked dynamically, only our own libraries refer to them, and that
    # does not make a library needed.
    if len(flags) > 4:
        asked = ["-l" + module for module in modules]
        flags = asked + ["-Wl,--push-state,--as-needed"] + flags + ["-Wl,--pop-state"]
    return "cc_library(\n    name = %r,\n    linkopts = %r,\n)\n" % (name, flags)

def _debian_libraries_impl(ctx):
    pkg_config = ctx.which("pkg-config")
    if pkg_config == None:
        fail("no pkg-config: install pkgconf (./bazelw --setup-only does).")
    targets = ["package(default_visibility = [\"//visibility:public\"])\n"]
    for name, modules in _MODULES.items():
        flags = _link_flags(ctx, pkg_config, modules) if modules else []
        if name.startswith("gtest") or name == "benchmark":
            flags = flags + ["-lpthread"]  # of which older modules say nothing
        targets.append(_target(name, modules, flags))
    for name, flags in _OTHERS.items():
        targets.append(_target(name, [], flags))
    ctx.file("BUILD", "\n".join(targets))

# Libraries of -dev packages, whose headers are in the compiler's own search path: nothing but link
# options.  Asked again whenever Bazel's server starts, so that an update of Debian is seen.
debian_libraries = repository_rule(
    implementation = _debian_libraries_impl,
    environ = ["PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR"],
    local = True,
    configure = True,
)
