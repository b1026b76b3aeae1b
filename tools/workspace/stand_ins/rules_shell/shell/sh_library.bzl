"""sh_library of Bazel 4, which has it built in."""

sh_library = native.sh_library
