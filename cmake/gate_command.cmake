# allomon_add_gate() for whoever has this tree as a part of another project.
if(ALLOMON_BUILD_TOOLS)
  set(ALLOMON_COMMAND $<TARGET_FILE:command_allomon> CACHE INTERNAL "")
  set(ALLOMON_RUN_GATE "${PROJECT_SOURCE_DIR}/tools/gate/run_gate.sh" CACHE INTERNAL "")
endif()
include(cmake/allomon_add_gate.cmake)
# <allomon/tracker/tracker.h> in the source tree.
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/include")
file(CREATE_LINK "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}/include/allomon" SYMBOLIC)
