# The libraries that programs link.  A folder's sources are taken by pattern, as they come; the
# lists below are of what must be in an executable whether anything names it or not.
include(cmake/mimalloc.cmake)
include(cmake/libcxx.cmake)

function(allomon_sources result)
  file(GLOB found CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" ${ARGN})
  list(TRANSFORM found PREPEND "${PROJECT_SOURCE_DIR}/")
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

add_library(allomon_flags INTERFACE)
target_compile_options(allomon_flags INTERFACE -Wall -Wextra -g1 -fno-omit-frame-pointer)
target_include_directories(allomon_flags INTERFACE "${PROJECT_SOURCE_DIR}"
  "${PROJECT_SOURCE_DIR}/tracker/formats/include")

# A static library of one trade: its headers are found in the source tree, or where it is installed
# (as "tracker/tracker.h", and as <allomon/tracker/tracker.h>).
function(allomon_library name)
  add_library(${name} STATIC ${ARGN})
  target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:allomon_flags>)
  target_include_directories(${name} PUBLIC
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/allomon>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  add_library(Allomon::${name} ALIAS ${name})
  set_property(GLOBAL APPEND PROPERTY allomon_libraries ${name})
endfunction()

# Everything of tracker/ that needs no other library.  No Abseil: it is loaded into other people's
# processes.
allomon_sources(core_sources
  tracker/*.cc tracker/base/*.cc tracker/sampling/*.cc tracker/callstack/*.cc tracker/core/*.cc
  tracker/formats/*.cc tracker/names/*.cc tracker/symbols/*.cc tracker/profile/source_function.cc
  tracker/profile/record/*.cc tracker/profile/sources/*.cc tracker/profile/hooks/*.cc
  tracker/profile/write/*.cc tracker/profile/control/*.cc tracker/recording/*.cc
  allocator/code_extent.cc allocator/high_reservation.cc allocator/host_stderr.cc
  allocator/writing_reserve.cc)
allomon_sources(tracker_sources tracker/custom_memory.cc tracker/recording.cc
  tracker/sampled_resource.cc tracker/tracker.cc)
# Whoever counts functions has these: they replace functions, or say what may be done.
allomon_sources(counting_sources
  tracker/profile/control/thread_start.cc tracker/profile/hooks/entry_call.cc)
allomon_sources(show_sources tracker/profile/control/show_sources.cc)
allomon_sources(host_signals tracker/profile/control/host_signals.cc)
allomon_sources(thread_names tracker/recording/thread_name_override.cc)
list(REMOVE_ITEM core_sources ${tracker_sources} ${counting_sources} ${show_sources}
  ${host_signals} ${thread_names})

allomon_library(allomon_core ${core_sources})
target_link_libraries(allomon_core PUBLIC Threads::Threads ${CMAKE_DL_LIBS})
# sqrt is an instruction: the preloaded library needs no libm.
target_compile_options(allomon_core PRIVATE -fno-math-errno)
allomon_sources(walk_sources tracker/callstack/*.cc)
set_source_files_properties(${walk_sources} PROPERTIES
  COMPILE_OPTIONS "-fno-exceptions;-fno-tree-slp-vectorize")
set_source_files_properties("${PROJECT_SOURCE_DIR}/tracker/callstack/unloaded_code.cc" PROPERTIES
  COMPILE_OPTIONS "")
set(entry_call -O2 -mgeneral-regs-only -fomit-frame-pointer -fno-sanitize=all -fno-stack-protector
  -fno-exceptions)
allomon_for_cxx_library(entry_call)
set_source_files_properties("${PROJECT_SOURCE_DIR}/tracker/profile/hooks/entry_call.cc" PROPERTIES
  COMPILE_OPTIONS "${entry_call}")

allomon_library(allomon_counting ${counting_sources})
target_link_libraries(allomon_counting PUBLIC allomon_core)

# mimalloc and the interface over it, which the managed heap takes its memory from as well.
allomon_sources(backend_sources allocator/backends/mimalloc/*.cc)
allomon_library(allomon_backend ${backend_sources} $<TARGET_OBJECTS:allomon_mimalloc>)
target_compile_options(allomon_backend PRIVATE -ftls-model=initial-exec)
add_library(allomon_backend_headers INTERFACE)
target_include_directories(allomon_backend_headers INTERFACE
  "${PROJECT_SOURCE_DIR}/allocator/backends/mimalloc")
target_link_libraries(allomon_backend_headers INTERFACE allomon_mimalloc_headers)
target_link_libraries(allomon_backend
  PUBLIC allomon_core PRIVATE $<BUILD_INTERFACE:allomon_backend_headers>)

# malloc and operator new.
allomon_sources(entry_sources allocator/*_override.cc)
list(REMOVE_ITEM entry_sources "${PROJECT_SOURCE_DIR}/allocator/mmap_override.cc")
allomon_sources(allocator_sources
  allocator/allocator.cc allocator/guard.cc allocator/guard/*.cc allocator/heap_usage.cc
  allocator/large_runs.cc allocator/malloc_owner.cc allocator/next_function.cc
  allocator/page_move.cc allocator/range_memory.cc allocator/range_usage.cc
  allocator/sampled_block.cc allocator/sampled_range.cc allocator/slot_classes.cc
  allocator/stand_aside.cc)
allomon_library(allomon_malloc ${allocator_sources} ${entry_sources})
target_compile_options(allomon_malloc PRIVATE -ftls-model=initial-exec)
# Compiled without exceptions but for operator new; //allocator:c_malloc says why.
set_source_files_properties(${entry_sources} PROPERTIES
  COMPILE_OPTIONS "-fno-builtin;-falign-functions=64;-fno-exceptions")
set_source_files_properties("${PROJECT_SOURCE_DIR}/allocator/new_override.cc" PROPERTIES
  COMPILE_OPTIONS "-fno-builtin;-falign-functions=64")
target_link_libraries(allomon_malloc
  PUBLIC allomon_backend PRIVATE $<BUILD_INTERFACE:allomon_backend_headers>)

allomon_library(allomon_tracker ${tracker_sources})
target_link_libraries(allomon_tracker PUBLIC allomon_core absl::status absl::statusor)

allomon_library(allomon_profile tracker/profile/profile.cc)
target_link_libraries(allomon_profile PUBLIC allomon_tracker)
allomon_library(allomon_show_sources ${show_sources})
target_link_libraries(allomon_show_sources PUBLIC allomon_core)

allomon_sources(runtime_sources runtime/*.cc runtime/internal/*.cc)
allomon_library(allomon_runtime ${runtime_sources})
target_compile_options(allomon_runtime PRIVATE -ftls-model=initial-exec)
target_link_libraries(allomon_runtime
  PUBLIC allomon_backend absl::status absl::statusor
  PRIVATE $<BUILD_INTERFACE:allomon_backend_headers>)

# Allomon::malloc and Allomon::profile are what users link: the linker keeps every member of the
# archives that replace functions.
function(allomon_whole name)
  cmake_parse_arguments(PARSE_ARGV 1 whole "" "" "ARCHIVES;LIBRARIES")
  set(target allomon_link_${name})
  add_library(${target} INTERFACE)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  add_library(Allomon::${name} ALIAS ${target})
  foreach(archive IN LISTS whole_ARCHIVES)
    target_link_libraries(${target} INTERFACE "$<LINK_LIBRARY:WHOLE_ARCHIVE,Allomon::${archive}>")
  endforeach()
  target_link_libraries(${target} INTERFACE ${whole_LIBRARIES})
  set_property(GLOBAL APPEND PROPERTY allomon_libraries ${target})
endfunction()
allomon_whole(malloc ARCHIVES allomon_malloc)
# A walk along frame pointers is what makes a captured stack cheap.
target_compile_options(allomon_link_malloc INTERFACE -fno-omit-frame-pointer)
allomon_whole(profile ARCHIVES allomon_counting allomon_show_sources LIBRARIES allomon_profile)
set_target_properties(allomon_tracker PROPERTIES EXPORT_NAME tracker)
set_target_properties(allomon_runtime PROPERTIES EXPORT_NAME runtime)
foreach(name IN ITEMS tracker runtime)
  add_library(Allomon::${name} ALIAS allomon_${name})
endforeach()

# Gates, where the frameworks and elfutils are.
find_package(PkgConfig)
if(PkgConfig_FOUND)
  pkg_check_modules(ALLOMON_DW IMPORTED_TARGET libdw libelf)
endif()
find_package(GTest CONFIG)
find_package(benchmark CONFIG)
if(ALLOMON_DW_FOUND)
  allomon_sources(dwarf_sources tracker/dwarf/*.cc)
  allomon_library(allomon_dwarf ${dwarf_sources})
  target_link_libraries(allomon_dwarf PUBLIC dw elf)
  allomon_library(allomon_gates
    tracker/gates/allocation_report.cc tracker/gates/allocation_scope.cc
    tracker/gates/exact_count.cc tracker/gates/ledger.cc tracker/gates/framework_frames.cc
    tracker/gates/source_frames.cc)
  target_link_libraries(allomon_gates PUBLIC allomon_tracker allomon_dwarf)
  set(gates allomon_gates)
  if(GTest_FOUND)
    allomon_library(allomon_gates_gtest tracker/gates/gtest.cc)
    target_link_libraries(allomon_gates_gtest PUBLIC allomon_gates GTest::gtest)
    set(gates allomon_gates_gtest)
  endif()
  allomon_whole(gates LIBRARIES ${gates})
  if(benchmark_FOUND)
    allomon_library(allomon_gates_benchmark
      tracker/gates/benchmark_memory_manager.cc tracker/gates/benchmark_profile.cc
      tracker/gates/timed_loop.cc)
    target_link_libraries(allomon_gates_benchmark PUBLIC allomon_gates benchmark::benchmark)
    # The same list as in tracker/gates/wrapped.bzl.
    file(STRINGS tracker/gates/wrapped.bzl wrapped REGEX "_ZN9benchmark")
    foreach(line IN LISTS wrapped)
      string(REGEX REPLACE ".*\"(.*)\".*" "-Wl,--wrap=\\1" flag "${line}")
      target_link_options(allomon_gates_benchmark INTERFACE "${flag}")
    endforeach()
    allomon_library(allomon_gates_main tracker/gates/benchmark_main.cc)
    target_link_libraries(allomon_gates_main PUBLIC allomon_gates_benchmark)
    allomon_whole(benchmark_main ARCHIVES allomon_gates_main LIBRARIES allomon_gates_benchmark)
  endif()
endif()
