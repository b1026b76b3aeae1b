#!/usr/bin/env bash
# usage: try_aarch64.sh [--folder=DIRECTORY] ALLOMON
#
# Builds for 64-bit Arm and tries it by qemu-aarch64, on a machine of Debian with another processor:
# the suites below, and a perl and a python3 that are recorded.  ALLOMON is this machine's command
# (bazel-bin/tools/allomon/allomon), which must name their functions in its reports.
#
# It needs a cross compiler, qemu and CMake, which root has installed by apt, and some 200 MB of
# packages for Arm.  DIRECTORY keeps them and the build for the next time (default: a temporary
# one).  The last line says how many passed and failed; the status is 0 if none failed.
set -euo pipefail

fail() {
  echo "try_aarch64.sh: $1" >&2
  exit 1
}
folder=''
if [[ ${1:-} == --folder=* ]]; then
  folder=$(realpath -m "${1#*=}")
  shift
fi
[[ $# -eq 1 ]] || { sed -n '2s/^# //p' "$0" >&2; exit 2; }
[[ -x $1 ]] || fail "no command $1: ./bazelw build //tools:allomon makes one in bazel-bin."
allomon=$(realpath "$1")
source_dir=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)

# Suites, and the cases of each that are left out.  Those are cases that qemu-user cannot run:
#   HooksAreRefusedWhileThereAreOtherThreads            qemu has a thread of its own
#   ThreadThatWasRefusedCountsCountsInTheCommonOnes     limits of address space are not held
suites=(
  "callstack/capture_test"
  "callstack/cfi_test"
  "callstack/replay_test"
  "profile/attribution_test"
  "profile/data_units_test"
  "profile/entry_hooks_test
    EntryHooksTest.HooksAreRefusedWhileThereAreOtherThreads
    EntryHooksTest.ThreadThatWasRefusedCountsCountsInTheCommonOnes"
  "profile/map_near_test"
  "recording/kill_test"
  "recording/peak_test"
  "recording/recorder_test"
  "recording/rows_test"
  "semantics/law_test"
  "semantics/lifecycle_test"
  "semantics/model_test"
  "semantics/start_stop_test"
  "semantics/survivors_test"
)
seconds_for_a_suite=120

# ---- What is needed

missing=()
type aarch64-linux-gnu-g++ >/dev/null 2>&1 || missing+=(g++-aarch64-linux-gnu)
type qemu-aarch64 >/dev/null 2>&1 || missing+=(qemu-user)
type cmake >/dev/null 2>&1 || missing+=(cmake)
if [[ ${#missing[@]} -gt 0 ]]; then
  install="apt-get install --no-install-recommends ${missing[*]}"
  [[ $EUID -eq 0 ]] || fail "missing: ${missing[*]}.  As root: $install"
  echo "try_aarch64.sh: $install" >&2
  DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${missing[@]}" \
    >/dev/null || fail "apt-get could not install ${missing[*]}: apt-get update, then try again."
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' INT TERM HUP
keep=${folder:-$scratch}
mkdir -p "$keep" "$scratch/tmp"
root=$keep/root build=$keep/build
"$source_dir/tools/setup/fetch_arm_root.sh" "$root"

# ---- Builds

logged() { # log, command...
  local log=$keep/$1
  shift
  "$@" >"$log" 2>&1 </dev/null || { tail -n 20 "$log" >&2; fail "failed: $1; the log is $log."; }
}
names=() wanted=()
for suite in "${suites[@]}"; do
  read -r name _ <<<"$suite"
  names+=("$name")
  wanted+=("tests.${name//\//.}")
done
only=$(IFS='|' && echo "tests/(${names[*]})")
start=$SECONDS
logged configure.log cmake -S "$source_dir" -B "$build" \
  -DCMAKE_TOOLCHAIN_FILE="$source_dir/cmake/aarch64.cmake" -DALLOMON_ARM_ROOT="$root" \
  -DALLOMON_BUILD_TESTS=ON -DALLOMON_TESTS="$only"
logged build.log cmake --build "$build" "-j$(nproc)" --target allomon_preloaded "${wanted[@]}"
echo "aarch64: built in $((SECONDS - start)) s"

# ---- Runs

passed=0 failed=0
count() { # name, status
  if [[ $2 -eq 0 ]]; then
    passed=$((passed + 1))
    echo "aarch64: $1 passed"
  else
    failed=$((failed + 1))
    echo "aarch64: $1 FAILED"
  fi
}

cd "$build/runfiles/allomon"
export TEST_SRCDIR=$build/runfiles TEST_WORKSPACE=allomon TEST_TMPDIR=$scratch/tmp
for suite in "${suites[@]}"; do
  read -r -d '' -a words <<<"$suite" || true
  log=$scratch/suite.log status=0
  cases=$(IFS=: && echo "${words[*]:1}")
  timeout -k 10 "$seconds_for_a_suite" qemu-aarch64 -L "$root" "tests/${words[0]}" \
    "--gtest_filter=-$cases" >"$log" 2>&1 </dev/null || status=$?
  # A suite whose cases are all left out has tested nothing.
  [[ $status -ne 0 ]] || grep -q '^\[  PASSED  \] [1-9]' "$log" || status=1
  [[ $status -eq 0 ]] || grep -E 'Failure|FAILED|^qemu' -A4 "$log" | head -n 40 || true
  count "${words[0]}" "$status"
done

# A recording of a program of $root, whose report on this machine names `function`.
record() { # function, program, argument...
  local function=$1 program=$2 recording status=0
  recording=$scratch/$(basename "$2").rec
  shift 2
  timeout -k 10 "$seconds_for_a_suite" \
    qemu-aarch64 -L "$root" -E LD_PRELOAD="$build/lib/liballomon.so" \
    -E ALLOMON_RECORD="$recording" -E PYTHONDONTWRITEBYTECODE=1 "$root/usr/bin/$program" "$@" \
    >"$scratch/out" 2>&1 </dev/null || status=$?
  timeout -k 10 "$seconds_for_a_suite" "$allomon" report "$recording" >"$scratch/report" 2>&1 ||
    status=1
  grep -q "^$function" "$scratch/report" || status=1
  [[ $status -eq 0 ]] || cat "$scratch/out" "$scratch/report"
  count "a recording of $program names $function" "$status"
}
# shellcheck disable=SC2016 # Perl's text
record Perl_av_make perl -e 'for $i (1..100000) { $table{$i} = [$i] }'
record make_table python3 -c 'def make_table(): return [[i] * 8 for i in range(100000)]
print(len(make_table()))'

echo "$passed passed, $failed failed"
[[ $failed -eq 0 ]]
