"""The source package of mimalloc, which tools/setup/fetch_mimalloc.sh unpacks."""

def _mimalloc_source_impl(ctx):
    tools = ctx.path(Label("//tools/workspace:BUILD")).dirname.dirname
    fetched = ctx.execute([tools.get_child("setup").get_child("fetch_mimalloc.sh")])
    if fetched.return_code != 0:
        fail(fetched.stderr)
    source = tools.dirname.get_child(".deps").get_child("mimalloc")
    for folder in ["include", "src"]:
        ctx.symlink(source.get_child(folder), folder)
    ctx.symlink(Label("//tools/workspace:mimalloc.BUILD"), "BUILD")

# Runs when Bazel's server starts; takes 20 ms if the source is there.
mimalloc_source = repository_rule(
    implementation = _mimalloc_source_impl,
    local = True,
    configure = True,
)
