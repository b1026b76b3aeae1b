#!/usr/bin/env bash
# Fuzzes each target for so long with libFuzzer, and prints a table: run.sh SECONDS [TARGET...].
#
# Inputs that reach more code stay in CORPUS/TARGET, and findings in CORPUS/findings.  CORPUS is a
# variable of the environment, by default .deps/fuzz; BAZEL is another one, for options before the
# command.  A target ends at its first finding; the status is then 1.
set -uo pipefail

readonly most_seconds_of_an_input=20
readonly most_mib=2048

folder=$(dirname "$(readlink -f "$0")")
source_dir=$(dirname "$(dirname "$folder")")
corpus=$(realpath -m "${CORPUS:-$source_dir/.deps/fuzz}")

# The archive has a folder for each target.
mapfile -t all < <(tar -tzf "$folder/corpora.tgz" | cut -d/ -f1 | uniq)

usage() {
  echo "usage: run.sh SECONDS [TARGET...]; the targets are ${all[*]}" >&2
  exit 2
}

[[ ${1:-} =~ ^[1-9][0-9]*$ ]] || usage
seconds=$1
shift
targets=("$@")
[[ $# -gt 0 ]] || targets=("${all[@]}")
for target in "${targets[@]}"; do
  [[ " ${all[*]} " == *" $target "* ]] || usage
done

cd "$source_dir" || exit 1
labels=("${targets[@]/#/"//tests/fuzz:"}")
labels=("${labels[@]/%/_fuzzer}")
log=$(mktemp)
words=$(mktemp)
seeds=$(mktemp -d)
trap 'rm -rf "$log" "$words" "$seeds"' EXIT
tar -xzf "$folder/corpora.tgz" -C "$seeds"
# shellcheck disable=SC2086 # a command with options
if ! ${BAZEL:-./bazelw} build --config=fuzz --curses=no "${labels[@]}" >"$log" 2>&1 </dev/null; then
  cat "$log" >&2
  exit 1
fi
# Where this build puts its programs: the link bazel-bin is of the last one.
# shellcheck disable=SC2086 # a command with options
bin=$(${BAZEL:-./bazelw} info --config=fuzz bazel-bin 2>"$log" </dev/null) || exit 1

# What libFuzzer's log says behind a word, the last time; 0: nothing.
last() { # word, file
  grep -o "$1:\? *[0-9]\+" "$2" | tail -1 | grep -o '[0-9]\+$' || echo 0
}

mkdir -p "$corpus/findings"
failed=0
printf '%-10s %8s %12s %8s %9s %7s  %s\n' target seconds executions edges features inputs finding
for target in "${targets[@]}"; do
  mkdir -p "$corpus/$target"
  dictionary=()
  if grep -qx "## $target" "$folder/words.dict"; then
    awk -v target="## $target" '/^## / { on = $0 == target } on' "$folder/words.dict" >"$words"
    dictionary=("-dict=$words")
  fi
  start=$SECONDS
  "$bin/tests/fuzz/${target}_fuzzer" "-max_total_time=$seconds" -print_final_stats=1 \
    "-timeout=$most_seconds_of_an_input" "-rss_limit_mb=$most_mib" "${dictionary[@]}" \
    "-artifact_prefix=$corpus/findings/$target-" "$corpus/$target" "$seeds/$target" \
    >"$log" 2>&1 </dev/null
  status=$?
  finding=none
  if [[ $status -ne 0 ]]; then
    failed=1
    finding=$(grep -o 'Test unit written to .*' "$log" | tail -1)
    finding=${finding##*/}
    cp "$log" "$corpus/findings/$target.log"
  fi
  printf '%-10s %8d %12d %8d %9d %7d  %s\n' "$target" $((SECONDS - start)) \
    "$(last stat::number_of_executed_units "$log")" "$(last cov "$log")" "$(last ft "$log")" \
    "$(find "$corpus/$target" -type f | wc -l)" "${finding:-status $status}"
done
exit $failed
