"""What MODULE.bazel takes from the system under any circumstances."""

load(":debian.bzl", "debian_libraries")
load(":mimalloc.bzl", "mimalloc_source")

def _system_impl(_):
    debian_libraries()
    mimalloc_source(name = "mimalloc")

system = module_extension(implementation = _system_impl)
