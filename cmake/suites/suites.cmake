# The tests of Bazel's BUILD files, built by CMake and run by ctest.  make_suites.py reads those
# files; what it writes calls these functions.
set(ALLOMON_TESTS ".*" CACHE STRING
  "which tests: a regular expression, such as tests/(semantics|runtime)/.*")
set(runfiles "${PROJECT_BINARY_DIR}/runfiles/allomon")

# The allocator without malloc, for tests that replace none; all of it, as Bazel links it.
add_library(allomon_all_of_allocator INTERFACE)
target_link_libraries(allomon_all_of_allocator INTERFACE
  $<TARGET_OBJECTS:allomon_allocator_objects> allomon_backend)
add_library(allomon_environment STATIC EXCLUDE_FROM_ALL ${environment})
target_link_libraries(allomon_environment PRIVATE allomon_flags)

allomon_sources_of(find_object allocator/old_glibc find_object)
add_library(allomon_find_object STATIC EXCLUDE_FROM_ALL ${find_object})
target_link_libraries(allomon_find_object PRIVATE allomon_flags)

# mimalloc's own malloc, which the golden files compare with.
allomon_objects(plain_mimalloc EXCLUDE_FROM_ALL "${ALLOMON_MIMALLOC_SOURCE}/src/static.c")
foreach(target IN ITEMS allomon_plain_mimalloc_objects allomon_plain_mimalloc_pic)
  target_include_directories(${target} PRIVATE
    "${ALLOMON_MIMALLOC_SOURCE}/include" "${ALLOMON_MIMALLOC_SOURCE}/src")
  target_compile_options(${target} PRIVATE
    -fno-omit-frame-pointer ${mimalloc_flags} -fvisibility=default)
  target_compile_definitions(${target} PRIVATE NDEBUG MI_DEBUG=0 MI_STAT=0 MI_MALLOC_OVERRIDE)
endforeach()
add_library(allomon_plain_mimalloc INTERFACE)
target_link_libraries(allomon_plain_mimalloc INTERFACE
  "$<IF:${is_executable},$<TARGET_OBJECTS:allomon_plain_mimalloc_objects>,\
$<TARGET_OBJECTS:allomon_plain_mimalloc_pic>>")

# Headers of other libraries, where they are not in the compiler's own folders.
add_library(allomon_suite_headers INTERFACE)
foreach(library IN ITEMS
    absl::status GTest::gmock benchmark::benchmark nlohmann_json::nlohmann_json)
  target_include_directories(allomon_suite_headers SYSTEM INTERFACE
    "$<TARGET_PROPERTY:${library},INTERFACE_INCLUDE_DIRECTORIES>")
endforeach()
target_link_libraries(allomon_suite_headers INTERFACE allomon_backend_headers)
target_include_directories(allomon_suite_headers INTERFACE "${PROJECT_SOURCE_DIR}"
  "${PROJECT_SOURCE_DIR}/tracker/formats/include" "${PROJECT_SOURCE_DIR}/tracker/c/include")

# Sources, with their own options behind everybody's.
function(allomon_suite_objects target)
  cmake_parse_arguments(PARSE_ARGV 1 suite "" "FOR" "SOURCES;OPTIONS;DEFINES")
  add_library(${target} OBJECT ${suite_SOURCES})
  target_link_libraries(${target} PRIVATE allomon_suite_headers)
  target_compile_definitions(${target} PRIVATE ${suite_DEFINES})
  set(options ${suite_OPTIONS})
  list(FILTER options INCLUDE REGEX "^-std=c\\+\\+")
  list(TRANSFORM options REPLACE "^-std=c\\+\\+" "" OUTPUT_VARIABLE standard)
  if(standard)
    set_target_properties(${target} PROPERTIES CXX_STANDARD ${standard})
    list(REMOVE_ITEM suite_OPTIONS ${options})
  endif()
  # Instructions are counted of code for executables.
  if(suite_FOR STREQUAL executable)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  endif()
  target_compile_options(${target} PRIVATE ${ALLOMON_FLAGS} ${suite_OPTIONS})
endfunction()

