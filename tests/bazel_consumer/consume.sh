#!/usr/bin/env bash
# usage: consume.sh [bazel option]...
#
# Builds and tests workspace/, which uses Allomon as another workspace does, in a copy: by its
# MODULE.bazel with Bazel 7 and later, by its WORKSPACE with Bazel 4.  The options are given to each
# command of Bazel.  Not a test of Bazel's, which cannot run itself: some minutes, in a clone that
# ./bazelw has set up.
set -euo pipefail

here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
allomon=$(cd "$here/../.." && pwd)
"$allomon/bazelw" --setup-only

scratch=$(mktemp -d)
copy=$scratch/consumer
run() { bazel --output_user_root="$scratch/output" "$@"; }
clean_up() {
  (cd "$copy" && run shutdown && chmod -R u+w "$scratch" && rm -rf "$scratch") >/dev/null 2>&1
}
trap clean_up EXIT

cp -r "$here/workspace" "$copy"
cd "$copy"
grep -rl /path/to/allomon . | xargs sed -i "s|/path/to/allomon|$allomon|g"
# Bazel 4 of Debian says "no_version".
if [[ $(bazel --version) =~ \ [0-9] ]]; then
  rm WORKSPACE
  echo "consume.sh: $(bazel --version), by MODULE.bazel"
else
  rm MODULE.bazel
  echo "consume.sh: $(bazel --version), by WORKSPACE"
fi

run run "$@" //:server | tee "$scratch/said"
grep -q '^1000 bytes live: NewSession' "$scratch/said" || {
  echo "consume.sh: the server's block was not followed" >&2
  exit 1
}
run test --test_output=errors "$@" //:all
# A gate that cannot fail holds nothing.
sed -i 's/"total_allocated_bytes": [0-9]*/"total_allocated_bytes": 1/' baseline.json
if run test "$@" //:benchmark_gate; then
  echo "consume.sh: the gate passed although the benchmark allocates more than its baseline" >&2
  exit 1
fi
echo "consume.sh: passed"
