#!/usr/bin/env bash
# Installs the packages of packages.txt that are missing or too old, after a line that says so.
# Downloads nothing if this distribution lacks one of them in the version that is needed.
set -euo pipefail

die() {
  echo "bazelw: $1" >&2
  exit 1
}

here=$(dirname "$(readlink -f "$0")")
# Each entry is "one|other" or "one|other>=version".
mapfile -t wanted < <(sed 's/#.*//; s/[[:space:]]//g; /^$/d' "$here/packages.txt")

type dpkg-query dpkg apt-get >/dev/null 2>&1 ||
  die "this system has no apt-get, which installs what Bazel's build needs: use Debian 12 or\
 later, or build by CMake with this system's libraries (cmake/README.md)."

is_enough() { # entry, version
  [[ $1 != *'>='* ]] || dpkg --compare-versions "$2" ge "${1##*>=}"
}

declare -A installed # package -> version
names=${wanted[*]%%>=*}
while read -r name status version; do
  [[ $status != installed ]] || installed[$name]=$version
done < <(
  # shellcheck disable=SC2016,SC2086 # dpkg expands the fields; names of packages
  dpkg-query -W -f '${Package} ${db:Status-Status} ${Version}\n' ${names//|/ } 2>/dev/null
)
is_installed() { # entry
  local name names=${1%%>=*}
  for name in ${names//|/ }; do
    [[ -z ${installed[$name]:-} ]] || ! is_enough "$1" "${installed[$name]}" || return 0
  done
  return 1
}
missing=()
for entry in "${wanted[@]}"; do
  is_installed "$entry" || missing+=("$entry")
done
[[ ${#missing[@]} -eq 0 ]] && exit

# Prints the version that apt would install; nothing if it knows no version.
candidate() { # package
  LC_ALL=C apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: //p' | grep -v '^(none)$'
}
# Prints the name of the package in this distribution; the last one if apt has no list yet.
name_here() { # entry
  local name names=${1%%>=*}
  for name in ${names//|/ }; do
    ! candidate "$name" >/dev/null || break
  done
  echo "$name"
}
names_here() {
  local names=() entry
  for entry in "${missing[@]}"; do names+=("$(name_here "$entry")"); done
  echo "${names[*]}"
}

# Asks for a password only on a terminal, where somebody can answer.
may_sudo() {
  type sudo >/dev/null 2>&1 || return
  sudo -n true 2>/dev/null && return
  [[ -t 0 ]] || return
  echo "bazelw: the build needs Debian packages; sudo is asked to install them" >&2
  sudo -v
}

if [[ $(id -u) -eq 0 ]]; then
  as_root=()
elif may_sudo; then
  as_root=(sudo)
else
  die "some Debian packages are missing, or too old.  Run this as root, then try again:
apt-get update && apt-get install -y --no-install-recommends $(names_here)"
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Shows output on a terminal at once; otherwise only if apt fails.
apt_get() {
  local to=/dev/null
  [[ ! -t 2 ]] || to=/dev/stderr
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 \
    apt-get -o DPkg::Lock::Timeout=600 "$@" 2>&1 | tee -a "$log" >"$to"
}
no_mirror='Failed to fetch|Could not resolve|Could not connect|Temporary failure|Unable to connect'
# Shows apt's messages, unless they were shown on a terminal.
show() { # lines at most
  [[ ! -t 2 ]] || return 0
  { grep -E '^(E:|W:|Err:|dpkg:|Error)' "$log" || cat "$log"; } | tail -n "$1" >&2
}
unreachable() {
  show 3
  die "$1: check the network, the proxy and /etc/apt with 'apt-get update', then run this again."
}

# One of several mirrors may fail.  If all fail, apt would try each of the packages for minutes.
if ! apt_get update || ! grep -qE '^(Hit|Get):' "$log"; then
  ! grep -qE "$no_mirror" "$log" || unreachable "apt cannot reach its mirror"
fi
for entry in "${missing[@]}"; do
  name=$(name_here "$entry")
  version=$(candidate "$name") || {
    ! grep -qE "$no_mirror" "$log" || unreachable "apt cannot reach a mirror, and knows no $name"
    die "this distribution has no package $name, which the build needs: use Debian 12 or later, or\
 build by CMake (cmake/README.md)."
  }
  is_enough "$entry" "$version" ||
    die "$name is $version in this distribution, and the build needs ${entry##*>=} or later: use\
 Debian 12 or later, or build by CMake (cmake/README.md)."
done

echo "bazelw: installing $(names_here)" >&2
echo "bazelw: (once; a bare Debian downloads some 600 MB, and installs for a minute)" >&2
# shellcheck disable=SC2046 # names of packages
apt_get install -y --no-install-recommends $(names_here) || {
  ! grep -qE "$no_mirror" "$log" ||
    unreachable "apt cannot download from its mirror"
  show 25
  die "apt-get could not install what is missing: see what it says above; then run this again."
}
