"$build/follow"

# refused WORDS CODE...: a project of this code is refused with these words.
refused() {
  local words=$1
  shift
  mkdir -p "$scratch/refused"
  printf '%s\n' 'cmake_minimum_required(VERSION 3.24)' 'project(Refused LANGUAGES CXX)' "$@" \
    >"$scratch/refused/CMakeLists.txt"
  if quietly "$cmake" -S "$scratch/refused" -B "$scratch/refused/build" \
    -DCMAKE_PREFIX_PATH="$prefix"; then
    fail "not refused: $*"
  fi
  tr -s ' \n' ' ' <"$scratch/log" | grep -q "$words" || fail "not said: $words"
}
refused 'Allomon has no components' 'find_package(Allomon REQUIRED COMPONENTS tracker)'
refused 'allomon_add_gate: unknown: TYPO' 'find_package(Allomon REQUIRED)' \
  'allomon_add_gate(NAME a BENCHMARK b BASELINE c TYPO)'
