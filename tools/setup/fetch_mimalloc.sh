#!/usr/bin/env bash
# Unpacks Debian's source package of mimalloc into .deps/mimalloc.  Debian's binary package has only
# the shared library, and a static one is 30 % faster.
#
# Version 2.0.9 of Debian 12 is taken where apt offers it, else the newest of what it offers: 3.0.1
# in Debian 13.  What is there already stays, whatever its version.
#
# `apt-get source` needs deb-src lines, which few machines have.  So this script runs apt on a
# private copy of the machine's sources, with every `deb` turned into `deb-src`, and with private
# lists.  It needs no privileges and changes nothing on the machine.  apt checks signatures and
# hashes as always.
set -euo pipefail

preferred=2.0.9

workspace=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd)
deps=$workspace/.deps

is_ready() {
  grep -q '^#define MI_MALLOC_VERSION ' "$deps/mimalloc/include/mimalloc.h" 2>/dev/null
}
is_ready && exit

mkdir -p "$deps"
exec 9>"$deps/lock"
flock 9 # waits for another bazelw that does the same, and then finds the work done
is_ready && exit

echo "bazelw: fetching the source of mimalloc with apt (once; a few seconds)" >&2

private=$(mktemp -d)
trap 'rm -rf "$private" "$deps/mimalloc.new"' EXIT
trap 'exit 1' INT TERM HUP
chmod 755 "$private" # apt downloads as the user _apt
mkdir -p "$private"/{parts,lists/partial,cache/archives/partial,download}

fail() {
  tail -n 15 "$private/log" >&2
  echo "bazelw: $1" >&2
  exit 1
}

as_deb_src() {
  case $1 in
    *.sources) sed -E 's/^types:.*/Types: deb-src/I' "$1" ;;
    *) sed -nE '/cdrom:/d; s/^[[:space:]]*deb[[:space:]]/deb-src /p' "$1" ;;
  esac
}

list='' parts=''
eval "$(apt-config shell list Dir::Etc::SourceList/f parts Dir::Etc::SourceParts/d)"
if [[ -f $list ]]; then as_deb_src "$list" >"$private/sources.list"; fi
for file in "$parts"*.list "$parts"*.sources; do
  if [[ -f $file ]]; then as_deb_src "$file" >"$private/parts/$(basename "$file")"; fi
done

options=(
  -o Dir::Etc::SourceList="$private/sources.list"
  -o Dir::Etc::SourceParts="$private/parts"
  -o Dir::State::Lists="$private/lists"
  -o Dir::Cache="$private/cache"
  -o Acquire::AllowInsecureRepositories=false
  -o APT::Get::AllowUnauthenticated=false
)

cd "$private/download"
# A failing source of the machine is no error.  The error comes if mimalloc is not found.
apt-get "${options[@]}" -q update >"$private/log" 2>&1 || true
found=$(apt-cache "${options[@]}" showsrc --only-source mimalloc 2>>"$private/log" |
  sed -n 's/^Version: //p' | sort -uV) || true
package=$(grep -E "^$preferred([^0-9.]|\$)" <<<"$found" | tail -n 1) ||
  package=$(tail -n 1 <<<"$found")

[[ $found ]] || fail \
  "apt found no source package of mimalloc: make its mirror reachable, then run this again."
apt-get "${options[@]}" -q source --download-only "mimalloc=$package" >>"$private/log" 2>&1 ||
  fail "apt could not download the source of mimalloc $package: try again when the mirror answers."

# apt has checked the files.  The folder is completed under another name and then renamed, so that
# no other run sees half of it.
rm -rf "$deps/mimalloc.new"
dpkg-source --no-check --no-copy -x mimalloc_*.dsc "$deps/mimalloc.new" >>"$private/log" 2>&1 ||
  fail "the source package of mimalloc did not unpack; the disk may be full."
"$workspace/tools/setup/mend_mimalloc.sh" "$deps/mimalloc.new" || exit 1
rm -rf "$deps/mimalloc"
mv "$deps/mimalloc.new" "$deps/mimalloc"
is_ready || fail "the source package of mimalloc $package has no include/mimalloc.h."
