# How the other files of this folder make libraries.

# The sources that match patterns, relative to the root of the tree.
function(allomon_sources result)
  file(GLOB found CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" ${ARGN})
  list(TRANSFORM found PREPEND "${PROJECT_SOURCE_DIR}/")
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

# The sources of one rule of a BUILD file.
function(allomon_sources_of result package name)
  file(READ "${PROJECT_SOURCE_DIR}/${package}/BUILD" text)
  set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    "${PROJECT_SOURCE_DIR}/${package}/BUILD")
  string(FIND "${text}" "\n    name = \"${name}\",\n    srcs = [" begin)
  if(begin EQUAL -1)
    message(FATAL_ERROR "${package}/BUILD has no rule ${name} whose srcs are next to its name")
  endif()
  string(SUBSTRING "${text}" ${begin} -1 text)
  string(FIND "${text}" "]" end)
  string(SUBSTRING "${text}" 0 ${end} text)
  string(REGEX MATCHALL "\"[^\"]+[.]cc\"" files "${text}")
  list(TRANSFORM files REPLACE "\"(.*)\"" "${PROJECT_SOURCE_DIR}/${package}/\\1")
  set(${result} "${files}" PARENT_SCOPE)
endfunction()

# The strings of a list that a file of Bazel's build defines: NAME = [, then one on each line.
function(allomon_list result file name)
  file(READ "${PROJECT_SOURCE_DIR}/${file}" text)
  set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    "${PROJECT_SOURCE_DIR}/${file}")
  string(FIND "${text}" "\n${name} = [" begin)
  if(begin EQUAL -1)
    message(FATAL_ERROR "${file} has no list ${name}")
  endif()
  string(SUBSTRING "${text}" ${begin} -1 text)
  string(FIND "${text}" "\n]" end)
  string(SUBSTRING "${text}" 0 ${end} text)
  string(REGEX MATCHALL "\n    \"[^\"\n]*\"" strings "${text}")
  if(NOT strings)
    message(FATAL_ERROR "${name} in ${file} is empty, or has not one string on each line")
  endif()
  list(TRANSFORM strings REPLACE "^\n    \"(.*)\"$" "\\1")
  set(${result} "${strings}" PARENT_SCOPE)
endfunction()

# Flags of every file of ours.  Without any optimisation, call stacks would begin inside of malloc.
set(ALLOMON_FLAGS -Wall -Wextra -g1 -fno-omit-frame-pointer
  $<$<OR:$<CONFIG:Debug>,$<STREQUAL:$<CONFIG>,>>:-O1>)
add_library(allomon_flags INTERFACE)
target_compile_options(allomon_flags INTERFACE ${ALLOMON_FLAGS})
target_include_directories(allomon_flags INTERFACE "${PROJECT_SOURCE_DIR}"
  "${PROJECT_SOURCE_DIR}/tracker/formats/include" "${PROJECT_SOURCE_DIR}/tracker/c/include")

# A static library of one trade: its headers are found in the source tree, or where it is installed
# (as "tracker/tracker.h", and as <allomon/tracker/tracker.h>).
function(allomon_library name)
  add_library(${name} STATIC ${ARGN})
  target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:allomon_flags>)
  target_compile_features(${name} PUBLIC cxx_std_17)
  target_include_directories(${name} PUBLIC
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>"
    "$<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/allomon>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  add_library(Allomon::${name} ALIAS ${name})
  set_property(GLOBAL APPEND PROPERTY allomon_libraries ${name})
endfunction()

# Sources that are compiled twice, as Bazel does with everything: allomon_<name>_objects for
# executables, whose thread-local data takes an instruction less, and allomon_<name>_pic for shared
# libraries.
function(allomon_objects name)
  add_library(allomon_${name}_objects OBJECT ${ARGN})
  set_target_properties(allomon_${name}_objects PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(allomon_${name}_objects PRIVATE -fPIE)
  add_library(allomon_${name}_pic OBJECT ${ARGN})
endfunction()

# What users link, Allomon::name: the linker keeps every member of ARCHIVES, because they replace
# functions, or because nothing names them.
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

# A library that is linked under the name Allomon::name.
function(allomon_named name)
  set_target_properties(allomon_${name} PROPERTIES EXPORT_NAME ${name})
  add_library(Allomon::${name} ALIAS allomon_${name})
endfunction()
