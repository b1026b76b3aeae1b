# Manual pages, and completions of bash, zsh and fish: the commands write them.
# Where this machine cannot run them, an emulator does (aarch64.cmake).
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  message(STATUS "no manual pages and completions: no emulator runs the commands, which write them")
  return()
endif()
set(texts "${CMAKE_CURRENT_BINARY_DIR}/texts")
set(writer "${PROJECT_SOURCE_DIR}/cmake/write_command_texts.cmake")
add_custom_command(OUTPUT "${texts}/written"
  DEPENDS command_allomon command_mlprof command_prof "${writer}"
  COMMAND "${CMAKE_COMMAND}" "-DALLOMON=$<TARGET_FILE:command_allomon>"
    "-DMLPROF=$<TARGET_FILE:command_mlprof>" "-DPROF=$<TARGET_FILE:command_prof>"
    "-DEMULATOR=${CMAKE_CROSSCOMPILING_EMULATOR}"
    "-DGZIP=${ALLOMON_GZIP}" "-DFOLDER=${texts}" -P "${writer}" VERBATIM)
add_custom_target(allomon_texts ALL DEPENDS "${texts}/written")

install(DIRECTORY "${texts}/man1" DESTINATION "${CMAKE_INSTALL_MANDIR}")
install(FILES "${texts}/completions/bash" RENAME allomon
  DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
install(FILES "${texts}/completions/zsh" RENAME _allomon
  DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions")
install(FILES "${texts}/completions/fish" RENAME allomon.fish
  DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
