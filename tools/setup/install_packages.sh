#!/usr/bin/env bash
# Installs the packages of packages.txt that are missing, after a line that says so.
# Of one|other, either will do; if neither is there, the one that apt knows is installed.
set -euo pipefail

die() { echo "bazelw: $1" >&2; exit 1; }

here=$(dirname "$(readlink -f "$0")")
mapfile -t wanted < <(sed 's/#.*//; s/[[:space:]]//g; /^$/d' "$here/packages.txt")

type dpkg-query apt-get >/dev/null 2>&1 ||
  die "Allomon is built with the packages of Debian 12 or 13, and this system has no apt."

names=${wanted[*]//|/ }
# shellcheck disable=SC2086 # names of packages
installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' $names 2>/dev/null) || true
is_installed() { # one|other
  local name
  for name in ${1//|/ }; do
    [[ $'\n'$installed$'\n' == *$'\n'"$name installed"$'\n'* ]] && return
  done
  return 1
}
missing=()
for package in "${wanted[@]}"; do
  is_installed "$package" || missing+=("$package")
done
[[ ${#missing[@]} -eq 0 ]] && exit

# The name of the package in this distribution; the last one where apt has no list yet.
name_here() { # one|other
  local name
  for name in ${1//|/ }; do
    apt-cache show --no-all-versions "$name" >/dev/null 2>&1 && break
  done
  echo "$name"
}

# Asks for a password only on a terminal, where somebody can answer.
may_sudo() {
  type sudo >/dev/null 2>&1 || return
  sudo -n true 2>/dev/null && return
  [[ -t 0 ]] || return
  echo "bazelw: the build needs Debian packages; sudo is asked to install them" >&2
  sudo -v
}

if [[ $EUID -eq 0 ]]; then
  as_root=()
elif may_sudo; then
  as_root=(sudo)
else
  die "some Debian packages are missing.  Run this as root, then try again:
apt-get update && apt-get install -y --no-install-recommends ${missing[*]##*|}"
fi

echo "bazelw: installing ${missing[*]##*|}" >&2
echo "bazelw: (once; a bare Debian downloads some 600 MB, and installs for a minute)" >&2

apt_get() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 "$@"
}
install_missing() {
  apt_get update || true # an old list may do; if not, the next command fails
  local package names=()
  for package in "${missing[@]}"; do names+=("$(name_here "$package")"); done
  apt_get install -y --no-install-recommends "${names[@]}"
}

if [[ -t 2 ]]; then
  install_missing >&2 || die "apt-get failed, see above."
else
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  install_missing >"$log" 2>&1 || { tail -n 25 "$log" >&2; die "apt-get failed, see above."; }
fi
