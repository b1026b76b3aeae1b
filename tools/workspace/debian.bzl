"""Repository rules over what Debian's packages put on the machine: nothing is downloaded."""

# Maps target names to the pkg-config modules whose libraries they link.
_MODULES = {
    "absl_status": ["absl_statusor", "absl_status", "absl_strings", "absl_cord"],
    "gtest": ["gtest", "gmock"],
    "gtest_main": ["gmock_main", "gmock", "gtest"],
    "benchmark": ["benchmark"],
    "libdw": ["libdw", "libelf"],
    # gzip, in commands only.
    "zlib": ["zlib"],
    # A language that programs embed, for tests/cpython.
    "python": ["python3-embed"],
}

# Libraries that we can do without: target name -> module, and what is defined where it is there.
_OPTIONAL = {
    # Debug sections that are compressed by it, where elfutils does not know it; in commands only.
    "zstd": ("libzstd", "ALLOMON_HAS_ZSTD"),
}

# Libraries without a module.
_OTHERS = {
    # Static: the demanglers of Rust and D.
    "libiberty": ["-liberty"],
    # Headers only.
    "nlohmann_json": [],
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
    "python3-embed": "libpython3-dev",
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
    # Abseil's list has forty libraries, of which a program uses a few.  The requested ones are
    # always linked: in tests, which are linked dynamically, only Allomon's own libraries refer to
    # them, and --as-needed would drop them.
    if len(flags) > 4:
        asked = ["-l" + module for module in modules]
        flags = asked + ["-Wl,--push-state,--as-needed"] + flags + ["-Wl,--pop-state"]
    return "cc_library(\n    name = %r,\n    linkopts = %r,\n)\n" % (name, flags)

def _flags(ctx, pkg_config, name):
    if name in _OTHERS:
        return _OTHERS[name]
    flags = _link_flags(ctx, pkg_config, _MODULES[name])
    if name.startswith("gtest") or name == "benchmark":
        flags = flags + ["-lpthread"]  # missing in older modules
    return flags

def _optional_target(ctx, pkg_config, name):
    module, define = _OPTIONAL[name]
    asked = ctx.execute([pkg_config, "--libs", module])
    if asked.return_code != 0:
        return "cc_library(name = %r)\n" % name
    flags = [flag for flag in asked.stdout.strip().split(" ") if flag]
    return "cc_library(\n    name = %r,\n    defines = [%r],\n    linkopts = %r,\n)\n" % (
        name,
        define,
        flags,
    )

def _debian_libraries_impl(ctx):
    pkg_config = ctx.which("pkg-config")
    if pkg_config == None:
        fail("no pkg-config: install pkgconf (./bazelw --setup-only does).")
    targets = [
        "load(\"@rules_cc//cc:defs.bzl\", \"cc_library\")\n",
        "package(default_visibility = [\"//visibility:public\"])\n",
    ]
    for name in ctx.attr.libraries:
        if name in _OPTIONAL:
            targets.append(_optional_target(ctx, pkg_config, name))
            continue
        flags = _flags(ctx, pkg_config, name)
        targets.append(_target(name, _MODULES.get(name, []), flags))
    ctx.file("BUILD", "\n".join(targets))

# Libraries of -dev packages: link options only, because their headers are in the compiler's search
# path.  pkg-config is asked again whenever Bazel's server starts, so that an update is noticed.
_debian_libraries = repository_rule(
    implementation = _debian_libraries_impl,
    attrs = {"libraries": attr.string_list(mandatory = True)},
    environ = ["PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR"],
    local = True,
    configure = True,
)

def debian_libraries():
    """Declares @debian and @debian_stand_ins, of which only tools/workspace/stand_ins takes.

    @debian_embedded is for our own tests: who builds Allomon need not have it.
    """
    _debian_libraries(name = "debian", libraries = ["libdw", "libiberty", "zlib", "zstd"])

    _debian_libraries(name = "debian_embedded", libraries = ["python"])

    # Libraries that Bazel's registry has, too.  Allomon's targets use the registry's names, so that
    # a program has each library once.
    _debian_libraries(
        name = "debian_stand_ins",
        libraries = ["absl_status", "benchmark", "gtest", "gtest_main", "nlohmann_json"],
    )
