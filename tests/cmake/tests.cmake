# Projects that use the installation, or the tree, as a user would; and that the two builds agree.
set(consumer "${PROJECT_SOURCE_DIR}/tests/cmake/consumer.sh")
set(prefix "${PROJECT_BINARY_DIR}/test_prefix")
add_test(NAME cmake/install
  COMMAND "${CMAKE_COMMAND}" --install "${PROJECT_BINARY_DIR}" --prefix "${prefix}")
set_tests_properties(cmake/install PROPERTIES FIXTURES_SETUP allomon_prefix)

function(allomon_consumer name)
  add_test(NAME cmake/${name} COMMAND "${consumer}" "${CMAKE_COMMAND}" "${prefix}" ${name} ${ARGN})
  set_tests_properties(cmake/${name} PROPERTIES FIXTURES_REQUIRED allomon_prefix TIMEOUT 1800)
endfunction()
foreach(name IN ITEMS consumer runtime profile gate pkgconfig preload)
  allomon_consumer(${name})
endforeach()
allomon_consumer(subdirectory "-DALLOMON_TREE=${PROJECT_SOURCE_DIR}"
  "-DALLOMON_MIMALLOC_SOURCE=${ALLOMON_MIMALLOC_SOURCE}")

add_test(NAME cmake/bad_input COMMAND
  "${PROJECT_SOURCE_DIR}/tests/cmake/bad_input_test.sh" "${CMAKE_COMMAND}"
  "${PROJECT_BINARY_DIR}" "${ALLOMON_MIMALLOC_SOURCE}")
add_test(NAME cmake/builds_agree COMMAND "${Python3_EXECUTABLE}"
  "${PROJECT_SOURCE_DIR}/tests/cmake/builds_agree_test.py" "${PROJECT_BINARY_DIR}")
