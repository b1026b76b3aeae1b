cd "$scratch"
ALLOMON_PROFILE=count ALLOMON_OUT=calls.out "$build/hooked"
"$prefix/bin/mlprof" -raw true "$build/hooked" calls.out | grep -E '^Step.*\(1,000\)' ||
  fail "the calls of Step were not counted"
