# cpack makes a Debian package and a tar.gz: the installation as it is, but with commands and a
# preloaded library that need glibc 2.31 and nothing else.
if(NOT ALLOMON_BUILD_TOOLS OR NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()
include(cmake/portable.cmake)

# Installed in packages alone, instead of the component this_machine.
set(for_packages COMPONENT packages EXCLUDE_FROM_ALL)
if(TARGET portable_preloaded)
  install(TARGETS portable_allomon portable_mlprof portable_prof portable_preloaded
    portable_preloaded_host
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} ${for_packages}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ${for_packages})
endif()
install(FILES cmake/package/copyright DESTINATION share/doc/allomon ${for_packages})
# The documents and their pictures keep their folders, since they link each other by these.
set(document_patterns "")
foreach(folder IN ITEMS allocator benchmarks cmake docs examples packaging runtime tools tracker)
  list(APPEND document_patterns "${folder}/*.md" "${folder}/*.png" "${folder}/*.svg")
endforeach()
file(GLOB_RECURSE documents RELATIVE "${PROJECT_SOURCE_DIR}" CONFIGURE_DEPENDS
  ${document_patterns})
list(APPEND documents README.md SECURITY.md ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md)
foreach(document IN LISTS documents)
  cmake_path(GET document PARENT_PATH folder)
  install(FILES "${document}" DESTINATION "share/doc/allomon/${folder}" ${for_packages})
endforeach()
install(FILES cmake/package/lintian_overrides DESTINATION share/lintian/overrides
  RENAME allomon ${for_packages})

# What the commands and the library contain of other works.
find_package(Python3 QUIET COMPONENTS Interpreter)
if(TARGET portable_preloaded AND Python3_FOUND)
  find_file(ALLOMON_JSON_HEADER nlohmann/json.hpp)
  mark_as_advanced(ALLOMON_JSON_HEADER)
  set(parts "${portable}/allomon.spdx.json" "${portable}/third_party_licences")
  add_custom_command(OUTPUT ${parts} DEPENDS cmake/package/sbom.py ${portable_archives}
    COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/cmake/package/sbom.py"
      "--version=${PROJECT_VERSION}" "--sbom=${portable}/allomon.spdx.json"
      "--licences=${portable}/third_party_licences" "--mimalloc=${ALLOMON_MIMALLOC_SOURCE}"
      "--httplib=${ALLOMON_HTTPLIB_SOURCE}" "--root=${CMAKE_SYSROOT}"
      "--compiler=${CMAKE_CXX_COMPILER}" ${portable_archives} "${ALLOMON_JSON_HEADER}" VERBATIM)
  add_custom_target(allomon_sbom DEPENDS ${parts})
  add_dependencies(allomon_portable allomon_sbom)
  install(FILES ${parts} DESTINATION share/doc/allomon ${for_packages})
endif()

set(CPACK_VERBATIM_VARIABLES ON)
# Packages of the same contents are the same bytes.
if(Python3_FOUND)
  set(CPACK_ALLOMON_PYTHON "${Python3_EXECUTABLE}")
  set(CPACK_POST_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/package/same_bytes.cmake")
endif()
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME allomon)
set(CPACK_PACKAGE_VENDOR Allomon)
set(ALLOMON_PACKAGE_CONTACT "Allomon <allomon@localhost>" CACHE STRING
  "who answers for packages that are made here: a name and an address")
set(CPACK_PACKAGE_CONTACT "${ALLOMON_PACKAGE_CONTACT}")
# Debian's policy: in its own form, with who answers for the package.  The day is that of
# same_bytes.py.
if(ALLOMON_GZIP)
  set(changelog "${CMAKE_CURRENT_BINARY_DIR}/package/changelog")
  file(CONFIGURE OUTPUT "${changelog}" CONTENT "\
allomon (${PROJECT_VERSION}) unstable; urgency=medium

  * What changed is in /usr/share/doc/allomon/CHANGELOG.md.

 -- ${ALLOMON_PACKAGE_CONTACT}  Thu, 01 Jan 2026 00:00:00 +0000
")
  add_custom_command(OUTPUT "${changelog}.gz" DEPENDS "${changelog}"
    COMMAND "${ALLOMON_GZIP}" -9nkf "${changelog}" VERBATIM)
  add_custom_target(allomon_changelog DEPENDS "${changelog}.gz")
  add_dependencies(allomon_portable allomon_changelog)
  install(FILES "${changelog}.gz" DESTINATION share/doc/allomon ${for_packages})
endif()
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "heap profiler for C++ programs, preloaded or linked")
set(CPACK_PACKAGE_FILE_NAME "allomon-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_ARCHIVE_FILE_EXTENSION .tar.gz)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_INSTALL_COMMANDS
  "\"${CMAKE_COMMAND}\" --build \"${CMAKE_BINARY_DIR}\" --target allomon_portable")
set(this_project "${CMAKE_BINARY_DIR};${PROJECT_NAME}")
set(CPACK_INSTALL_CMAKE_PROJECTS "${this_project};Unspecified;/;${this_project};packages;/")

set(CPACK_DEBIAN_FILE_NAME "allomon_${PROJECT_VERSION}_${debian_architecture}.deb")
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE ${debian_architecture})
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.31)")
# For programs that link the static libraries; commands and liballomon.so need none of them.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "g++, cmake (>= 3.24), libabsl-dev")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
  "Samples the allocations of a program, without recompiling it, and shows which
functions they come from: as tables, flame graphs, pprof files or MLton's
profiles.

The command is allomon: allomon run, report, diff, flame, export, gate.  The
library is preloaded (LD_PRELOAD=liballomon.so), or linked.  Headers, static
libraries and the files for CMake and pkg-config are in the package, too.")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "${PROJECT_SOURCE_DIR}/cmake/package/triggers")
include(CPack)

if(ALLOMON_BUILD_TESTS AND NOT CMAKE_CROSSCOMPILING)
  add_test(NAME package_test COMMAND "${PROJECT_SOURCE_DIR}/tests/package/package_test.sh"
    "${CMAKE_CPACK_COMMAND}" "${CMAKE_BINARY_DIR}")
  set_tests_properties(package_test PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900)
endif()
