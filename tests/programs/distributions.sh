#!/usr/bin/env bash
# Shows that Allomon builds, passes its tests and installs on each distribution, from nothing: in a
# minimal system of its own, in a chroot, into which HEAD is cloned.  Not part of `bazel test`,
# since it needs root, debootstrap, a mirror, 6 GB and up to an hour for each distribution.
#
# A table and one line, PASS or FAIL, are the end of the output.  The status says the same.
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
source_dir=$(cd "$here/../.." && pwd)
known_distributions='bookworm trixie sid'
known_steps='fib_tak tests cmake clang'

usage() {
  cat <<'END'
usage: sudo tests/programs/distributions.sh [option...] [bookworm|trixie|sid ...]

Without a distribution: bookworm and trixie.

  --steps=LIST          of these, separated by commas (default: all)
                          fib_tak   ./bazelw run //examples:fib_tak
                          tests     ./bazelw test //...
                          cmake     configure, build, ctest, install; a project that finds it
                          clang     the semantics suite, the library and the commands by clang
  --targets=LIST        instead of //... , separated by commas
  --users=LIST          who runs the steps (default: root); another one than root is made
  --directory=DIRECTORY keeps the systems there, and uses again what is there: with what is
                        installed, with Bazel's cache, and with downloaded packages (default: a
                        temporary directory, which is removed)
  --fresh               makes systems that are there anew, from their bare state
  --mirror=URL          of Debian (default: the one that this machine's apt uses)
  --mimalloc=DIRECTORY  mimalloc's source, instead of the one that apt fetches
  --nice=N              (default: 0)
  --help
END
}
bad() {
  echo "distributions.sh: $1" >&2
  exit 2
}
among() { # word, list
  [[ " $2 " == *" $1 "* ]]
}

steps=$known_steps targets='//...' users=root directory='' fresh=no mirror='' mimalloc='' niceness=0
distributions=()
for argument in "$@"; do
  value=${argument#*=}
  case $argument in
    --help) usage; exit ;;
    --fresh) fresh=yes ;;
    --steps=*) steps=${value//,/ } ;;
    --targets=*) targets=${value//,/ } ;;
    --users=*) users=${value//,/ } ;;
    --directory=*) directory=$(realpath -m "$value") ;;
    --mirror=*) mirror=$value ;;
    --mimalloc=*) mimalloc=$value ;;
    --nice=*) niceness=$value ;;
    -*) bad "no option '$argument'; --help lists them." ;;
    *) distributions+=("$argument") ;;
  esac
done
[[ ${#distributions[@]} -gt 0 ]] || distributions=(bookworm trixie)
for word in "${distributions[@]}"; do
  among "$word" "$known_distributions" || bad "no distribution '$word' ($known_distributions)."
done
for word in $steps; do among "$word" "$known_steps" || bad "no step '$word' ($known_steps)."; done
[[ $niceness =~ ^[0-9]+$ ]] || bad "--nice=$niceness is not a number from 0."
[[ -z $mimalloc || -f $mimalloc/include/mimalloc.h ]] || bad "$mimalloc has no include/mimalloc.h."
[[ $EUID -eq 0 ]] || bad "only root can make a chroot: run this with sudo."
type debootstrap git >/dev/null 2>&1 || bad "needs debootstrap and git: apt-get install both."

# shellcheck source=tests/programs/distributions/system.sh
source "$here/distributions/system.sh"
# shellcheck source=tests/programs/distributions/steps.sh
source "$here/distributions/steps.sh"

scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/allomon-distributions.XXXXXX")
root=''
trap 'leave_system; rm -rf --one-file-system "$scratch"' EXIT
trap 'exit 1' INT TERM HUP
keep=${directory:-$scratch}
mkdir -p "$keep"
[[ $mirror ]] || mirror=$(machines_mirror)
[[ $mirror ]] || bad "this machine's apt knows no mirror of Debian: name one by --mirror=URL."

rows=() # "distribution|user|step|passed|failed|minutes|versions"
failed=0
for distribution in "${distributions[@]}"; do
  if enter_system "$distribution"; then
    for user in $users; do
      clone_for "$user"
      for step in $steps; do run_step "$step"; done
    done
  else
    failed=1
    rows+=("$distribution|root|system|0|1|0|||||")
  fi
  leave_system
done

{
  echo 'distribution|user|step|passed|failed|minutes|compiler|Bazel|CMake|mimalloc|Abseil'
  printf '%s\n' "${rows[@]}"
} | sed 's/||/|-|/g; s/||/|-|/g; s/|$/|-/' | column -t -s '|' -o ' | '
if [[ $failed == 0 ]]; then echo PASS; else echo FAIL; fi
exit "$failed"
