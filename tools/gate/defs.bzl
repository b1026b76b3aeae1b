"""allocation_gate_test: a test that fails when a benchmark allocates more than its baseline."""

load("@rules_shell//shell:sh_binary.bzl", "sh_binary")
load("@rules_shell//shell:sh_test.bzl", "sh_test")

def allocation_gate_test(name, benchmark, baseline, max_growth = None, size = "small", **kwargs):
    """Makes the test `name`, and `name`.update, which writes the baseline.

    Args:
      name: of the test.
      benchmark: a cc_binary of Google Benchmark with //tracker/gates:benchmark_main (or an
        allomon::BenchmarkMemoryManager in its own main) and malloc = "//allocator:malloc".
      baseline: a file of this package, which `bazel run :<name>.update` writes.
      max_growth: for example "5%"; by default no growth passes, of instructions 2 %.
      size: as of any test.
      **kwargs: as of any test: tags, visibility...
    """
    allomon = str(Label("//tools/allomon"))
    script = str(Label("//tools/gate:run_gate.sh"))
    programs = ["$(rootpath %s)" % allomon, "$(rootpath %s)" % benchmark]
    package = native.package_name()
    written = (package + "/" if package else "") + baseline
    options = ["--max-growth=" + max_growth] if max_growth else []
    sh_test(
        name = name,
        size = size,
        srcs = [script],
        args = programs + ["$(rootpath %s)" % baseline] + options,
        data = [allomon, benchmark, baseline],
        **kwargs
    )
    sh_binary(
        name = name + ".update",
        testonly = True,
        srcs = [script],
        args = programs + [written, "--update"],
        data = [allomon, benchmark],
        tags = kwargs.get("tags", []),
    )
