"""The source package of cpp-httplib, which tools/setup/fetch_httplib.sh unpacks."""

_BUILD = """
load("@rules_cc//cc:defs.bzl", "cc_library")

licenses(["notice"])  # MIT

cc_library(
    name = "httplib",
    hdrs = ["httplib.h"],
    includes = ["."],
    visibility = ["//visibility:public"],
)
"""

def _httplib_source_impl(ctx):
    tools = ctx.path(Label("//tools/workspace:BUILD")).dirname.dirname
    fetched = ctx.execute([tools.get_child("setup").get_child("fetch_httplib.sh")])
    if fetched.return_code != 0:
        fail(fetched.stderr)
    source = tools.dirname.get_child(".deps").get_child("cpp-httplib")
    ctx.symlink(source.get_child("httplib.h"), "httplib.h")
    ctx.file("BUILD", _BUILD)

# Runs when Bazel's server starts; takes 20 ms if the source is there.
httplib_source = repository_rule(
    implementation = _httplib_source_impl,
    local = True,
    configure = True,
)
