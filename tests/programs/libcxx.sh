#!/usr/bin/env bash
# usage: libcxx.sh [DIRECTORY]
#
# Builds Allomon with clang and libc++, and prints a table of what holds: the libraries, the
# commands, the suites of four folders, and hosts of both C++ libraries under the preloaded library.
#
# Debian's Abseil, GoogleTest and Google Benchmark are compiled against libstdc++, and fit no
# program of libc++.  So they are built here from Debian's source packages, which apt fetches as in
# tools/setup/fetch_mimalloc.sh.  DIRECTORY keeps all of it (default: build-libcxx); what is there
# is not built again.  Takes half an hour on two processors.
#
# Needs: clang libc++-dev libc++abi-dev cmake googletest, and what cmake/README.md names.
set -euo pipefail

tree=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd)
mkdir -p "${1:-build-libcxx}"
cd "${1:-build-libcxx}"
here=$PWD
export CC=clang CXX=clang++
rows=()

die() { echo "libcxx: $1" >&2; exit 1; }

echo '#include <new>' | clang++ -stdlib=libc++ -fsyntax-only -xc++ - ||
  die "no libc++ beside clang++: apt install libc++-dev libc++abi-dev"
[[ -d /usr/src/googletest ]] || die "no /usr/src/googletest: apt install googletest"

fetch_sources() {
  [[ -e sources/fetched ]] && return
  mkdir -p sources lists/partial parts
  local file
  for file in /etc/apt/sources.list.d/*.sources; do
    [[ ! -f $file ]] || sed -E 's/^types:.*/Types: deb-src/I' "$file" >"parts/${file##*/}"
  done
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [[ ! -f $file ]] ||
      sed -nE 's/^[[:space:]]*deb[[:space:]]/deb-src /p' "$file" >"parts/${file##*/}.list"
  done
  local options=(-q -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$here/parts"
    -o Dir::State::Lists="$here/lists")
  apt-get "${options[@]}" update
  (cd sources && apt-get "${options[@]}" source abseil benchmark)
  touch sources/fetched
}

# One of the libraries, into prefix/.
library() { # name, source folder, options
  [[ -e $1/installed ]] && return
  cmake -S "$2" -B "$1" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS=-stdlib=libc++ \
    -DCMAKE_CXX_STANDARD=17 -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_TESTING=OFF \
    -DCMAKE_INSTALL_PREFIX="$here/prefix" -DCMAKE_INSTALL_LIBDIR=lib "${@:3}"
  cmake --build "$1" -j2 --target install
  touch "$1/installed"
}

# libgcc_s in front: a thread that ends itself is unwound by the C library with libgcc_s, and
# Debian's libc++abi would read that with LLVM's libunwind.
configure() {
  cmake -S "$tree" -B allomon -DCMAKE_PREFIX_PATH="$here/prefix" -DCMAKE_CXX_FLAGS=-stdlib=libc++ \
    -DALLOMON_BUILD_TESTS=ON -DALLOMON_TESTS='tests/(semantics|tools|callstack|runtime)/.*' \
    -DCMAKE_EXE_LINKER_FLAGS="-Wl,--push-state,--no-as-needed -lgcc_s -Wl,--pop-state"
}

step() { # row of the table, command
  local log="${1//[^a-z0-9]/_}.log" began=$SECONDS result=PASS
  ("${@:2}") >"$log" 2>&1 || result="FAIL ($here/$log)"
  rows+=("$(printf '%-28s %5d s  %s' "$1" $((SECONDS - began)) "$result")")
  echo "${rows[-1]}"
}

throws_in_host() { # options of clang++
  local folder=$tree/tests/integration/host_exceptions rate
  clang++ -std=c++17 -O1 -fno-builtin -I"$tree" "$@" -Wl,--no-as-needed -lgcc_s -pthread \
    "$folder/main.cc" "$folder/failing_new.cc" -o host
  for rate in 0 1e-4 1; do
    ALLOMON_RATE=$rate ALLOMON_OUT=$here/mlmon.out LD_PRELOAD=$here/allomon/liballomon.so ./host
  done
}

without_warnings() { ! grep -h ' warning: ' library.log tools_and_tests.log; }

step 'sources of the packages' fetch_sources
set -- sources/abseil-*/ sources/benchmark-*/
step 'googletest' library googletest /usr/src/googletest
step 'abseil' library abseil "$1" -DABSL_PROPAGATE_CXX_STD=ON
version=${2##*-}
step 'google benchmark' library benchmark "$2" -DGIT_VERSION="${version%/}" \
  -DBENCHMARK_ENABLE_TESTING=OFF -DBENCHMARK_ENABLE_WERROR=OFF
step 'configure' configure
step 'library' cmake --build allomon -j2 --target allomon_preloaded allomon_tracker \
  allomon_profile allomon_runtime allomon_malloc
step 'tools and tests' cmake --build allomon -j2
step 'no warnings' without_warnings
step 'ctest' ctest --test-dir allomon -R '^tests/' --output-on-failure --no-tests=error
step 'preloaded, a libc++ host' throws_in_host -stdlib=libc++
step 'preloaded, a libstdc++ host' throws_in_host -stdlib=libstdc++

printf '\nclang %s, libc++\n' "$(clang++ -dumpversion)"
printf '%s\n' "${rows[@]}"
[[ ${rows[*]} != *FAIL* ]]
