#!/usr/bin/env bash
# usage: package_test.sh CPACK BUILD_DIRECTORY
#
# Makes the packages of a build that is complete, and looks at them: what their files need of a
# machine, that both have the same files, and that the tar.gz works in a folder with a space, after
# it was moved there, and through a link.  Status 77, which skips the test, where no C library of
# Debian 11 can be fetched or static libraries are missing.
set -euo pipefail

cpack=$1 build=$2
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cmake=$(sed -n 's/^CMAKE_COMMAND:INTERNAL=//p' "$build/CMakeCache.txt")
glibc=$(sed -n 's/^ALLOMON_GLIBC:PATH=//p' "$build/CMakeCache.txt")
"$cmake" --build "$build" --target allomon_glibc ||
  { echo "skipped: the packages cannot be linked here"; exit 77; }

"$cpack" --config "$build/CPackConfig.cmake" -B "$scratch/made" >"$scratch/log" 2>&1 ||
  { tail -n 40 "$scratch/log"; exit 1; }
deb=$(echo "$scratch"/made/allomon_*_amd64.deb)
tarball=$(echo "$scratch"/made/allomon-*-linux-x86_64.tar.gz)

echo "== made twice"
(umask 077 && TZ=Asia/Tokyo "$cpack" --config "$build/CPackConfig.cmake" -B "$scratch/again") \
  >"$scratch/log" 2>&1 || { tail -n 40 "$scratch/log"; exit 1; }
cmp "$deb" "$scratch/again/${deb##*/}"
cmp "$tarball" "$scratch/again/${tarball##*/}"
rm -rf "$scratch/again"
version=${deb##*/allomon_}
version=${version%_amd64.deb}

mkdir "$scratch/one folder"
tar -C "$scratch" -xzf "$tarball"
prefix="$scratch/one folder/moved"
mv "$scratch/allomon-$version-linux-x86_64" "$prefix"

echo "== what is needed"
"$here/check_needs.sh" 2.31 "$prefix"/bin/* "$prefix"/lib/liballomon.so
if "$here/check_needs.sh" 2.31 "$build/bin/allomon" >/dev/null; then
  echo "check_needs.sh takes the command of this machine for one of Debian 11"
  exit 1
fi

echo "== what is in it"
(cd "$prefix" && find . -type f | sort) >"$scratch/files"
if type dpkg-deb >/dev/null 2>&1; then
  dpkg-deb --fsys-tarfile "$deb" | tar -t | sed -n 's,^[.]/usr/\(.*[^/]\)$,./\1,p' | sort |
    diff "$scratch/files" -
  dpkg-deb --field "$deb" Package Version Architecture Depends
  if dpkg-deb --ctrl-tarfile "$deb" | tar -t | grep conffiles; then exit 1; fi
  if type lintian >/dev/null 2>&1; then
    echo "== lintian"
    lintian --allow-root --fail-on error,warning "$deb"
  else
    echo "no lintian, which is not asked"
  fi
fi
for file in bin/allomon bin/mlprof bin/prof lib/liballomon.so lib/liballomon.a \
  lib/allomon/run_gate.sh \
  lib/cmake/Allomon/AllomonConfig.cmake lib/pkgconfig/allomon.pc share/doc/allomon/copyright \
  share/doc/allomon/tools/flame/flame.png share/doc/allomon/tools/flame/flame_diff.png \
  share/doc/allomon/benchmarks/compare.svg share/doc/allomon/tools/report/example.svg \
  share/doc/allomon/SECURITY.md share/doc/allomon/docs/quick_start.md \
  share/doc/allomon/tools/run/README.md \
  share/doc/allomon/allomon.spdx.json share/doc/allomon/third_party_licences \
  share/man/man1/allomon.1.gz share/man/man1/allomon-report.1.gz \
  share/man/man1/mlprof.1.gz share/man/man1/prof.1.gz share/lintian/overrides/allomon \
  share/bash-completion/completions/allomon share/zsh/vendor-completions/_allomon \
  share/fish/vendor_completions.d/allomon.fish; do
  grep -qxF "./$file" "$scratch/files" || { echo "there is no $file"; exit 1; }
done
# A package says nothing of the place where it was made.
if grep -rlF "$build" "$prefix/lib/cmake" "$prefix/lib/pkgconfig" "$prefix/lib/allomon"; then
  exit 1
fi

echo "== in a folder with a space, by a link"
libraries=$glibc/usr/lib/x86_64-linux-gnu
cc -g -gz -O1 -c "$here/known_program.c" -o "$scratch/known.o"
cc "--sysroot=$glibc" "-B$libraries" "-L$libraries" "$scratch/known.o" -o "$scratch/known"
mkdir -p "$scratch/linked/bin" "$scratch/work"
ln -s "$prefix/bin/allomon" "$scratch/linked/bin/allomon"
ln -s "$prefix/lib/liballomon.so" "$scratch/liballomon.so"
cd "$scratch/work"
"$here/try_here.sh" "$scratch/linked" "$scratch/liballomon.so" "$version" "$scratch/known"
