# mimalloc as one file, the same as tools/workspace/mimalloc.BUILD makes it.
set(header "${ALLOMON_MIMALLOC_SOURCE}/include/mimalloc.h")
if(NOT EXISTS "${header}" AND ALLOMON_MIMALLOC_SOURCE STREQUAL "${PROJECT_SOURCE_DIR}/.deps/mimalloc")
  execute_process(COMMAND "${PROJECT_SOURCE_DIR}/tools/setup/fetch_mimalloc.sh")
endif()
if(NOT EXISTS "${header}")
  message(FATAL_ERROR "no source of mimalloc in ${ALLOMON_MIMALLOC_SOURCE}: "
    "tools/setup/fetch_mimalloc.sh fetches it with apt, or name its folder with "
    "-DALLOMON_MIMALLOC_SOURCE=")
endif()
file(STRINGS "${header}" version_line REGEX "^#define MI_MALLOC_VERSION ")
string(REGEX REPLACE "[^0-9]*([0-9]+).*" "\\1" mimalloc_version "${version_line}")
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

add_library(allomon_mimalloc OBJECT "${CMAKE_CURRENT_BINARY_DIR}/mimalloc/allomon_mimalloc.c")
target_include_directories(allomon_mimalloc PRIVATE
  "${ALLOMON_MIMALLOC_SOURCE}/include" "${ALLOMON_MIMALLOC_SOURCE}/src")
target_compile_options(allomon_mimalloc PRIVATE -w -O3 -fvisibility=hidden -fno-builtin-malloc
  -fno-omit-frame-pointer -ftls-model=initial-exec)
target_compile_definitions(allomon_mimalloc PRIVATE NDEBUG MI_SHARED_LIB MI_STATIC_LIB MI_DEBUG=0
  MI_STAT=0 MI_SECURE=0 _ZSt15get_new_handlerv=mi_no_new_handler mprotect=allomon_commit_pages)

# For those that include its internal headers.
add_library(allomon_mimalloc_headers INTERFACE)
target_include_directories(allomon_mimalloc_headers SYSTEM INTERFACE
  "${ALLOMON_MIMALLOC_SOURCE}/include")
target_compile_definitions(allomon_mimalloc_headers INTERFACE MI_STATIC_LIB MI_DEBUG=0 MI_STAT=0
  MI_SECURE=0)
