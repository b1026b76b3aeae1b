"""The build flag that chooses the backend allocator, as a name or a label."""

# Labels made here mean this repository, also when it is an external one; strings in a
# transition would mean the main repository.
_NAMED = {
    "mimalloc": str(Label("//allocator:mimalloc_backend")),
    "system": str(Label("//allocator:system_backend")),
    "host": str(Label("//allocator:host_backend")),
}
_FLAG = str(Label("//allocator:backend"))
_FLAG_LABEL = str(Label("//allocator:backend_label"))

BackendName = provider(fields = ["value"])

def _backend_flag_impl(ctx):
    return [BackendName(value = ctx.build_setting_value)]

# A string, not a label_flag: "mimalloc" would be read as the label //mimalloc.
backend_flag = rule(
    implementation = _backend_flag_impl,
    build_setting = config.string(flag = True),
)

def _choose_impl(settings, attr):
    value = settings[_FLAG]
    if value in _NAMED:
        label = _NAMED[value]
    elif value.startswith("//") or value.startswith("@"):
        label = value
    else:
        fail("--//allocator:backend=%s: expected mimalloc, system, host or a label " % value +
             "such as //my/own:backend")
    return {_FLAG_LABEL: label}

_choose = transition(
    implementation = _choose_impl,
    inputs = [_FLAG],
    outputs = [_FLAG_LABEL],
)

def _chosen_backend_impl(ctx):
    # An attribute with an outgoing transition is a list, also with one configuration.
    return [ctx.attr.label_of_backend[0][CcInfo]]

# Stands for the chosen backend: targets that depend on it see the headers and libraries of the
# target that --//allocator:backend names.
chosen_backend = rule(
    implementation = _chosen_backend_impl,
    attrs = {
        "label_of_backend": attr.label(
            cfg = _choose,
            providers = [CcInfo],
        ),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
)

def _set_backend_impl(_, attr):
    return {_FLAG: attr.backend}

_set_backend = transition(
    implementation = _set_backend_impl,
    inputs = [],
    outputs = [_FLAG],
)

def _with_backend_impl(ctx):
    built = ctx.attr.binary[0][DefaultInfo]
    launcher = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(
        output = launcher,
        target_file = built.files_to_run.executable,
        is_executable = True,
    )
    return [DefaultInfo(executable = launcher, runfiles = built.default_runfiles)]

def _library_with_backend_impl(ctx):
    library = ctx.actions.declare_file(ctx.label.name)
    built = ctx.attr.library[0].files.to_list()[0]

    # A link would lead out of a test's sandbox.
    ctx.actions.run_shell(
        inputs = [built],
        outputs = [library],
        command = "cp %s %s" % (built.path, library.path),
    )
    return [DefaultInfo(files = depset([library]), runfiles = ctx.runfiles([library]))]

# A shared library that is built with another backend than the command line's.
library_with_backend = rule(
    implementation = _library_with_backend_impl,
    attrs = {
        "backend": attr.string(mandatory = True),
        "library": attr.label(
            cfg = _set_backend,
            mandatory = True,
        ),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
)

# Runs a test binary that is built with another backend than the command line's.
backend_test = rule(
    implementation = _with_backend_impl,
    attrs = {
        "backend": attr.string(mandatory = True),
        "binary": attr.label(
            cfg = _set_backend,
            executable = True,
            mandatory = True,
        ),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
    test = True,
)
