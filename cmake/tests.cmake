# What ctest runs: the example of a gate, and a project that uses the installation.
add_test(NAME installed_consumer COMMAND
  "${PROJECT_SOURCE_DIR}/tests/cmake/consumer_test.sh" "${CMAKE_COMMAND}" "${CMAKE_BINARY_DIR}")
if(ALLOMON_BUILD_TOOLS AND GTest_FOUND AND TARGET Allomon::gates)
  add_executable(word_count_test examples/ci_gate/word_count_test.cc examples/ci_gate/word_count.cc)
  target_include_directories(word_count_test PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(word_count_test PRIVATE Allomon::malloc Allomon::gates GTest::gtest_main)
  add_test(NAME word_count_test COMMAND word_count_test)
endif()
if(ALLOMON_BUILD_TOOLS AND TARGET Allomon::benchmark_main)
  add_executable(word_count_benchmark
    examples/ci_gate/word_count_benchmark.cc examples/ci_gate/word_count.cc)
  target_include_directories(word_count_benchmark PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(word_count_benchmark PRIVATE Allomon::malloc Allomon::benchmark_main)
  set(ALLOMON_COMMAND $<TARGET_FILE:command_allomon>)
  set(ALLOMON_RUN_GATE "${PROJECT_SOURCE_DIR}/tools/gate/run_gate.sh")
  include(cmake/allomon_add_gate.cmake)
  allomon_add_gate(NAME word_count_gate BENCHMARK word_count_benchmark
    BASELINE examples/ci_gate/word_count_baseline.json)
endif()
