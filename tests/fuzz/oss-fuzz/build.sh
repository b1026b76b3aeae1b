#!/usr/bin/env bash
# Builds all targets with OSS-Fuzz's compilers and flags into $OUT, with their corpora and
# dictionaries, and the libraries that OSS-Fuzz's machines lack.  Run in the source tree.  BAZEL: as
# for run.sh.
set -euo pipefail

# The distribution's Abseil is built with libstdc++, and is no member of an OSS-Fuzz build.
flags=()
for flag in ${CXXFLAGS/-stdlib=libc++/}; do
  flags+=("--copt=$flag" "--linkopt=$flag")
done

# The archive has a folder for each target.
mapfile -t targets < <(tar -tzf tests/fuzz/corpora.tgz | cut -d/ -f1 | uniq)
labels=("${targets[@]/#/"//tests/fuzz:"}")
# shellcheck disable=SC2016 # the loader expands it
options=(--platform_suffix=oss_fuzz "--action_env=CC=$CC" "--action_env=CXX=$CXX"
  --//allocator:backend=system --copt=-UNDEBUG "${flags[@]}"
  "--define=FUZZING_ENGINE=$LIB_FUZZING_ENGINE" '--linkopt=-Wl,-rpath,$ORIGIN/lib')
# shellcheck disable=SC2086 # a command with options
${BAZEL:-./bazelw} build "${options[@]}" "${labels[@]/%/_fuzzer}"
# shellcheck disable=SC2086 # a command with options
bin=$(${BAZEL:-./bazelw} info "${options[@]}" bazel-bin)

mkdir -p "$OUT/lib"
inputs=$(mktemp -d)
trap 'rm -rf "$inputs"' EXIT
tar -xmzf tests/fuzz/corpora.tgz -C "$inputs"
for target in "${targets[@]}"; do
  program=$OUT/${target}_fuzzer
  cp "$bin/tests/fuzz/${target}_fuzzer" "$program"
  chmod u+w "$program"
  # All but the C library's own.
  ldd "$bin/tests/fuzz/${target}_fuzzer" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' |
    grep -Ev '/(libc|libm|libdl|librt|libpthread)\.so' | xargs -r cp -Lt "$OUT/lib"
  (cd "$inputs/$target" && python3 -m zipfile -c "${program}_seed_corpus.zip" ./*)
  if grep -qx "## $target" tests/fuzz/words.dict; then
    awk -v target="## $target" '/^## / { on = $0 == target } on' tests/fuzz/words.dict \
      >"$program.dict"
  fi
done
