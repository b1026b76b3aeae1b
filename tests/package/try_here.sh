#!/usr/bin/env bash
# usage: try_here.sh PREFIX LIBRARY VERSION [PROGRAM]
#
# Uses an installed Allomon as its users do, in the current folder: PREFIX/bin/allomon, LIBRARY as
# LD_PRELOAD takes it, and PROGRAM, known_program.c compiled.  A line for each step, PASS or FAIL;
# the status is 1 if one failed.  Needs python3 or perl.
#
# shellcheck disable=SC2016,SC2317 # Perl's dollars; functions that are called as arguments
set -uo pipefail

prefix=$1 library=$2 version=$3 program=${4:-}
allomon=$prefix/bin/allomon
if type python3 >/dev/null 2>&1; then
  host=(python3 -c 'print(len([bytes(1000) for i in range(100000)]))') expected=100000
else
  host=(perl -e 'push @t, "x" x 1000 . $_ for 1..100000; print scalar(@t), "\n"') expected=100000
fi

failed=0
step() { # name, command...; its output matters when it fails
  if "${@:2}" >step.log 2>&1; then
    echo "PASS $1"
  else
    echo "FAIL $1"
    sed 's/^/     /' step.log
    failed=1
  fi
}

# The report of a file has each of the patterns.
report_says() { # file, pattern...
  local text pattern
  text=$("$allomon" report --top=5 --width=100 "$1") || return
  echo "$text"
  for pattern in "${@:2}"; do
    grep -qE -- "$pattern" <<<"$text" || { echo "the report has no $pattern"; return 1; }
  done
}

says_version() { [[ $("$allomon" --version) == "allomon $version"* ]]; }

preloaded_profile() {
  [[ $(LD_PRELOAD=$library ALLOMON_OUT=flat.out "${host[@]}") == "$expected" ]] || return
  report_says flat.out '^flat.out: [0-9.]+ MiB allocated'
}

preloaded_recording() {
  [[ $(LD_PRELOAD=$library ALLOMON_RECORD=host.rec "${host[@]}") == "$expected" ]] || return
  report_says host.rec 'PyEval_|Perl_'
}

# 100,000 blocks of 1,033 bytes or so.
run() {
  [[ $("$allomon" run -q -o host.pb.gz -- "${host[@]}") == "$expected" ]] || return
  report_says host.pb.gz '^(9|1[0-3])[0-9][.][0-9] MiB .*allocated' 'PyEval_|Perl_'
}

# By debug information in the program, which is compressed.
names_and_lines() {
  "$allomon" run --exact -q -o known.pb.gz -- "$program" || return
  report_says known.pb.gz 'AllocateKnown.*known_program[.]c:4.* 32[.]0 MiB'
}

# The package for Python, which finds the library's functions in its process.
python_package() {
  local folder=$prefix/lib/python3/dist-packages
  if [[ $prefix == /usr ]]; then folder=''; fi
  [[ $(PYTHONPATH=$folder LD_PRELOAD=$library ALLOMON_PROFILE=idle \
    python3 -B -c 'import allomon
kept = []
with allomon.counted() as count:
    kept.append(bytes(1000))
print(count.live_bytes > 1000)') == True ]]
}

flame() {
  "$allomon" flame -o host.html host.pb.gz && grep -q '</html>' host.html
}

step version says_version
step preload preloaded_profile
step record preloaded_recording
step run run
if [[ $program ]]; then step lines names_and_lines; fi
step flame flame
# A minimal Python has no ctypes.
if python3 -c 'import ctypes' 2>/dev/null; then step python python_package; fi
rm -f step.log
exit "$failed"
