# cmake --install: what find_package(Allomon) and pkg-config find.

# A prefix that cannot be written is one line, before anything is copied.
install(CODE "
set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
while(NOT EXISTS \"\${folder}\")
  get_filename_component(folder \"\${folder}\" DIRECTORY)
endwhile()
execute_process(COMMAND test -d \"\${folder}\" -a -w \"\${folder}\" RESULT_VARIABLE failed)
if(failed)
  message(NOTICE \"Allomon: cannot write to \${folder}: install as root, or elsewhere with\"
    \" cmake --install BUILD --prefix FOLDER\")
  message(FATAL_ERROR \"nothing was installed\")
endif()")

set(cmake_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Allomon)
get_property(libraries GLOBAL PROPERTY allomon_libraries)
install(TARGETS ${libraries} EXPORT AllomonTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
# Packages have other links of these (package.cmake).
install(TARGETS allomon_preloaded allomon_preloaded_host
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT this_machine)
# The same wherever it runs: it links the C library of the program.
install(TARGETS allomon_archive ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT AllomonTargets NAMESPACE Allomon:: DESTINATION ${cmake_folder})
if(ALLOMON_BUILD_TOOLS)
  install(TARGETS command_allomon command_mlprof command_prof
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT this_machine)
  include(cmake/command_texts.cmake)
endif()

set(headers ${CMAKE_INSTALL_INCLUDEDIR}/allomon)
install(DIRECTORY tracker allocator runtime DESTINATION ${headers}
  FILES_MATCHING PATTERN "*.h" PATTERN "include" EXCLUDE)
install(FILES tracker/formats/include/mon.h DESTINATION ${headers})
if(TARGET allomon_c)
  install(DIRECTORY tracker/c/include/allomon/ DESTINATION ${headers} FILES_MATCHING PATTERN "*.h")
endif()
# Where Debian's Python looks, in the prefix /usr; elsewhere PYTHONPATH names the folder.
install(DIRECTORY tracker/c/python/allomon DESTINATION lib/python3/dist-packages
  FILES_MATCHING PATTERN "*.py")
install(FILES tracker/profile/entry_hooks.lds DESTINATION ${CMAKE_INSTALL_LIBDIR}/allomon)
install(PROGRAMS tools/gate/run_gate.sh DESTINATION ${CMAKE_INSTALL_LIBDIR}/allomon)

set(ALLOMON_HAS_GTEST 0)
set(ALLOMON_HAS_BENCHMARK 0)
if(TARGET allomon_gates_gtest)
  set(ALLOMON_HAS_GTEST 1)
endif()
if(TARGET allomon_gates_benchmark)
  set(ALLOMON_HAS_BENCHMARK 1)
endif()
configure_package_config_file(cmake/AllomonConfig.cmake.in AllomonConfig.cmake
  INSTALL_DESTINATION ${cmake_folder} PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(AllomonConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/AllomonConfig.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/AllomonConfigVersion.cmake" cmake/allomon_add_gate.cmake
  DESTINATION ${cmake_folder})

# The .pc files find their prefix from their own place.
set(pc_folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
  BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}/${pc_folder}" OUTPUT_VARIABLE ALLOMON_PREFIX_FROM_PC)
foreach(name IN ITEMS allomon allomon-profile allomon-runtime)
  configure_file(cmake/${name}.pc.in ${name}.pc @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/${name}.pc" DESTINATION ${pc_folder})
endforeach()
