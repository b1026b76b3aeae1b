"$build/follow"
[[ -z $(find "$build" -name allomon -type f -perm -100) ]] || fail "the commands were built"
ctest --test-dir "$build" -N | grep -q 'Total Tests: 0' || fail "Allomon's tests are in the project"
if [[ -e $build/_deps/allomon-build/lib/liballomon.so ]]; then
  fail "what the project does not use was built"
fi
