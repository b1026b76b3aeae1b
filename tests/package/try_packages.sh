#!/usr/bin/env bash
# usage: try_packages.sh BUILD_DIRECTORY
#
# Tests whether the packages of a build (cmake --build, then cpack in its directory) work on bare
# systems: Debian 11, 12 and 13, where nothing else is installed but python3-minimal.
#
#   sudo tests/package/try_packages.sh build         needs network and 1 GB
#
# Makes minimal chroots with this machine's mirror and keys.  In each it installs the .deb as root
# and uses it as an ordinary user, removes it, unpacks the tar.gz as that user, uses it, and again
# after the folder was moved to a name with a space.  Ends with a table, and PASS or FAIL.  It is
# not part of ctest, since it needs root, network and patience.
#
#   ALLOMON_RELEASES  of Debian (default: bullseye bookworm trixie; sid is another)
#   ALLOMON_CHROOTS   a directory to make the chroots in, as pack-RELEASE; bare systems are kept
#                     there as pack-RELEASE.tar and used again (default: a temporary directory)
set -euo pipefail

releases=${ALLOMON_RELEASES:-bullseye bookworm trixie}
here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)

die() { echo "try_packages.sh: $1" >&2; exit 1; }
[[ $# -eq 1 ]] || { sed -n '2s/^# //p' "$0" >&2; exit 2; }
[[ $EUID -eq 0 ]] || die "must be root"
type debootstrap >/dev/null || die "needs: apt-get install debootstrap"
deb=$(readlink -f "$1"/allomon_*_amd64.deb) || true
tarball=$(readlink -f "$1"/allomon-*.tar.gz) || true
[[ -f $deb && -f $tarball ]] || die "no packages in $1: run cpack there"
version=${deb##*/allomon_}
version=${version%_amd64.deb}

scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/allomon-packages.XXXXXX")
chroots=${ALLOMON_CHROOTS:-$scratch}
mkdir -p "$chroots"
chroot=

leave() {
  [[ $chroot ]] || return 0
  umount -l "$chroot/dev" "$chroot/proc" 2>/dev/null || true
  if mountpoint -q "$chroot/dev" || mountpoint -q "$chroot/proc"; then
    echo "still mounted, not removed: $chroot" >&2
    return 1
  fi
  rm -rf --one-file-system "$chroot"
  chroot=
}
# shellcheck disable=SC2317 # called by trap
clean_up() { if leave; then rm -rf --one-file-system "$scratch"; fi; }
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

# Prints the first mirror of Debian proper among the machine's apt sources.
mirror() {
  # shellcheck disable=SC2016 # apt expands these
  apt-get indextargets --format '$(ORIGIN) $(RELEASE) $(SITE)' 2>/dev/null |
    awk '$1 == "Debian" && $2 !~ /-/ { print $3; exit }'
}

enter() { # release; makes the chroot
  chroot=$chroots/pack-$1
  leave # of a run that was killed
  chroot=$chroots/pack-$1
  local bare=$chroots/pack-$1.tar
  mkdir -p "$chroot"
  if [[ ! -f $bare ]]; then
    debootstrap --variant=minbase --include=python3-minimal "$1" "$chroot" "$(mirror)" \
      >"$scratch/log" || { tail "$scratch/log"; die "debootstrap $1 failed"; }
    chroot "$chroot" useradd --create-home tester
    rm -rf "$chroot"/var/cache/apt/archives/*.deb
    tar -C "$chroot" -cpf "$bare" .
  else
    tar -C "$chroot" -xpf "$bare"
  fi
  mkdir -p "$chroot"/{proc,dev,srv/try}
  mount -t proc proc "$chroot/proc"
  mount --bind /dev "$chroot/dev"
  cp "$deb" "$tarball" "$here/try_here.sh" "$scratch/known_program" "$chroot/srv/try/"
}

inside() { # user, command; with next to nothing in the environment
  local home=/root
  [[ $1 == root ]] || home=/home/$1
  chroot "$chroot" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME="$home" LANG=C.UTF-8 \
    setpriv --reuid "$1" --regid "$1" --init-groups bash -c "cd && $2" </dev/null
}

failed=0
table=()
try() { # release, what, user, command; each line of its output that is a step goes to the table
  local lines verdict=PASS steps
  if ! lines=$(inside "$3" "$4" 2>&1); then verdict=FAIL failed=1; fi
  steps=$(sed -nE 's/^PASS (.*)/\1/p; s/^FAIL (.*)/(\1 FAILED)/p' <<<"$lines")
  table+=("$(printf '%-9s %-42s %s  %s' "$1" "$2" "$verdict" "${steps//$'\n'/ }")")
  if [[ $verdict == FAIL ]]; then printf '%s: %s\n%s\n' "$1" "$2" "$lines"; fi
}

try_release() {
  local release=$1 try="/srv/try/try_here.sh" known=/srv/try/known_program
  local folder="allomon-$version-linux-x86_64"
  enter "$release"
  try "$release" "no Abseil, libdw or compiler" root \
    '! ls /usr/lib/x86_64-linux-gnu/lib{absl_base,dw}.so.* /usr/bin/cc 2>/dev/null'
  try "$release" "glibc $(inside root "ldd --version" | sed -n '1s/.* //p')" root 'true'

  try "$release" ".deb is installed" root "dpkg -i /srv/try/*.deb"
  try "$release" ".deb, library by its bare name" tester \
    "$try /usr liballomon.so $version $known"
  try "$release" ".deb is removed without a trace" root \
    "dpkg --purge allomon && ! find /usr /etc -iname '*allomon*' | grep ."

  try "$release" "tar.gz is unpacked" tester "tar -xzf /srv/try/*.tar.gz"
  try "$release" "tar.gz" tester \
    "mkdir work && cd work && $try ~/$folder ~/$folder/lib/liballomon.so $version $known"
  try "$release" "tar.gz, moved to a folder with a space" tester \
    "mkdir 'my tools' && mv $folder 'my tools/allomon' && ln -s 'my tools/allomon/lib' lib &&
     cd work && $try '/home/tester/my tools/allomon' ~/lib/liballomon.so $version $known"
  leave
}

# A program with debug information that runs everywhere.
glibc=$(sed -n 's/^ALLOMON_GLIBC:PATH=//p' "$1/CMakeCache.txt")
libraries=$glibc/usr/lib/x86_64-linux-gnu
[[ -d $libraries ]] || die "no $libraries, which cmake has fetched: try the packages where it ran"
cc -g -gz -O1 -c "$here/known_program.c" -o "$scratch/known.o"
cc "--sysroot=$glibc" "-B$libraries" "-L$libraries" "$scratch/known.o" -o "$scratch/known_program"

for release in $releases; do try_release "$release"; done
echo
printf '%s\n' "${table[@]}"
if [[ $failed -eq 0 ]]; then echo PASS; else echo FAIL; fi
exit "$failed"
