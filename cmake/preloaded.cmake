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
add_library(allomon_preloaded SHARED ${preloaded_sources} ${host_signals} ${c_objects}
  $<TARGET_OBJECTS:allomon_auto_profile> $<TARGET_OBJECTS:allomon_entry_pic>
  $<TARGET_OBJECTS:allomon_allocator_pic> $<TARGET_OBJECTS:allomon_counting>
  $<TARGET_OBJECTS:allomon_backend_pic> $<TARGET_OBJECTS:allomon_mimalloc_pic>)
# Linked by the C compiler, which does not add libgcc_s.  Beside bin/, where the command looks.
set_target_properties(allomon_preloaded PROPERTIES OUTPUT_NAME allomon LINKER_LANGUAGE C
  LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
target_compile_options(allomon_preloaded PRIVATE ${inlined_backend})
set_source_files_properties(${host_runtime} ${internal_operators} PROPERTIES
  COMPILE_OPTIONS -fno-builtin)
set_source_files_properties(${python_objects} PROPERTIES
  COMPILE_OPTIONS "${entry_points};-fno-exceptions")

allomon_list(operators allocator/BUILD INTERNAL_OPERATORS)
list(TRANSFORM operators PREPEND -Wl,--wrap=)
allomon_list(linking allocator/BUILD PRELOADED_LINKING)
allomon_for_cxx_library(linking)
set(exports "${PROJECT_SOURCE_DIR}/allocator/liballomon.lds")
set_target_properties(allomon_preloaded PROPERTIES LINK_DEPENDS "${exports}")
target_link_options(allomon_preloaded PRIVATE
  "-Wl,--version-script=${exports}" -Wl,-z,defs ${operators})
target_link_libraries(allomon_preloaded PRIVATE
  allomon_flags allomon_backend_headers allomon_shared_core ${linking})
