#!/usr/bin/env bash
# usage: consumer.sh CMAKE PREFIX NAME [OPTION...]
#
# Has the project in the folder NAME use what is installed in PREFIX, as a user would.
set -euo pipefail

cmake=$1 prefix=$2 name=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Says what a command said only if it fails.
quietly() { "$@" >"$scratch/log" 2>&1 || { tail -n 40 "$scratch/log"; return 1; }; }
fail() { echo "$*" >&2; exit 1; }

build=$scratch/build
if [[ -f $here/$name/CMakeLists.txt ]]; then
  quietly "$cmake" -S "$here/$name" -B "$build" -DCMAKE_PREFIX_PATH="$prefix" "$@"
  quietly "$cmake" --build "$build"
fi
# shellcheck disable=SC1090
source "$here/$name/check.sh"
