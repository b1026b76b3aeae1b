#!/usr/bin/env bash
# Puts the files of a folder into the archive of corpora, beside those that a target has there:
# pack.sh TARGET FOLDER.  The same files give the same archive.
set -euo pipefail

if [[ $# -ne 2 || ! -d $2 ]]; then
  echo "usage: pack.sh TARGET FOLDER" >&2
  exit 2
fi
archive=$(dirname "$(readlink -f "$0")")/corpora.tgz
inputs=$(mktemp -d)
trap 'rm -rf "$inputs"' EXIT
if [[ -e $archive ]]; then tar -xzf "$archive" -C "$inputs"; fi
mkdir -p "$inputs/$1"
find "$2" -maxdepth 1 -type f -exec cp -t "$inputs/$1" {} +
find "$inputs" -type d -exec chmod 755 {} +
find "$inputs" -type f -exec chmod 644 {} +
(cd "$inputs" && tar --format=ustar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner \
  -cf - -- *) | gzip -n9 >"$archive.new"
mv "$archive.new" "$archive"
