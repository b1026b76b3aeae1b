#!/usr/bin/env bash
# usage: consumer_test.sh CMAKE BUILD_DIRECTORY
#
# Installs a build into a temporary prefix, and has a project find it there: by CMake, which links
# Allomon::malloc and follows a block, and by pkg-config.
set -euo pipefail

cmake=$1 build=$2
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$cmake" --install "$build" --prefix "$scratch/prefix" >"$scratch/log" 2>&1 ||
  { tail "$scratch/log"; exit 1; }
"$cmake" -S "$here/consumer" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$scratch/prefix" \
  >"$scratch/log" 2>&1 || { tail "$scratch/log"; exit 1; }
"$cmake" --build "$scratch/build" >"$scratch/log" 2>&1 || { tail -n 40 "$scratch/log"; exit 1; }
"$scratch/build/follow"

library=$(find "$scratch/prefix" -name liballomon.so)
ALLOMON_OUT=$scratch/mlmon.out LD_PRELOAD=$library python3 -c 'print(len(list(range(100000))))'
if [[ -x $scratch/prefix/bin/allomon ]]; then
  "$scratch/prefix/bin/allomon" report --top=3 --width=80 "$scratch/mlmon.out"
fi
