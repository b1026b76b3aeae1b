#!/usr/bin/env bash
# usage: fetch_arm_root.sh DIRECTORY
#
# Unpacks packages for 64-bit Arm, and all that they depend on, into DIRECTORY.  A cross build finds
# its libraries there (cmake/aarch64.cmake), and qemu-aarch64 the C library.  Nothing of it is run,
# and no package is configured.  A DIRECTORY that has them already stays; one that was made from
# another list is made anew.
#
# Runs apt on private lists with one line: the machine's own mirror and its release.  It needs no
# privileges and changes nothing on the machine.  apt checks signatures and hashes as always.
set -euo pipefail

[[ $# -eq 1 ]] || { sed -n '2s/^# //p' "$0" >&2; exit 2; }
directory=$1
packages=(
  libabsl-dev libbenchmark-dev libbz2-dev libc6-dev libdw-dev libgmock-dev libgtest-dev
  libiberty-dev liblua5.4-dev libpython3-dev nlohmann-json3-dev zlib1g-dev libzstd-dev
  perl-base python3
)
if version=$(aarch64-linux-gnu-g++ -dumpversion 2>/dev/null); then
  packages+=("libstdc++-${version%%.*}-dev")
fi
list=$directory/var/lib/dpkg/asked
[[ -e $list && $(<"$list") == "${packages[*]}" ]] && exit

fail() {
  if [[ -s ${private:-}/log ]]; then grep -E '^(E|Err)' "$private/log" | tail -n 3 >&2; fi
  echo "fetch_arm_root.sh: $1" >&2
  exit 1
}
for tool in apt-get dpkg-deb tar; do
  type "$tool" >/dev/null 2>&1 || fail "$tool is missing: packages for Arm are fetched on Debian."
done
# Only a folder that this script has made is replaced.
[[ ! -e $directory || -e $list || -e $directory/usr/lib/aarch64-linux-gnu ]] ||
  fail "$directory is there, and has no packages for Arm: name another folder."
mkdir -p "$(dirname "$directory")" 2>/dev/null || true
[[ -w $(dirname "$directory") ]] || fail "cannot write to $(dirname "$directory")."

private=$(mktemp -d)
trap 'rm -rf "$private" "$directory.new"' EXIT
trap 'exit 1' INT TERM HUP
chmod 755 "$private" # apt downloads as the user _apt
mkdir -p "$private"/{parts,lists/partial,cache/archives/partial}
: >"$private/status"

# shellcheck disable=SC2016 # apt expands these
read -r mirror release < <(
  apt-get indextargets --format '$(ORIGIN) $(COMPONENT) $(RELEASE) $(SITE)' 2>/dev/null |
    awk '$1 == "Debian" && $2 == "main" && $3 !~ /-/ { print $4, $3; exit }'
) || fail "apt has no list of a mirror of Debian: apt-get update, then run this again."
echo "deb [arch=arm64] $mirror $release main" >"$private/sources.list"

options=(
  -o Dir::Etc::SourceList="$private/sources.list"
  -o Dir::Etc::SourceParts="$private/parts"
  -o Dir::State::Lists="$private/lists"
  -o Dir::State::Status="$private/status"
  -o Dir::Cache="$private/cache"
  -o Acquire::AllowInsecureRepositories=false
  -o APT::Architecture=arm64
  -o APT::Architectures::=arm64
  -o APT::Get::AllowUnauthenticated=false
  -o Debug::NoLocking=true
)
echo "fetching packages for 64-bit Arm with apt (once; half a minute)" >&2
apt-get "${options[@]}" -q update >"$private/log" 2>&1 ||
  fail "apt could not read $release for arm64 from the machine's mirror."
apt-get "${options[@]}" -q --yes --no-install-recommends --download-only install "${packages[@]}" \
  >"$private/log" 2>&1 || fail "apt could not download the packages for arm64."

# Packages of Debian 12 have files in /lib and /bin, which are links.  dpkg-query answers for the
# folder by --admindir: which package a file is of, and its version.
rm -rf "$directory.new"
database=$directory.new/var/lib/dpkg
mkdir -p "$database/info"
echo 1 >"$database/info/format"
for folder in bin lib sbin; do
  mkdir -p "$directory.new/usr/$folder"
  ln -s "usr/$folder" "$directory.new/$folder"
done
for package in "$private"/cache/archives/*.deb; do
  dpkg-deb --fsys-tarfile "$package" |
    tar -x --keep-directory-symlink --no-same-owner -C "$directory.new" >>"$private/log" 2>&1 ||
    fail "$(basename "$package") did not unpack; the disk may be full."
  name=$(dpkg-deb --field "$package" Package)
  [[ $(dpkg-deb --field "$package" Multi-Arch) != same ]] || name+=:arm64
  dpkg-deb --fsys-tarfile "$package" | tar -t | sed 's,^[.],,; s,/$,,; s,^$,/.,' \
    >"$database/info/$name.list"
  { dpkg-deb --field "$package" && printf 'Status: install ok unpacked\n\n'; } >>"$database/status"
done

# Links of packages are absolute, and would lead to the machine's own libraries.
cd "$directory.new"
find . -type l | while read -r link; do
  target=$(readlink "$link")
  if [[ $target == /* ]]; then ln -sfnr ".$target" "$link"; fi
done
cd - >/dev/null
echo "${packages[*]}" >"$directory.new/var/lib/dpkg/asked"
rm -rf "$directory"
mv -T "$directory.new" "$directory"
