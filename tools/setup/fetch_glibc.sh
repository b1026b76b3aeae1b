#!/usr/bin/env bash
# usage: fetch_glibc.sh DIRECTORY [amd64|arm64]
#
# Unpacks the C library of Debian 11 (glibc 2.31) into DIRECTORY.  Packages are linked with it, so
# that they run on it and on all later versions.  It is libc6 and libc6-dev, without files that a
# link does not need.  A DIRECTORY that has it already stays.
#
# Runs apt on a private list with one line: the machine's own mirror of Debian, and Debian 11.  It
# needs no privileges and changes nothing on the machine.  apt checks signatures and hashes as
# always.
set -euo pipefail

release=bullseye

architecture=${2:-amd64}
case $architecture in
  amd64) libraries=usr/lib/x86_64-linux-gnu ;;
  arm64) libraries=usr/lib/aarch64-linux-gnu ;;
  *) set -- ;;
esac
[[ $# -ge 1 ]] || { sed -n '2s/^# //p' "$0" >&2; exit 2; }
directory=$1
[[ -e $directory/$libraries/libc_nonshared.a ]] && exit

fail() {
  if [[ -s ${private:-}/log ]]; then tail -n 15 "$private/log" >&2; fi
  echo "fetch_glibc.sh: $1" >&2
  exit 1
}
for tool in apt-get dpkg-deb; do
  type "$tool" >/dev/null 2>&1 || fail "$tool is missing: packages are built on Debian; \
or name an unpacked glibc 2.31 with -DALLOMON_GLIBC=DIRECTORY."
done
mkdir -p "$(dirname "$directory")" 2>/dev/null || true
[[ -w $(dirname "$directory") ]] ||
  fail "cannot write to $(dirname "$directory"); name another place with -DALLOMON_GLIBC=DIRECTORY."

private=$(mktemp -d)
trap 'rm -rf "$private" "$directory.new"' EXIT
trap 'exit 1' INT TERM HUP
chmod 755 "$private" # apt downloads as the user _apt
mkdir -p "$private"/{parts,lists/partial,cache/archives/partial,download}
chmod 777 "$private/download"

# shellcheck disable=SC2016 # apt expands these
mirror=$(apt-get indextargets --format '$(ORIGIN) $(COMPONENT) $(RELEASE) $(SITE)' 2>/dev/null |
  awk '$1 == "Debian" && $2 == "main" && $3 !~ /-/ { print $4; exit }')
[[ $mirror ]] || fail "apt has no list of a mirror of Debian: apt-get update, then run this again."
echo "deb [arch=$architecture] $mirror $release main" >"$private/sources.list"

options=(
  -o Dir::Etc::SourceList="$private/sources.list"
  -o Dir::Etc::SourceParts="$private/parts"
  -o Dir::State::Lists="$private/lists"
  -o Dir::Cache="$private/cache"
  -o Acquire::AllowInsecureRepositories=false
  -o APT::Architecture="$architecture"
  -o APT::Architectures::="$architecture"
  -o APT::Get::AllowUnauthenticated=false
)
echo "fetching the C library of Debian 11 with apt (once; a few seconds)" >&2
apt-get "${options[@]}" -q update >"$private/log" 2>&1 ||
  fail "apt could not read Debian 11 from the machine's mirror: try again when it answers."
# Asks for the version in the list, because the machine's own libc6 is newer.
version=$(apt-cache "${options[@]}" madison libc6 2>>"$private/log" |
  awk -F' *[|] *' '$3 ~ /bullseye.*Packages/ { print $2; exit }')
[[ $version == 2.31-* ]] || fail "the mirror has no libc6 of Debian 11."
(cd "$private/download" && apt-get "${options[@]}" -q download \
  "libc6=$version" "libc6-dev=$version" >>"$private/log" 2>&1) ||
  fail "apt could not download libc6 $version: try again when the mirror answers."

rm -rf "$directory.new"
for package in "$private/download"/*.deb; do
  dpkg-deb -x "$package" "$directory.new" >>"$private/log" 2>&1 ||
    fail "$(basename "$package") did not unpack; the disk may be full."
done

# Compilations use the machine's own headers, and no C library is linked statically.
cd "$directory.new"
find . -name '*.a' ! -name libc_nonshared.a -delete
rm -rf etc sbin usr/bin usr/sbin usr/share usr/include "$libraries"/{gconv,audit}
# Links of packages are absolute, and would lead to the machine's own libraries.
find . -type l | while read -r link; do
  target=$(readlink "$link")
  if [[ $target == /* ]]; then ln -sfnr ".$target" "$link"; fi
done
cd - >/dev/null
rm -rf "$directory"
mv "$directory.new" "$directory"
