quietly "$cmake" --build "$build" --target words_gate_update
quietly ctest --test-dir "$build" --output-on-failure -E regressed
if quietly ctest --test-dir "$build" --output-on-failure -R regressed; then
  fail "a benchmark that allocates twice as much passes its gate"
fi
grep -q 'Words' "$scratch/log" || fail "the gate does not name the benchmark"
echo "the gate passes, and fails when there is one block more"
