#!/usr/bin/env bash
# usage: consumer.sh CMAKE PREFIX NAME [OPTION...]
#
# Has the project in the folder NAME, if there is one, use what is installed in PREFIX, as a user
# would, and calls the check of that NAME below.
set -euo pipefail

cmake=$1 prefix=$2 name=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Says what a command said only if it fails.
quietly() { "$@" >"$scratch/log" 2>&1 || { tail -n 40 "$scratch/log"; return 1; }; }
fail() { echo "$*" >&2; exit 1; }

# refused WORDS CODE...: a project of this code is refused with these words.
refused() {
  local words=$1
  shift
  mkdir -p "$scratch/refused"
  printf '%s\n' 'cmake_minimum_required(VERSION 3.24)' 'project(Refused LANGUAGES CXX)' "$@" \
    >"$scratch/refused/CMakeLists.txt"
  if quietly "$cmake" -S "$scratch/refused" -B "$scratch/refused/build" \
    -DCMAKE_PREFIX_PATH="$prefix"; then
    fail "not refused: $*"
  fi
  tr -s ' \n' ' ' <"$scratch/log" | grep -q "$words" || fail "not said: $words"
}

# plain SOURCE PACKAGE PROGRAM: compiles by pkg-config.
# shellcheck disable=SC2046 # several flags
plain() {
  quietly g++ -std=c++17 -O2 "$here/$1" $(pkg-config --cflags --libs "$2") -o "$scratch/$3"
}

# `allomon explain` and `leaks` find the blocks of a program by this, which nothing calls.
describes_heap() {
  nm "$1" | grep ' allomon_heap_layout$' >/dev/null || fail "$1: its heap is not described"
}

# ---- The checks of each project, after it is built

check_consumer() {
  "$build/follow"
  describes_heap "$build/follow"
  refused 'Allomon has no components' 'find_package(Allomon REQUIRED COMPONENTS tracker)'
  refused 'allomon_add_gate: unknown: TYPO' 'find_package(Allomon REQUIRED)' \
    'allomon_add_gate(NAME a BENCHMARK b BASELINE c TYPO)'
}

check_gate() {
  if quietly ctest --test-dir "$build" --output-on-failure -R words_gate; then
    fail "a gate passes without a baseline"
  fi
  grep -q 'there is no baseline; --update writes it' "$scratch/log" || fail "no remedy for that"
  quietly "$cmake" --build "$build" --target words_gate_update
  quietly ctest --test-dir "$build" --output-on-failure -E regressed
  if quietly ctest --test-dir "$build" --output-on-failure -R regressed; then
    fail "a benchmark that allocates twice as much passes its gate"
  fi
  grep -q 'Words' "$scratch/log" || fail "the gate does not name the benchmark"
  grep -q "^ *Words$" "$scratch/log" ||
    fail "the gate does not name a function: $(cat "$scratch/log")"
  echo "the gate passes, and fails when there is one block more"
}

# shellcheck disable=SC2046 # several flags
check_pkgconfig() {
  # A prefix that was moved is found, too: the .pc files know it from their own place.
  cp -r "$prefix" "$scratch/moved"
  PKG_CONFIG_PATH=$(dirname "$(find "$scratch/moved" -name allomon.pc)")
  export PKG_CONFIG_PATH
  plain consumer/follow.cc allomon follow
  "$scratch/follow"
  describes_heap "$scratch/follow"
  plain runtime/managed.cc allomon-runtime managed
  "$scratch/managed"
  plain consumer/follow.cc allomon-profile profiled
  "$scratch/profiled"
  [[ $(pkg-config --cflags allomon) == *"$scratch/moved"* ]] || fail "the prefix is written down"

  # Whoever has no malloc of ours in the program is told what to link.
  quietly g++ -std=c++17 -O2 "$here/consumer/follow.cc" $(pkg-config --cflags allomon) \
    -L"$scratch/moved/$(basename "$(dirname "$PKG_CONFIG_PATH")")" \
    $(pkg-config --libs-only-L allomon) -lallomon_tracker -lallomon_core \
    $(pkg-config --libs absl_statusor) -o "$scratch/without"
  if "$scratch/without" 2>"$scratch/message"; then
    fail "a program without malloc starts trackers"
  fi
  for remedy in '@allomon//allocator:malloc' 'Allomon::malloc' 'pkg-config --libs allomon'; do
    grep -qF "$remedy" "$scratch/message" || fail "no word of $remedy: $(cat "$scratch/message")"
  done
}

check_preload() {
  library=$(find "$prefix" -name liballomon.so)
  export ALLOMON_OUT=$scratch/mlmon.out
  LD_PRELOAD=$library python3 -c 'print(len(list(range(100000))))'
  "$prefix/bin/allomon" report --top=3 --width=80 "$ALLOMON_OUT"
  # The command finds the library of its own installation.
  "$prefix/bin/allomon" run -o "$scratch/recording.pb.gz" -- python3 -c 'print(len([0] * 100000))'
  "$prefix/bin/allomon" report --top=3 --width=80 "$scratch/recording.pb.gz"
  "$prefix/bin/allomon" --version
}

