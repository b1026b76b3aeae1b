#!/bin/sh
# embed.sh OUT PAGE STYLE SCRIPT...: the files as the strings of page.h.
# Text goes into raw strings as it is.  Only programs of coreutils are used.
set -eu
out=$1 html=$2 style=$3
shift 3

text() {  # NAME FILE...
  name=$1
  shift
  printf 'extern const char %s[] = R"embedded(' "$name"
  cat "$@"
  printf ')embedded";\n'
}

hash() {  # NAME FILE...: of all the files' bytes behind each other
  name=$1
  shift
  sum=$(cat "$@" | sha256sum | cut -c 1-64 | tr a-f A-F | basenc --base16 -d | base64)
  printf 'extern const char %s[] = "sha256-%s";\n' "$name" "$sum"
}

{
  printf '#include "tools/flame/page.h"\n\nnamespace allomon::flame {\n'
  text kHtml "$html"
  text kStyle "$style"
  text kScript "$@"
  hash kStyleHash "$style"
  hash kScriptHash "$@"
  printf '}  // namespace allomon::flame\n'
} >"$out"
