#!/usr/bin/env bash
# usage: bad_input_test.sh CMAKE BUILD MIMALLOC_SOURCE
#
# What is missing when somebody configures or installs is said in one line that names the remedy.
set -euo pipefail

cmake=$1 build=$2 mimalloc=$3
here=$(cd "$(dirname "$0")" && pwd)
source=$(dirname "$(dirname "$here")")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
errors=0

# expect WHAT LINE COMMAND...: the command fails, and one of its lines has all words of LINE.
expect() {
  local what=$1 words=$2 line
  shift 2
  if "$@" >"$scratch/log" 2>&1; then
    echo "$what: no error" >&2
    errors=$((errors + 1))
    return
  fi
  line=$(grep -m1 '^Allomon: ' "$scratch/log" || true)
  for word in $words; do
    if [[ $line != *"$word"* ]]; then
      echo "$what: no $word in: ${line:-$(tail "$scratch/log")}" >&2
      errors=$((errors + 1))
    fi
  done
}

configure() {
  rm -rf "$scratch/build"
  "$cmake" -S "$source" -B "$scratch/build" -DALLOMON_MIMALLOC_SOURCE="$mimalloc" "$@"
}
without() { configure "-DCMAKE_DISABLE_FIND_PACKAGE_$1=ON" "${@:2}"; }

expect "no Abseil" "Abseil: libabsl-dev" without absl
expect "no nlohmann-json" "nlohmann-json3-dev -DALLOMON_BUILD_TOOLS=OFF" without nlohmann_json
expect "no zlib" "zlib1g-dev -DALLOMON_BUILD_TOOLS=OFF" without ZLIB
expect "no pkg-config" "pkgconf -DALLOMON_BUILD_TOOLS=OFF" without PkgConfig
expect "no libiberty" "libiberty-dev -DALLOMON_BUILD_TOOLS=OFF" \
  configure -DALLOMON_IBERTY=OFF
expect "no cpp-httplib" "$scratch/none fetch_httplib.sh -DALLOMON_BUILD_TOOLS=OFF" \
  configure -DALLOMON_HTTPLIB_SOURCE="$scratch/none"
expect "no GoogleTest" "libgtest-dev -DALLOMON_BUILD_TESTS=OFF" \
  without GTest -DALLOMON_BUILD_TESTS=ON
expect "no Google Benchmark" "libbenchmark-dev -DALLOMON_BUILD_TESTS=OFF" \
  without benchmark -DALLOMON_BUILD_TESTS=ON

# Two lines where two packages are missing.
without ZLIB -DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON >"$scratch/log" 2>&1 || true
[[ $(grep -c '^Allomon: no ' "$scratch/log") == 2 ]] ||
  { echo "two packages are missing, and the lines are: $(cat "$scratch/log")" >&2; errors=1; }

remedy="fetch_mimalloc.sh -DALLOMON_MIMALLOC_SOURCE="
expect "no mimalloc" "$scratch/none $remedy" configure -DALLOMON_MIMALLOC_SOURCE="$scratch/none"
expect "a folder that is not mimalloc's" "$here $remedy" configure -DALLOMON_MIMALLOC_SOURCE="$here"
mkdir -p "$scratch/odd/include" "$scratch/odd/src"
touch "$scratch/odd/include/mimalloc.h" "$scratch/odd/src/static.c"
expect "a mimalloc of no version" "mimalloc.h version" \
  configure -DALLOMON_MIMALLOC_SOURCE="$scratch/odd"

# A machine without network: the script that fetches mimalloc fails.
mkdir -p "$scratch/tree/tools/setup"
(cd "$source" && tar cf - --exclude=./.git --exclude=./.deps --exclude='./bazel-*' .) |
  tar xf - -C "$scratch/tree"
printf '#!/bin/sh\necho "no network" >&2\nexit 1\n' >"$scratch/tree/tools/setup/fetch_mimalloc.sh"
expect "no network" "$scratch/tree/.deps/mimalloc $remedy" \
  "$cmake" -S "$scratch/tree" -B "$scratch/build2"

# A regular file in the way is a prefix that not even root can write to.
touch "$scratch/file"
expect "a prefix that is not writable" "$scratch/file --prefix" \
  "$cmake" --install "$build" --prefix "$scratch/file/prefix"

exit "$((errors > 0))"
