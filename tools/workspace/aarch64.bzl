"""--config=aarch64: Debian's cross compiler for 64-bit Arm, and libraries that it finds.

Nothing of it is asked for by other builds.  The libraries are packages of Debian, unpacked into
.deps/aarch64 by tools/setup/fetch_arm_root.sh, or those of ALLOMON_ARM_ROOT, a system that
debootstrap --arch=arm64 made (an absolute path, in the environment or by --repo_env).
"""

_BUILD = """
load("@bazel_tools//tools/cpp:unix_cc_toolchain_config.bzl", "cc_toolchain_config")
load("@rules_cc//cc:defs.bzl", "cc_toolchain", "cc_toolchain_suite")
load("@rules_shell//shell:sh_binary.bzl", "sh_binary")

package(default_visibility = ["//visibility:public"])

cc_toolchain_suite(
    name = "toolchain",
    toolchains = {"aarch64": ":cc"},
)

filegroup(name = "empty")

cc_toolchain(
    name = "cc",
    all_files = ":empty",
    compiler_files = ":empty",
    dwp_files = ":empty",
    linker_files = ":empty",
    objcopy_files = ":empty",
    strip_files = ":empty",
    supports_param_files = 1,
    toolchain_config = ":config",
)

cc_toolchain_config(
    name = "config",
    abi_libc_version = "glibc",
    abi_version = "aarch64",
    builtin_sysroot = @root@,
    compile_flags = [
        "-U_FORTIFY_SOURCE",
        "-fstack-protector",
        "-Wall",
        "-fno-omit-frame-pointer",
    ],
    compiler = "gcc",
    cpu = "aarch64",
    cxx_builtin_include_directories = @includes@,
    dbg_compile_flags = ["-g"],
    host_system_name = "local",
    link_flags = [
        "-Wl,-no-as-needed",
        "-Wl,-z,relro,-z,now",
        "-pass-exit-codes",
    ],
    link_libs = ["-lstdc++", "-lm"],
    opt_compile_flags = [
        "-g0",
        "-O2",
        "-D_FORTIFY_SOURCE=1",
        "-DNDEBUG",
        "-ffunction-sections",
        "-fdata-sections",
    ],
    opt_link_flags = ["-Wl,--gc-sections"],
    supports_start_end_lib = False,
    target_libc = "glibc",
    target_system_name = "aarch64-linux-gnu",
    tool_paths = @tools@,
    toolchain_identifier = "aarch64",
    unfiltered_compile_flags = [
        "-fno-canonical-system-headers",
        "-Wno-builtin-macro-redefined",
        "-D__DATE__=\\"redacted\\"",
        "-D__TIMESTAMP__=\\"redacted\\"",
        "-D__TIME__=\\"redacted\\"",
    ],
)

sh_binary(
    name = "qemu",
    srcs = ["qemu.sh"],
)
"""

# Tests and `bazel run` start programs for 64-bit Arm by it.  A script of this machine's is started
# as it is.
_QEMU = """#!/bin/sh
case $(od -An -tx1 -j18 -N2 "$1" 2>/dev/null) in
  *b7\\ 00*) exec %s -L %s "$@" ;;
  *) exec "$@" ;;
esac
"""

_PREFIX = "aarch64-linux-gnu-"

def _include_folders(ctx, gcc, root):
    asked = ctx.execute([gcc, "--sysroot=" + root, "-E", "-xc++", "-", "-v"])
    folders = []
    for line in asked.stderr.split("\n"):
        if line.startswith(" /"):
            folders.append(str(ctx.path(line.strip())))
    if not folders:
        fail("%s does not say where its headers are:\n%s" % (gcc, asked.stderr))
    return folders

def _aarch64_toolchain_impl(ctx):
    gcc = ctx.which(_PREFIX + "g++")
    qemu = ctx.which("qemu-aarch64") or ctx.which("qemu-aarch64-static")
    if gcc == None or qemu == None:
        fail("--config=aarch64 needs g++-aarch64-linux-gnu and qemu-user: apt-get install them.")
    root = ctx.os.environ.get("ALLOMON_ARM_ROOT", "")
    if not root:
        tools = ctx.path(Label("//tools/workspace:BUILD")).dirname.dirname
        root = str(tools.dirname.get_child(".deps").get_child("aarch64"))
        fetch = tools.get_child("setup").get_child("fetch_arm_root.sh")
        fetched = ctx.execute([fetch, root], timeout = 1200)
        if fetched.return_code != 0:
            fail(fetched.stderr)
    names = ["ar", "cpp", "gcc", "gcov", "ld", "nm", "objcopy", "objdump", "strip"]
    paths = {name: str(ctx.which(_PREFIX + name) or "/bin/false") for name in names}
    paths.update({"dwp": "/bin/false", "llvm-cov": "/bin/false"})
    text = _BUILD
    for name, value in {
        "includes": _include_folders(ctx, gcc, root),
        "root": root,
        "tools": paths,
    }.items():
        text = text.replace("@%s@" % name, repr(value))
    ctx.file("BUILD", text)
    ctx.file("qemu.sh", _QEMU % (qemu, root), executable = True)

aarch64_toolchain = repository_rule(
    implementation = _aarch64_toolchain_impl,
    environ = ["ALLOMON_ARM_ROOT", "PATH"],
    local = True,
)
