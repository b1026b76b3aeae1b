if quietly ctest --test-dir "$build" --output-on-failure -R words_gate; then
  fail "a gate passes without a baseline"
fi
grep -q 'there is no baseline; --update writes it' "$scratch/log" || fail "no remedy for that"
quietly "$cmake" --build "$build" --target words_gate_update
quietly ctest --test-dir "$build" --output-on-failure -E regressed
if quietly ctest --test-dir "$build" --output-on-failure -R regressed; then
  fail "a benchmark that allocates twice as much passes its gate"
fi
grep -q 'Words' "$scratch/log" || fail "the gate does not name the benchmark"
grep -q "^ *Words$" "$scratch/log" ||
  fail "the gate does not name a function: $(cat "$scratch/log")"
echo "the gate passes, and fails when there is one block more"
