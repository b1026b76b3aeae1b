# The target allomon_portable: commands and liballomon.so for packages.  They are linked once more,
# with the C library of Debian 11 and with everything else statically, into portable/ of the build
# directory, and run on glibc 2.31 and all later ones.  README.md says why it is done like this.
#
# Nothing here is built or fetched unless the target is asked for; cpack does.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
  set(debian_architecture arm64)
  set(glibc_folder glibc-2.31-arm64)
else()
  set(debian_architecture amd64)
  set(glibc_folder glibc-2.31)
endif()
set(ALLOMON_GLIBC "${PROJECT_SOURCE_DIR}/.deps/${glibc_folder}" CACHE PATH
  "an unpacked glibc 2.31 for packages; fetched with apt if it is not there")
set(portable "${CMAKE_CURRENT_BINARY_DIR}/portable")

# The archives that commands are linked with, Abseil's and elfutils' own needs included.
set(portable_modules absl_status absl_statusor libdw libelf zlib)
if(ALLOMON_ZSTD_FOUND)
  list(APPEND portable_modules libzstd)
endif()
pkg_check_modules(ALLOMON_STATIC QUIET ${portable_modules})
set(portable_archives)
set(portable_missing)
foreach(name IN LISTS ALLOMON_STATIC_STATIC_LIBRARIES ITEMS iberty)
  if(NOT name MATCHES "^(pthread|rt|dl|m|c|atomic)$")
    find_library(ALLOMON_ARCHIVE_${name} lib${name}.a)
    mark_as_advanced(ALLOMON_ARCHIVE_${name})
    list(APPEND portable_archives ${ALLOMON_ARCHIVE_${name}})
    if(NOT ALLOMON_ARCHIVE_${name})
      list(APPEND portable_missing lib${name}.a)
    endif()
  endif()
endforeach()
if(NOT ALLOMON_STATIC_FOUND OR portable_missing)
  message(STATUS "no packages: they need static libraries: ${portable_missing}")
  add_custom_target(allomon_portable COMMAND "${CMAKE_COMMAND}" -E echo
    "packages need static libraries that are missing: ${portable_missing}"
    COMMAND "${CMAKE_COMMAND}" -E false VERBATIM)
  return()
endif()

add_custom_target(allomon_glibc
  COMMAND "${PROJECT_SOURCE_DIR}/tools/setup/fetch_glibc.sh" "${ALLOMON_GLIBC}"
    "${debian_architecture}" VERBATIM)
allomon_sources(old_glibc_sources allocator/old_glibc/*.cc)
add_library(allomon_old_glibc OBJECT EXCLUDE_FROM_ALL ${old_glibc_sources})
target_link_libraries(allomon_old_glibc PRIVATE allomon_flags)
target_compile_options(allomon_old_glibc PRIVATE -fvisibility=hidden -fno-exceptions)
add_custom_target(allomon_portable)

# Links `target` with the old C library, and puts it into `folder`.  What the C library of a later
# Debian has in one file is in three there.
function(allomon_portable target folder name)
  set(libraries "${ALLOMON_GLIBC}/usr/lib/${CMAKE_SYSTEM_PROCESSOR}-linux-gnu")
  set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON OUTPUT_NAME ${name}
    RUNTIME_OUTPUT_DIRECTORY "${portable}/${folder}"
    LIBRARY_OUTPUT_DIRECTORY "${portable}/${folder}")
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:allomon_old_glibc>)
  # Before what the compiler adds; -B also comes before the compiler's own folders.
  target_link_options(${target} PRIVATE "--sysroot=${ALLOMON_GLIBC}" "-B${libraries}"
    "-L${libraries}" -Wl,--wrap=_dl_find_object -Wl,--wrap=allomon_unload -Wl,--as-needed)
  target_link_libraries(${target} PRIVATE pthread dl rt)
  add_dependencies(${target} allomon_glibc)
  add_dependencies(allomon_portable ${target})
endfunction()

foreach(command IN ITEMS allomon mlprof prof)
  add_executable(portable_${command} tools/${command}/main.cc)
  target_include_directories(portable_${command} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_options(portable_${command} PRIVATE -static-libstdc++ -static-libgcc)
  # Files instead of targets: those bring the shared libraries of this machine with them.
  foreach(library IN ITEMS allomon_tools allomon_dwarf allomon_core)
    add_dependencies(portable_${command} ${library})
    target_link_libraries(portable_${command} PRIVATE $<TARGET_FILE:${library}>)
    set_property(TARGET portable_${command} APPEND PROPERTY LINK_DEPENDS $<TARGET_FILE:${library}>)
  endforeach()
  target_link_libraries(portable_${command} PRIVATE ${portable_archives})
  allomon_portable(portable_${command} bin ${command})
endforeach()

# The objects, options and libraries of those that are preloaded on this machine.
foreach(preloaded IN ITEMS preloaded preloaded_host)
  get_target_property(preloaded_objects allomon_${preloaded} SOURCES)
  list(FILTER preloaded_objects INCLUDE REGEX "TARGET_OBJECTS")
  get_target_property(preloaded_options allomon_${preloaded} LINK_OPTIONS)
  get_target_property(preloaded_libraries allomon_${preloaded} LINK_LIBRARIES)
  get_target_property(preloaded_name allomon_${preloaded} OUTPUT_NAME)
  add_library(portable_${preloaded} SHARED
    $<TARGET_OBJECTS:allomon_${preloaded}> ${preloaded_objects})
  set_target_properties(portable_${preloaded} PROPERTIES LINKER_LANGUAGE C)
  target_link_options(portable_${preloaded} PRIVATE ${preloaded_options})
  target_link_libraries(portable_${preloaded} PRIVATE ${preloaded_libraries})
  allomon_portable(portable_${preloaded} lib ${preloaded_name})
endforeach()
