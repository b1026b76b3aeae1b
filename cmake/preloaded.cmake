# LD_PRELOAD=.../liballomon.so program
set(preloaded_sources)
foreach(rule IN ITEMS host_runtime internal_operators mmap_override python_objects symbol_order)
  allomon_sources_of(${rule} allocator ${rule})
  list(APPEND preloaded_sources ${${rule}})
endforeach()
set(c_objects)
if(TARGET allomon_c)
  set(c_objects $<TARGET_OBJECTS:allomon_c_pic>)
endif()

# A library of this name, with these objects of the allocator and its backend.
function(allomon_preloaded_library target name headers)
  add_library(${target} SHARED ${preloaded_sources} ${host_signals} ${c_objects}
    $<TARGET_OBJECTS:allomon_auto_profile> $<TARGET_OBJECTS:allomon_counting> ${ARGN})
  # Linked by the C compiler, which does not add libgcc_s.  Beside bin/, where the command looks.
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} LINKER_LANGUAGE C
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
  target_compile_options(${target} PRIVATE ${inlined_backend})
  set_target_properties(${target} PROPERTIES LINK_DEPENDS "${exports}")
  target_link_options(${target} PRIVATE
    "-Wl,--version-script=${exports}" -Wl,-z,defs ${operators})
  target_link_libraries(${target} PRIVATE
    allomon_flags ${headers} allomon_shared_core ${linking})
endfunction()
set_source_files_properties(${host_runtime} ${internal_operators} PROPERTIES
  COMPILE_OPTIONS -fno-builtin)
set_source_files_properties(${symbol_order} PROPERTIES COMPILE_OPTIONS "${entry_points}")
set_source_files_properties(${python_objects} PROPERTIES
  COMPILE_OPTIONS "${entry_points};-fno-exceptions")

allomon_list(operators allocator/BUILD INTERNAL_OPERATORS)
list(TRANSFORM operators PREPEND -Wl,--wrap=)
allomon_list(linking allocator/BUILD PRELOADED_LINKING)
allomon_for_cxx_library(linking)
set(exports "${PROJECT_SOURCE_DIR}/allocator/liballomon.lds")
allomon_preloaded_library(allomon_preloaded allomon allomon_backend_headers
  $<TARGET_OBJECTS:allomon_entry_pic> $<TARGET_OBJECTS:allomon_allocator_pic>
  $<TARGET_OBJECTS:allomon_backend_pic> $<TARGET_OBJECTS:allomon_mimalloc_pic>)
# For programs that keep their own malloc.
allomon_preloaded_library(allomon_preloaded_host allomon-host allomon_host_headers
  $<TARGET_OBJECTS:allomon_host_entry_pic> $<TARGET_OBJECTS:allomon_host_allocator_pic>
  $<TARGET_OBJECTS:allomon_host_backend_pic>)

# liballomon.a, for builds that link by a file's name: -l static=allomon of Rust, cgo, make.  It has
# one member, so that a program that calls malloc has all of it, also the constructors, which
# nothing names.  The program links libstdc++ as well.
if(TARGET allomon_c)
  set(c_objects $<TARGET_OBJECTS:allomon_c_objects>)
endif()
set(archive_objects
  $<TARGET_OBJECTS:allomon_entry_objects> $<TARGET_OBJECTS:allomon_allocator_objects>
  $<TARGET_OBJECTS:allomon_backend_objects> $<TARGET_OBJECTS:allomon_mimalloc_objects>
  $<TARGET_OBJECTS:allomon_core_objects> $<TARGET_OBJECTS:allomon_auto_profile>
  $<TARGET_OBJECTS:allomon_counting> $<TARGET_OBJECTS:allomon_show_sources> ${c_objects})
set(archive_object "${PROJECT_BINARY_DIR}/allomon_whole.o")
add_custom_command(OUTPUT "${archive_object}"
  COMMAND "${CMAKE_CXX_COMPILER}" -nostdlib -r -o "${archive_object}" ${archive_objects}
  DEPENDS ${archive_objects} COMMAND_EXPAND_LISTS VERBATIM)
add_library(allomon_archive STATIC "${archive_object}")
# A target's objects are files without a rule to another target's Makefile.  CMake orders targets
# of object libraries by itself, and those of archives not.
add_dependencies(allomon_archive allomon_auto_profile allomon_counting allomon_show_sources)
set_target_properties(allomon_archive PROPERTIES OUTPUT_NAME allomon LINKER_LANGUAGE CXX
  ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
