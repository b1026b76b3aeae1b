#!/usr/bin/env bash
# usage: run_gate.sh ALLOMON BENCHMARK BASELINE [option of `allomon gate`]...
#
# Runs the benchmark for its allocations, and compares them with the baseline, or writes the
# baseline (--update).  allocation_gate_test (defs.bzl) makes tests of this script; other build
# systems can use it too.  Status as `allomon gate`; 2 if the benchmark itself fails.
set -u

if [[ $# -lt 3 ]]; then
  sed -n '2s/^# //p' "$0" >&2
  exit 2
fi
allomon=$1 benchmark=$2 baseline=$3
shift 3

scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT

# With no time to reach, each benchmark runs one iteration, or as many as it asks for with
# Iterations(), so that nothing here depends on the speed of the machine.
if ! ALLOMON_GATE_PROFILE=$scratch/profile.json "$benchmark" --benchmark_min_time=0 \
  --benchmark_out="$scratch/now.json" --benchmark_out_format=json >"$scratch/log" 2>&1; then
  cat "$scratch/log" >&2
  echo "run_gate.sh: $benchmark failed" >&2
  exit 2
fi
grep '^allomon: ' "$scratch/log" >&2

options=()
[[ -n ${XML_OUTPUT_FILE:-} ]] && options+=(--junit="$XML_OUTPUT_FILE")
[[ ${GITHUB_ACTIONS:-} == true ]] && options+=(--github)

# `bazel run` does not start programs in the source tree.
[[ -n ${BUILD_WORKSPACE_DIRECTORY:-} && $baseline != /* ]] &&
  baseline=$BUILD_WORKSPACE_DIRECTORY/$baseline

"$allomon" gate --baseline="$baseline" --current="$scratch/now.json" \
  --profile="$scratch/profile.json" ${options[@]+"${options[@]}"} "$@"
