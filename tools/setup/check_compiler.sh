#!/usr/bin/env bash
# Fails with a message if the compiler that Bazel would take ($CC, else gcc) is older than the
# tested ones.  A compiler of unknown version passes: the build reports what it lacks.
set -euo pipefail

compiler=${CC:-gcc}
version=$("$compiler" -dumpfullversion -dumpversion 2>/dev/null) || {
  echo "bazelw: the compiler '$compiler' does not run${CC:+: unset CC}, or install g++." >&2
  exit 1
}
oldest=12
[[ $("$compiler" --version) != *clang* ]] || oldest=14
if [[ $version =~ ^[0-9]+ && ${BASH_REMATCH[0]} -lt $oldest ]]; then
  echo "bazelw: $compiler is version $version, and Allomon's C++17 needs g++ 12 or clang 14, or\
 later: ${CC:+unset CC, or }put a newer one first in PATH." >&2
  exit 1
fi
