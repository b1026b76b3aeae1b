"""What MODULE.bazel takes from the system under any circumstances."""

load(":aarch64.bzl", "aarch64_toolchain")
load(":debian.bzl", "debian_libraries")
load(":httplib.bzl", "httplib_source")
load(":mimalloc.bzl", "mimalloc_source")

def _system_impl(_):
    aarch64_toolchain(name = "aarch64")
    debian_libraries()
    httplib_source(name = "httplib_source")
    mimalloc_source(name = "mimalloc")

system = module_extension(implementation = _system_impl)
