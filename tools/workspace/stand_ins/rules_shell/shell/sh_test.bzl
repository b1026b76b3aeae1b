"""sh_test of Bazel 4, which has it built in."""

sh_test = native.sh_test
