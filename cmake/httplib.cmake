# cpp-httplib's header, whole: tools/setup/fetch_httplib.sh says why not that of the -dev package.
set(header "${ALLOMON_HTTPLIB_SOURCE}/httplib.h")
if(NOT EXISTS "${header}" AND
    ALLOMON_HTTPLIB_SOURCE STREQUAL "${PROJECT_SOURCE_DIR}/.deps/cpp-httplib")
  execute_process(COMMAND "${PROJECT_SOURCE_DIR}/tools/setup/fetch_httplib.sh")
endif()
set(whole "")
if(EXISTS "${header}")
  file(STRINGS "${header}" whole REGEX "^inline bool Server::listen[(]")
endif()
if(NOT whole)
  message(NOTICE "Allomon: no source of cpp-httplib in ${ALLOMON_HTTPLIB_SOURCE}: "
    "tools/setup/fetch_httplib.sh fetches it with apt; a copy from elsewhere is named by "
    "-DALLOMON_HTTPLIB_SOURCE=FOLDER; or configure with -DALLOMON_BUILD_TOOLS=OFF")
  message(FATAL_ERROR "no source of cpp-httplib")
endif()
add_library(allomon_httplib INTERFACE)
target_include_directories(allomon_httplib SYSTEM INTERFACE "${ALLOMON_HTTPLIB_SOURCE}")
