#!/usr/bin/env bash
# Writes .deps/bazelrc, which .bazelrc reads: options that Bazel 4 does not know.  With them Bazel 7
# takes the system's packages for the modules that MODULE.bazel names, and asks no registry.  For
# Bazel 4, which reads WORKSPACE, the file is empty.
set -euo pipefail

workspace=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd)
label=$(cat /usr/share/bazel/build-label.txt 2>/dev/null) || true

options() {
  if [[ ! $label =~ ^[0-9]+ || ${BASH_REMATCH[0]} -lt 7 ]]; then return; fi
  local module
  echo "# Written by tools/setup/write_bazelrc.sh, for Bazel $label."
  echo "# The system's packages, under the names that Bazel's registry has for them."
  for module in abseil-cpp cpp-httplib google_benchmark googletest nlohmann_json rules_shell; do
    echo "common --override_module=$module=$workspace/tools/workspace/stand_ins/$module"
  done
  echo "# What Bazel itself names, from Debian's packages."
  for module in rules/{cc,java,license,proto,python}; do
    echo "common --override_module=${module/\//_}=/usr/share/bazel/$module"
  done
  echo "common --override_module=bazel_features=/usr/share/bazel/tools/features"
  echo "common --override_module=bazel_skylib=/usr/share/bazel/tools/skylib"
  echo "common --override_module=platforms=/usr/share/bazel/tools/platforms"
  echo "# What Bazel names and no rule of C++ uses."
  for module in apple_support buildozer protobuf zlib; do
    echo "common --override_module=$module=$workspace/tools/workspace/stand_ins/$module"
  done
  echo "common --lockfile_mode=off"
  # Otherwise Bazel 7 adds its own definitions after any WORKSPACE, and downloads them.
  if [[ ${label%%.*} == 7 ]]; then echo "common --noenable_workspace"; fi
}

written=$workspace/.deps/bazelrc
new=$(options)
[[ -f $written && $(<"$written") == "$new" ]] && exit
mkdir -p "$workspace/.deps"
printf '%s\n' "$new" >"$written.$$"
mv "$written.$$" "$written"
