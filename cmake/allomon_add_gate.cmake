# allomon_add_gate(NAME name BENCHMARK target BASELINE file [MAX_GROWTH 5%])
#
# A test of ctest that fails when a benchmark allocates more than its baseline, and the target
# <name>_update, which writes the baseline.  The benchmark is an executable that links
# Allomon::malloc and Allomon::benchmark_main.
function(allomon_add_gate)
  cmake_parse_arguments(PARSE_ARGV 0 gate "" "NAME;BENCHMARK;BASELINE;MAX_GROWTH" "")
  if(gate_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "allomon_add_gate: unknown: ${gate_UNPARSED_ARGUMENTS}")
  endif()
  foreach(argument IN ITEMS NAME BENCHMARK BASELINE)
    if(NOT gate_${argument})
      message(FATAL_ERROR "allomon_add_gate: no ${argument}")
    endif()
  endforeach()
  if(NOT ALLOMON_COMMAND)
    message(FATAL_ERROR "allomon_add_gate: needs the command allomon: -DALLOMON_BUILD_TOOLS=ON")
  endif()
  cmake_path(ABSOLUTE_PATH gate_BASELINE)
  set(command "${ALLOMON_RUN_GATE}" "${ALLOMON_COMMAND}" $<TARGET_FILE:${gate_BENCHMARK}>
    "${gate_BASELINE}")
  set(options)
  if(gate_MAX_GROWTH)
    set(options --max-growth=${gate_MAX_GROWTH})
  endif()
  add_test(NAME ${gate_NAME} COMMAND ${command} ${options})
  add_custom_target(${gate_NAME}_update COMMAND ${command} --update VERBATIM)
endfunction()
