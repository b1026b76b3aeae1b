# cmake --install: what find_package(Allomon) and pkg-config find.
get_property(libraries GLOBAL PROPERTY allomon_libraries)
install(TARGETS ${libraries} EXPORT AllomonTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
# In packages are others: package.cmake.
install(TARGETS allomon_preloaded LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  COMPONENT this_machine)
install(EXPORT AllomonTargets NAMESPACE Allomon:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Allomon)

install(DIRECTORY tracker allocator runtime
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/allomon FILES_MATCHING PATTERN "*.h")
install(FILES tracker/formats/include/mon.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/allomon)
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
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Allomon
  PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(AllomonConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/AllomonConfig.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/AllomonConfigVersion.cmake" cmake/allomon_add_gate.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Allomon)

configure_file(cmake/allomon.pc.in allomon.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/allomon.pc"
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