# An executable or a shared library at its place in the runfiles.
file(WRITE "${PROJECT_BINARY_DIR}/empty.cc" "")
function(allomon_suite_program target)
  cmake_parse_arguments(PARSE_ARGV 1 suite "" "KIND" "PLACE;OBJECTS;LIBRARIES;LINK_OPTIONS")
  list(TRANSFORM suite_OBJECTS REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
  if(NOT suite_OBJECTS)
    set(suite_OBJECTS "${PROJECT_BINARY_DIR}/empty.cc")
  endif()
  if(suite_KIND STREQUAL SHARED)
    add_library(${target} SHARED ${suite_OBJECTS})
    list(TRANSFORM suite_LIBRARIES REPLACE "^allomon_core$" allomon_shared_core)
    set_target_properties(${target} PROPERTIES NO_SONAME ON)
  else()
    add_executable(${target} ${suite_OBJECTS})
  endif()
  list(POP_FRONT suite_PLACE directory name)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX PREFIX "" SUFFIX ""
    OUTPUT_NAME "${name}" RUNTIME_OUTPUT_DIRECTORY "${directory}"
    LIBRARY_OUTPUT_DIRECTORY "${directory}" BUILD_RPATH_USE_ORIGIN ON)
  if(suite_LINK_OPTIONS MATCHES "-static")
    allomon_suite_static(${target} ${suite_LINK_OPTIONS})
  else()
    target_link_libraries(${target} PRIVATE ${suite_LIBRARIES} ${suite_LINK_OPTIONS})
  endif()
endfunction()

# A static executable needs Abseil's archives, which its CMake targets may not name.
function(allomon_suite_static target)
  pkg_get_variable(found absl_statusor libdir)
  pkg_check_modules(ALLOMON_STATIC_ABSL QUIET absl_statusor)
  set(options ${ARGN})
  list(FILTER options EXCLUDE REGEX "^-labsl_|^-Wl,--(start|end)-group$")
  target_link_libraries(${target} PRIVATE ${options}
    -Wl,--whole-archive $<TARGET_FILE:allomon_malloc> -Wl,--no-whole-archive
    $<TARGET_FILE:allomon_backend> $<TARGET_FILE:allomon_tracker> $<TARGET_FILE:allomon_core>
    ${ALLOMON_STATIC_ABSL_STATIC_LDFLAGS} -lpthread)
  add_dependencies(${target} allomon_malloc allomon_backend allomon_tracker allomon_core)
endfunction()

# Files that a command makes of others.
function(allomon_suite_rule target)
  cmake_parse_arguments(PARSE_ARGV 1 suite "" "COMMAND" "OUTPUTS;DEPENDS")
  add_custom_command(OUTPUT ${suite_OUTPUTS} COMMAND bash -c "${suite_COMMAND}"
    DEPENDS ${suite_DEPENDS} VERBATIM)
  add_custom_target(${target} ALL DEPENDS ${suite_OUTPUTS})
endfunction()

# A command or the preloaded library at its place in the runfiles.
function(allomon_suite_link target)
  cmake_parse_arguments(PARSE_ARGV 1 suite "" "PLACE" "")
  get_filename_component(directory "${suite_PLACE}" DIRECTORY)
  file(MAKE_DIRECTORY "${directory}")
  get_target_property(folder ${target} RUNTIME_OUTPUT_DIRECTORY)
  if(target STREQUAL allomon_preloaded)
    get_target_property(folder ${target} LIBRARY_OUTPUT_DIRECTORY)
  endif()
  get_filename_component(name "${suite_PLACE}" NAME)
  file(CREATE_LINK "${folder}/${name}" "${suite_PLACE}" SYMBOLIC)
endfunction()

function(allomon_suite_test name)
  cmake_parse_arguments(PARSE_ARGV 1 suite "" "SECONDS" "COMMAND;LABELS;NEEDS")
  string(MAKE_C_IDENTIFIER "${name}" folder)
  set(scratch "${PROJECT_BINARY_DIR}/scratch/${folder}")
  file(MAKE_DIRECTORY "${scratch}")
  add_test(NAME ${name} COMMAND ${suite_COMMAND} WORKING_DIRECTORY "${runfiles}")
  set_tests_properties(${name} PROPERTIES TIMEOUT ${suite_SECONDS} LABELS "${suite_LABELS}"
    ENVIRONMENT "TEST_SRCDIR=${PROJECT_BINARY_DIR}/runfiles;TEST_WORKSPACE=allomon;\
TEST_TMPDIR=${scratch}")
endfunction()

set(suites "${PROJECT_BINARY_DIR}/suites.cmake")
execute_process(COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_LIST_DIR}/make_suites.py"
    "${PROJECT_SOURCE_DIR}" "${runfiles}" "${suites}" "${CMAKE_CURRENT_LIST_DIR}/left_to_bazel.txt"
    "${ALLOMON_TESTS}"
  RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "cmake/suites/make_suites.py could not read the BUILD files")
endif()
include("${suites}")
file(GLOB suite_makers CONFIGURE_DEPENDS "${CMAKE_CURRENT_LIST_DIR}/*")
set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  ${allomon_build_files} ${suite_makers})
