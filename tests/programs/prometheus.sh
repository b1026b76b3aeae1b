#!/usr/bin/env bash
# Prometheus scrapes `allomon serve` beside examples/tenants, whose tenant-17 leaks, and is asked by
# its own interface: that it took every scrape, that its value is the page's, and that what leaks
# grows more than the others.  By hand: it needs the package prometheus (its service need not run).
#
#   bazel build //tools:allomon //allocator:liballomon.so //examples:tenants
#   tests/programs/prometheus.sh [SECONDS]          # default 60
#
# PROMETHEUS names another prometheus than that of PATH.
set -euo pipefail

root=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd)
seconds=${1:-60} prometheus=${PROMETHEUS:-prometheus}
built=$root/bazel-bin
scratch=$(mktemp -d)
processes=()

# shellcheck disable=SC2317 # called by trap
clean_up() {
  for process in "${processes[@]}"; do kill "$process" 2>/dev/null || true; done
  wait
  rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

fail() {
  echo "FAIL: $1" >&2
  exit 1
}

type "$prometheus" >/dev/null 2>&1 || fail "no $prometheus: apt install prometheus"

mkdir "$scratch/recordings"
ALLOMON_RECORD=$scratch/recordings/tenants.rec ALLOMON_RATE=1e-3 \
  LD_PRELOAD=$built/allocator/liballomon.so "$built/examples/tenants" $((seconds + 30)) \
  >"$scratch/tenants.log" &
processes+=($!)
"$built/tools/allomon/allomon" serve --listen=127.0.0.1:0 --dir="$scratch/recordings" \
  >"$scratch/serve.log" &
processes+=($!)
until grep -q http "$scratch/serve.log"; do sleep 0.1; done
target=$(sed -n 's,.*http://\(.*\)/$,\1,p' "$scratch/serve.log")

cat >"$scratch/prometheus.yml" <<CONFIGURATION
scrape_configs:
  - job_name: allomon
    scrape_interval: 5s
    static_configs:
      - targets: ['$target']
CONFIGURATION
own=127.0.0.1:$((20000 + RANDOM % 10000))
"$prometheus" --config.file="$scratch/prometheus.yml" --storage.tsdb.path="$scratch/data" \
  --web.listen-address="$own" >"$scratch/prometheus.log" 2>&1 &
processes+=($!)

sleep "$seconds"

# The values of an expression, a line each: value, then the label `value`.
ask() { # expression
  python3 - "http://$own/api/v1/query" "$1" <<'PYTHON'
import json
import sys
import urllib.parse
import urllib.request

url = sys.argv[1] + "?" + urllib.parse.urlencode({"query": sys.argv[2]})
with urllib.request.urlopen(url) as answer:
    result = json.load(answer)["data"]["result"]
for row in result:
    print(row["value"][1], row["metric"].get("value", ""))
PYTHON
}

scrapes=$(ask "count_over_time(up[${seconds}s])" | cut -d' ' -f1)
worst=$(ask "min_over_time(up[${seconds}s])" | cut -d' ' -f1)
echo "scrapes: ${scrapes:-none}, the worst of them ${worst:-none} (1: taken)"
[[ $worst == 1 && $scrapes -ge $((seconds / 5 - 3)) ]] ||
  fail "scrapes were lost: $(tail -n 1 "$scratch/prometheus.log")"

series=$(ask 'count({__name__=~"allomon_.*"})')
echo "series: $series"
echo 'live bytes of tenants that grew most, by Prometheus:'
ask "topk(3, delta(allomon_label_live_bytes{label=\"tenant\"}[${seconds}s]))"
most=$(ask "topk(1, delta(allomon_label_live_bytes{label=\"tenant\"}[${seconds}s]))")
[[ $most == *' tenant-17' ]] || fail "tenant-17 leaks, and the one that grew most is $most"

# The host has ended: page and Prometheus say the same.
kill "${processes[0]}"
sleep 12
page=$(python3 -c 'import sys, urllib.request as r
print(r.urlopen("http://" + sys.argv[1] + "/metrics").read().decode())' "$target" |
  sed -n 's/^allomon_live_bytes{.*} //p')
known=$(ask allomon_live_bytes | cut -d' ' -f1)
echo "live bytes: $page by the page, $known by Prometheus"
[[ -n $page && $page == "$known" ]] || fail "Prometheus has another value than the page"
[[ $(ask allomon_recording_running) == '0 ' ]] || fail "the host has ended and is said to run"
echo PASS
