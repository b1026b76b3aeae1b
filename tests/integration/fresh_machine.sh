#!/usr/bin/env bash
# Tests whether the README's first command works on a Debian 12 with nothing installed.
#
#   sudo tests/integration/fresh_machine.sh          needs network and 3 GB
#
# Makes a minimal Debian 12 in a chroot with this machine's apt sources and keys.  Clones HEAD there
# and runs both commands of the README, first as root and then as an ordinary user in a second
# clone.  Ends with PASS or FAIL and the time for each.  The script is not part of `bazel test`,
# since it needs root, network and patience.
#
#   ALLOMON_COMMANDS  the commands, separated by semicolons
#                     (default: run //examples:fib_tak; test //...)
#   ALLOMON_CHROOT    a directory to make the chroot in, and to keep.  A chroot that is there
#                     already is used again, with what is installed in it.  (Default: a
#                     temporary directory.)
#   ALLOMON_TARBALL   a file with the bare system: made if it is not there, else unpacked
#   ALLOMON_USERS     the users that run the commands (default: root builder)
set -euo pipefail

commands=${ALLOMON_COMMANDS:-run //examples:fib_tak; test //...}
users=${ALLOMON_USERS:-root builder}
tarball=${ALLOMON_TARBALL:-}
source_dir=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd)

[[ $EUID -eq 0 ]] || { echo "must be root" >&2; exit 1; }
type debootstrap >/dev/null || { echo "needs: apt-get install debootstrap" >&2; exit 1; }

scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/allomon-fresh.XXXXXX")
chroot=${ALLOMON_CHROOT:-$scratch/root}
mkdir -p "$chroot"

# shellcheck disable=SC2317 # called by trap
clean_up() {
  umount -l "$chroot/dev/pts" "$chroot/dev/shm" "$chroot/dev" "$chroot/proc" 2>/dev/null || true
  if mountpoint -q "$chroot/dev" || mountpoint -q "$chroot/proc"; then
    echo "still mounted, not removed: $chroot" >&2
  else
    rm -rf --one-file-system "$scratch"
  fi
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

# Prints the first mirror of Debian proper among the machine's apt sources.
mirror() {
  # shellcheck disable=SC2016 # apt expands these
  apt-get indextargets --format '$(ORIGIN) $(RELEASE) $(SITE)' 2>/dev/null |
    awk '$1 == "Debian" && $2 == "bookworm" { print $3; exit }'
}

bootstrap() {
  if [[ -f $tarball ]]; then
    tar -C "$chroot" -xpf "$tarball"
    return
  fi
  debootstrap --variant=minbase bookworm "$chroot" "$(mirror)" >"$scratch/debootstrap.log" ||
    { tail "$scratch/debootstrap.log"; return 1; }
  if [[ $tarball ]]; then tar -C "$chroot" -cpf "$tarball" .; fi
}

inside() { # arguments: user, command; runs it with next to nothing in the environment
  local home=/root
  [[ $1 == root ]] || home=/home/$1
  chroot "$chroot" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME="$home" LANG=C.UTF-8 \
    setpriv --reuid "$1" --regid "$1" --init-groups bash -c "$2" </dev/null
}

[[ -x $chroot/bin/bash ]] || bootstrap
mkdir -p "$chroot"/{proc,dev}
mount -t proc proc "$chroot/proc"
mount --bind /dev "$chroot/dev" # without pts and shm, as in many containers

cp /etc/resolv.conf /etc/hosts "$chroot/etc/"
for part in sources.list sources.list.d apt.conf.d trusted.gpg trusted.gpg.d keyrings; do
  rm -rf "$chroot/etc/apt/$part"
  if [[ -e /etc/apt/$part ]]; then cp -a "/etc/apt/$part" "$chroot/etc/apt/"; fi
done
cp -an /usr/share/keyrings/. "$chroot/usr/share/keyrings/"

failed=0
for user in $users; do
  [[ $user == root ]] || chroot "$chroot" id "$user" >/dev/null 2>&1 ||
    chroot "$chroot" useradd --create-home "$user"

  clone=/srv/$user+1/allomon
  rm -rf "${chroot:?}${clone%/*}"
  git clone --quiet --no-hardlinks "$source_dir" "$chroot$clone"
  # shellcheck disable=SC2016 # expanded inside, where the user exists
  chroot "$chroot" chown -R "$user:$user" "$clone"

  while read -r command; do
    echo "== $user: ./bazelw $command"
    start=$SECONDS
    if inside "$user" "cd \"$clone\" && ./bazelw $command"; then verdict=PASS; else verdict=FAIL; fi
    [[ $verdict == PASS ]] || failed=1
    report+=("$verdict  $user: ./bazelw $command  ($((SECONDS - start)) s)")
  done < <(tr ';' '\n' <<<"$commands" | sed 's/^ *//; /^$/d')

  inside "$user" "cd \"$clone\" && bazel shutdown" >/dev/null 2>&1 || true
done

printf '%s\n' "${report[@]}"
exit "$failed"
