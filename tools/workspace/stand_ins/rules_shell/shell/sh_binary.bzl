"""sh_binary of Bazel 4, which has it built in."""

sh_binary = native.sh_binary
