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
foreach(name IN ITEMS consumer runtime profile gate pkgconfig preload archive)
  allomon_consumer(${name})
endforeach()
# The examples in other languages, where there is a compiler for them.
find_program(ALLOMON_CARGO cargo)
find_program(ALLOMON_GO go)
mark_as_advanced(ALLOMON_CARGO ALLOMON_GO)
if(ALLOMON_CARGO)
  allomon_consumer(rust)
else()
  message(NOTICE "Allomon: no cargo, so examples/rust is not tested: apt install cargo")
endif()
if(ALLOMON_GO)
  allomon_consumer(go)
else()
  message(NOTICE "Allomon: no go, so examples/go is not tested: apt install golang-go")
endif()
allomon_consumer(subdirectory "-DALLOMON_TREE=${PROJECT_SOURCE_DIR}"
  "-DALLOMON_MIMALLOC_SOURCE=${ALLOMON_MIMALLOC_SOURCE}")

add_test(NAME cmake/bad_input COMMAND
  "${PROJECT_SOURCE_DIR}/tests/cmake/bad_input_test.sh" "${CMAKE_COMMAND}"
  "${PROJECT_BINARY_DIR}" "${ALLOMON_MIMALLOC_SOURCE}")
add_test(NAME cmake/builds_agree COMMAND "${Python3_EXECUTABLE}"
  "${PROJECT_SOURCE_DIR}/tests/cmake/builds_agree_test.py" "${PROJECT_BINARY_DIR}")
