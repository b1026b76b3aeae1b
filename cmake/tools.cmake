# The commands.  A folder is a trade; what has no main is one library for all.
file(GLOB_RECURSE tool_sources CONFIGURE_DEPENDS tools/*.cc)
list(FILTER tool_sources EXCLUDE REGEX "/main[.]cc$")

# The page of `allomon flame` as C++ strings; its BUILD file has the order of the scripts.
set(flame "${PROJECT_SOURCE_DIR}/tools/flame")
allomon_list(scripts tools/flame/BUILD SCRIPTS)
list(TRANSFORM scripts PREPEND "${flame}/")
set(page_files "${flame}/page/page.html" "${flame}/page/page.css" ${scripts})
set(page "${CMAKE_CURRENT_BINARY_DIR}/embedded_page.cc")
add_custom_command(OUTPUT "${page}" COMMAND "${flame}/embed.sh" "${page}" ${page_files}
  DEPENDS "${flame}/embed.sh" "${flame}/BUILD" ${page_files} VERBATIM)

add_library(allomon_tools STATIC ${tool_sources} "${page}")
target_link_libraries(allomon_tools PUBLIC allomon_flags "${core}" allomon_dwarf
  absl::status absl::statusor nlohmann_json::nlohmann_json ZLIB::ZLIB ${ALLOMON_IBERTY}
  allomon_httplib Threads::Threads ${CMAKE_DL_LIBS})
if(ALLOMON_ZSTD_FOUND)
  target_compile_definitions(allomon_tools PRIVATE ALLOMON_HAS_ZSTD)
  target_link_libraries(allomon_tools PUBLIC ${ALLOMON_ZSTD_LINK_LIBRARIES})
endif()

foreach(command IN ITEMS allomon mlprof prof)
  add_executable(command_${command} tools/${command}/main.cc)
  set_target_properties(command_${command} PROPERTIES
    OUTPUT_NAME ${command} RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  target_link_libraries(command_${command} PRIVATE allomon_tools)
endforeach()
