# shellcheck shell=bash disable=SC2154,SC2034,SC2016
# What is done in each system; read by ../distributions.sh, whose variables it uses.

show_end() { # log
  tail -n 40 "$1" >&2
}

# Runs a command with its output in a log.  Says what it is; on a terminal also how long it has
# taken and the last line of the log, every second.
logged() { # what it is, log, command...
  local what=$1 log=$2 start=$SECONDS pid status=0
  shift 2
  echo "== $what" >&2
  set -m # a process group of its own, which is ended with this script
  "$@" >"$log" 2>&1 </dev/null &
  pid=$! running=$!
  set +m
  while [[ -t 2 ]] && kill -0 "$pid" 2>/dev/null; do
    printf '\r\e[K%4d s  %.70s' "$((SECONDS - start))" "$(tail -n 1 "$log" | tr -dc ' -~')" >&2
    sleep 1
  done
  wait "$pid" || status=$?
  running=''
  if [[ -t 2 ]]; then printf '\r\e[K' >&2; fi
  return "$status"
}

bazelw() { inside "cd $clone && ./bazelw $*"; }

# Shell commands run in a clone, one by one; the first that fails ends them.
step_fib_tak() { bazelw run //examples:fib_tak; }
step_tests() { bazelw test --keep_going --curses=no --show_progress_rate_limit=60 -- "$targets"; }
step_clang() {
  bazelw build --config=clang //allocator:liballomon.so //tools/... &&
    bazelw test --config=clang --keep_going --curses=no //tests/semantics/...
}
# A workspace that uses Allomon as another does: by MODULE.bazel where Bazel knows it.
step_consumer() { inside "cd $clone && tests/bazel_consumer/consume.sh && echo 'consumer PASSED'"; }
# As root, since a system may not have CMake yet.
step_cmake() {
  local packages='cmake make g++ python3 dpkg-dev pkgconf libabsl-dev libdw-dev libiberty-dev'
  packages+=' nlohmann-json3-dev zlib1g-dev libzstd-dev libgtest-dev libgmock-dev libbenchmark-dev'
  packages+=' liblua5.4-dev libpython3-dev'
  user=root inside "apt-get update && DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends $packages" || return 1
  local build=/var/tmp/$user-cmake
  local tests='tests/(allocator|c|profile|runtime|semantics|tracker)/.*' # some minutes
  inside "cd $clone && rm -rf $build && cmake -B $build -DCMAKE_BUILD_TYPE=Release \
      -DALLOMON_BUILD_TESTS=ON -DALLOMON_TESTS='$tests' &&
    cmake --build $build -j$(nproc) && ctest --test-dir $build --output-on-failure &&
    cmake --install $build --prefix $build/prefix &&
    cmake -S tests/cmake/consumer -B $build/consumer -DCMAKE_PREFIX_PATH=$build/prefix &&
    cmake --build $build/consumer && $build/consumer/follow && echo 'consumer PASSED'"
}

# Prints "passed failed" by a log's lines, which are Bazel's or ctest's.  A consumer has tests of
# its own, one of which is made to fail: its last line says how that went.
count_tests() { # log, step
  awk -v step="${2:-}" '
    /^consumer PASSED/ { passed += 1 }
    step == "consumer" { next }
    /^\/\/[^ ]+ .*PASSED in / { passed += 1 }
    /^\/\/[^ ]+ .*(FAILED|TIMEOUT|NO STATUS|FAILED TO BUILD)/ { failed += 1 }
    /tests passed, [0-9]+ tests? failed out of/ {
      failed += $4
      passed += $NF - $4
    }
    END { print passed + 0, failed + 0 }' "$1"
}

# mimalloc's version by its header: 209 is 2.0.9, and 30403 is 3.4.3.
mimalloc_version() { # header
  sed -nE 's/^#define MI_MALLOC_VERSION +([0-9]+).*/\1/p' "$1" 2>/dev/null |
    sed -E 's/^([0-9])([0-9])([0-9])$/\1.\2.\3/; s/^([0-9])([0-9]{2})([0-9]{2})$/\1.\2.\3/
      s/\.0([0-9])/.\1/g' || true
}

# The versions that were used, as columns of the table.
versions() { # step
  local show='dpkg-query -W -f \${Version}' header=$root$clone/.deps/mimalloc/include/mimalloc.h
  deb() { inside "$show $1 2>/dev/null" | sed 's/^[0-9]*://; s/[-+].*//' || true; }
  local compiler='g++' bazel='' cmake=''
  [[ $1 != clang ]] || compiler=clang
  if [[ $1 == cmake ]]; then cmake=$(deb cmake); else bazel=$(deb bazel-bootstrap); fi
  compiler+=" $(inside "$compiler -dumpfullversion 2>/dev/null || $compiler -dumpversion")"
  echo "$compiler|$bazel|$cmake|$(mimalloc_version "$header")|$(deb libabsl-dev)"
}

# Adds a row to the table.
run_step() { # step
  local start=$SECONDS status=0 passed=0 bad=0 log=$keep/$distribution-$user-$1.log
  logged "$distribution, $user: $1" "$log" "step_$1" || status=1
  read -r passed bad < <(count_tests "$log" "$1")
  # A step without tests counts as one; so does one that broke without blaming a test.
  if [[ $status != 0 && $bad == 0 ]]; then bad=1; fi
  if [[ $status == 0 && $passed == 0 ]]; then passed=1; fi
  if [[ $status != 0 || $bad != 0 ]]; then
    failed=1
    show_end "$log"
  fi
  local tenths=$(((SECONDS - start + 3) / 6))
  rows+=("$distribution|$user|$1|$passed|$bad|$((tenths / 10)).$((tenths % 10))|$(versions "$1")")
  inside "cd $clone && bazel shutdown" >/dev/null 2>&1 || true
}
