# The commands.  A folder is a trade; what has no main is one library for all.
find_package(nlohmann_json REQUIRED)
find_package(ZLIB REQUIRED)
if(NOT ALLOMON_DW_FOUND)
  message(FATAL_ERROR "the commands need elfutils (libdw-dev) and pkg-config; "
    "-DALLOMON_BUILD_TOOLS=OFF leaves them out")
endif()

file(GLOB_RECURSE tool_sources CONFIGURE_DEPENDS tools/*.cc)
list(FILTER tool_sources EXCLUDE REGEX "/main[.]cc$")

# The page of `allomon flame` as C++ strings; its BUILD file has the order of the scripts.
set(flame "${PROJECT_SOURCE_DIR}/tools/flame")
file(STRINGS "${flame}/BUILD" script_lines REGEX "^    \"page/[a-z_]+[.]js\",$")
list(TRANSFORM script_lines REPLACE "^    \"(.*)\",$" "${flame}/\\1" OUTPUT_VARIABLE scripts)
set(page_files "${flame}/page/page.html" "${flame}/page/page.css" ${scripts})
set(page "${CMAKE_CURRENT_BINARY_DIR}/embedded_page.cc")
add_custom_command(OUTPUT "${page}" COMMAND "${flame}/embed.sh" "${page}" ${page_files}
  DEPENDS "${flame}/embed.sh" "${flame}/BUILD" ${page_files} VERBATIM)

add_library(allomon_tools STATIC ${tool_sources} "${page}")
target_link_libraries(allomon_tools PUBLIC allomon_flags allomon_core allomon_dwarf
  absl::status absl::statusor nlohmann_json::nlohmann_json ZLIB::ZLIB iberty)

foreach(command IN ITEMS allomon mlprof prof)
  add_executable(command_${command} tools/${command}/main.cc)
  set_target_properties(command_${command} PROPERTIES
    OUTPUT_NAME ${command} RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
  target_link_libraries(command_${command} PRIVATE allomon_tools)
  install(TARGETS command_${command} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
    COMPONENT this_machine)
endforeach()
