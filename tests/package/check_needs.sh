#!/usr/bin/env bash
# usage: check_needs.sh GLIBC_VERSION FILE...
#
# Fails if an executable or library needs a later C library than that, or any other library.
# Prints what each needs.
set -euo pipefail

[[ $# -ge 2 ]] || { sed -n '2s/^# //p' "$0" >&2; exit 2; }
limit=$1
shift
allowed='^(lib(c|m)[.]so[.]6|libpthread[.]so[.]0|libdl[.]so[.]2|librt[.]so[.]1|ld-linux-.*)$'

refuse() { echo "  needs ${1//$'\n'/ }"; }

failed=0
for file in "$@"; do
  libraries=$(readelf -dW "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
  # Names of versions stand behind undefined symbols: "memcpy@GLIBC_2.14 (5)".
  versions=$(readelf --dyn-syms -W "$file" | awk '$7 == "UND"' | grep -oE '@[A-Za-z_]+[0-9.]+' |
    tr -d @ | sort -uV)
  highest=$(sed -n 's/^GLIBC_//p' <<<"$versions" | tail -n 1)
  echo "$(basename "$file"): glibc $highest; ${libraries//$'\n'/ }"

  others=$(grep -vE "$allowed" <<<"$libraries") && { failed=1; refuse "$others"; }
  others=$(grep -v '^GLIBC_' <<<"$versions") && { failed=1; refuse "$others"; }
  if [[ $(printf '%s\n' "$limit" "$highest" | sort -V | tail -n 1) != "$limit" ]]; then
    failed=1
    readelf --dyn-syms -W "$file" | grep "GLIBC_$highest" | awk '{ print "  needs " $8 }'
  fi
done
exit "$failed"
