#!/usr/bin/env bash
# usage: in_aarch64_root.sh ROOT COMMAND...
#
# Runs a command in a root of Debian for 64-bit Arm (debootstrap --arch=arm64) on another processor,
# by qemu-user-static.  Programs can start programs there: the kernel keeps the format for a user
# namespace of its own (Linux 6.7 or later), so that the machine is not changed.  The status is the
# command's.
set -euo pipefail

[[ $# -ge 2 && -d $1 ]] || { sed -n '2s/^# //p' "$0" >&2; exit 2; }
qemu=$(type -P qemu-aarch64-static) || {
  echo "in_aarch64_root.sh: missing: apt-get install qemu-user-static" >&2
  exit 1
}

# The head of an ELF file for AArch64, executable or shared object, and the bits of it that count.
magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'

# F: the kernel opens qemu now, since the root does not have it.
# shellcheck disable=SC2016 # the inner shell expands them
exec unshare --user --map-root-user --mount bash -euc '
  formats=/proc/sys/fs/binfmt_misc
  mount -t binfmt_misc none "$formats"
  printf %s ":aarch64:M::$3:$4:$2:F" >"$formats/register"
  for folder in proc dev sys; do mount --rbind "/$folder" "$1/$folder"; done
  exec chroot "$1" "${@:5}"' _ "$1" "$qemu" "$magic" "$mask" "${@:2}"