# recorded FILE PROGRAM: `allomon run` records the program, whose blocks are of render_answer, and
# says nothing of a library that stands aside.
recorded() {
  "$prefix/bin/allomon" run -o "$1" -- "$2" >"$scratch/said" 2>&1 ||
    fail "$(cat "$scratch/said")"
  grep -q '^40000 answers$' "$scratch/said" || fail "$(cat "$scratch/said")"
  if grep -q 'no profile' "$scratch/said"; then fail "$(cat "$scratch/said")"; fi
  "$prefix/bin/allomon" report --metric=alloc --top=2 --width=90 "$1" | tee "$scratch/table"
  grep -q 'render_answer' "$scratch/table" || fail "no render_answer"
}

# started PROGRAM: started idle, the program is recorded from outside.
started() {
  local file=$scratch/started.pb.gz child attempt
  ALLOMON_PROFILE=idle ALLOMON_RECORD=$scratch/started.rec "$1" 600 >"$scratch/said" 2>&1 &
  child=$!
  for attempt in $(seq 100); do
    if "$prefix/bin/allomon" ctl "$child" start 2>"$scratch/said" &&
      "$prefix/bin/allomon" save "$child" -o "$file" 2>"$scratch/said" &&
      "$prefix/bin/allomon" report --metric=alloc --top=2 "$file" |
      grep render_answer >/dev/null; then
      kill "$child"
      echo "$1 was started at attempt $attempt"
      return
    fi
    sleep 0.2
  done
  kill "$child"
  fail "$1 is not started: $(cat "$scratch/said")"
}

is_static() {
  if readelf -lW "$1" | grep INTERP >/dev/null; then fail "$1 is not static"; fi
}

# liballomon.a, in C programs linked in each way, and recorded without `allomon run`.
check_archive() {
  local folder mode
  folder=$(dirname "$(find "$prefix" -name liballomon.a)")
  printf '%s\n' '#include <stdlib.h>' '#include <pthread.h>' \
    '__attribute__((noinline)) void* keep(void* unused) {' \
    '  for (int i = 0; i < 1000; ++i) { void* volatile block = malloc(1000); (void)block; }' \
    '  return unused;' '}' \
    'int main(void) {' '  pthread_t thread;' \
    '  return pthread_create(&thread, NULL, keep, NULL) || pthread_join(thread, NULL);' '}' \
    >"$scratch/keep.c"
  for mode in -static -static-pie -pie; do
    quietly gcc -g1 -O1 -fPIE "$scratch/keep.c" "$mode" -Wl,--eh-frame-hdr -o "$scratch/keep" \
      "-L$folder" -l:liballomon.a -lstdc++ -lm
    [[ $mode == -pie ]] || is_static "$scratch/keep"
    rm -f "$scratch/keep.rec"
    ALLOMON_RECORD=$scratch/keep.rec ALLOMON_RATE=1 "$scratch/keep"
    "$prefix/bin/allomon" report --top=1 --width=80 "$scratch/keep.rec" | tee "$scratch/table"
    grep -q '^keep .*976.6 KiB' "$scratch/table" || fail "$mode: not all of keep"
  done
}

check_rust() {
  local flags
  LIBALLOMON_DIR=$(dirname "$(find "$prefix" -name liballomon.a)")
  export LIBALLOMON_DIR
  cp -r "$here/../../examples/rust" "$scratch/rust"
  cd "$scratch/rust"
  for flags in '' '-C target-feature=+crt-static'; do
    RUSTFLAGS=$flags quietly cargo build --release --offline
    [[ -z $flags ]] || is_static target/release/tables
    recorded "$scratch/rust.pb.gz" target/release/tables
    started target/release/tables
  done
}

check_go() {
  local flags
  export CGO_LDFLAGS GOCACHE=$scratch/go_cache GOPATH=$scratch/go_path
  CGO_LDFLAGS=-L$(dirname "$(find "$prefix" -name liballomon.a)")
  cp -r "$here/../../examples/go" "$scratch/go"
  cd "$scratch/go"
  for flags in '' '-linkmode external -extldflags "-static -Wl,--eh-frame-hdr"'; do
    quietly go build -ldflags "$flags" -o tables .
    [[ -z $flags ]] || is_static tables
    recorded "$scratch/go.pb.gz" ./tables
    started ./tables
  done
}

check_profile() {
  cd "$scratch"
  ALLOMON_PROFILE=count ALLOMON_OUT=calls.out "$build/hooked"
  "$prefix/bin/mlprof" -raw true "$build/hooked" calls.out | grep -E '^Step.*\(1,000\)' ||
    fail "the calls of Step were not counted"
}

check_runtime() {
  "$build/managed"
}

check_subdirectory() {
  "$build/follow"
  [[ -z $(find "$build" -name allomon -type f -perm -100) ]] || fail "the commands were built"
  ctest --test-dir "$build" -N | grep -q 'Total Tests: 0' ||
    fail "Allomon's tests are in the project"
  if [[ -e $build/_deps/allomon-build/lib/liballomon.so ]]; then
    fail "what the project does not use was built"
  fi
}

build=$scratch/build
if [[ -f $here/$name/CMakeLists.txt ]]; then
  quietly "$cmake" -S "$here/$name" -B "$build" -DCMAKE_PREFIX_PATH="$prefix" "$@"
  quietly "$cmake" --build "$build"
fi
"check_$name"
