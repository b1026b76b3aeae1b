# mimalloc as one file, the same as tools/workspace/mimalloc.BUILD makes it.
set(header "${ALLOMON_MIMALLOC_SOURCE}/include/mimalloc.h")
set(own "${PROJECT_SOURCE_DIR}/.deps/mimalloc")
if(NOT EXISTS "${header}" AND ALLOMON_MIMALLOC_SOURCE STREQUAL own)
  execute_process(COMMAND "${PROJECT_SOURCE_DIR}/tools/setup/fetch_mimalloc.sh")
endif()
set(remedy "tools/setup/fetch_mimalloc.sh fetches it with apt; a copy from elsewhere is named by \
-DALLOMON_MIMALLOC_SOURCE=FOLDER")
if(NOT EXISTS "${header}" OR NOT EXISTS "${ALLOMON_MIMALLOC_SOURCE}/src/static.c")
  message(NOTICE "Allomon: no source of mimalloc in ${ALLOMON_MIMALLOC_SOURCE}: ${remedy}")
  message(FATAL_ERROR "no source of mimalloc")
endif()
file(STRINGS "${header}" version_line REGEX "^#define MI_MALLOC_VERSION ")
string(REGEX REPLACE "[^0-9]*([0-9]+).*" "\\1" mimalloc_version "${version_line}")
if(NOT mimalloc_version)
  message(NOTICE "Allomon: ${header} does not say which version of mimalloc it is: ${remedy}")
  message(FATAL_ERROR "no source of mimalloc")
endif()
if(mimalloc_version MATCHES "^(209|301)$")
  message(STATUS "mimalloc ${mimalloc_version}, with the fast path inlined")
else()
  message(STATUS "mimalloc ${mimalloc_version}, by its functions: not one whose fast path is "
    "known (209, 301), so malloc is a little slower")
endif()

file(READ "${ALLOMON_MIMALLOC_SOURCE}/src/static.c" unity)
if(EXISTS "${ALLOMON_MIMALLOC_SOURCE}/src/segment.c")
  # See the rule unity_of_backend there.
  file(READ "${ALLOMON_MIMALLOC_SOURCE}/src/segment.c" segment)
  set(call "_mi_os_commit(segment, commit_needed*MI_COMMIT_SIZE, ")
  string(FIND "${segment}" "${call}is_zero," found)
  if(found EQUAL -1)
    message(FATAL_ERROR "src/segment.c of mimalloc has not the call that is changed for Allomon")
  endif()
  string(REPLACE "${call}is_zero," "${call}NULL," segment "${segment}")
  file(CONFIGURE OUTPUT mimalloc/allomon_segment.c CONTENT "${segment}" @ONLY)
  string(REPLACE "\"segment.c\"" "\"allomon_segment.c\"" unity "${unity}")
endif()
file(CONFIGURE OUTPUT mimalloc/allomon_mimalloc.c CONTENT "${unity}" @ONLY)

allomon_list(mimalloc_flags tools/workspace/mimalloc.BUILD MIMALLOC_COPTS)
allomon_list(mimalloc_defines tools/workspace/mimalloc.BUILD MIMALLOC_DEFINES)
allomon_objects(mimalloc "${CMAKE_CURRENT_BINARY_DIR}/mimalloc/allomon_mimalloc.c")
foreach(target IN ITEMS allomon_mimalloc_objects allomon_mimalloc_pic)
  target_include_directories(${target} PRIVATE
    "${ALLOMON_MIMALLOC_SOURCE}/include" "${ALLOMON_MIMALLOC_SOURCE}/src")
  target_compile_options(${target} PRIVATE -fno-omit-frame-pointer ${mimalloc_flags})
  # See commit_pages.h and low_pages.h in allocator/backends/mimalloc.
  target_compile_definitions(${target} PRIVATE NDEBUG ${mimalloc_defines}
    mprotect=allomon_commit_pages mmap=allomon_map_low)
endforeach()

# For those that include its internal headers.
add_library(allomon_mimalloc_headers INTERFACE)
target_include_directories(allomon_mimalloc_headers SYSTEM INTERFACE
  "${ALLOMON_MIMALLOC_SOURCE}/include")
target_compile_definitions(allomon_mimalloc_headers INTERFACE ${mimalloc_defines})
