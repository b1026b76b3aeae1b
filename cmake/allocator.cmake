# allocator/ and runtime/: malloc, operator new, and the managed heap.
allomon_list(inlined_backend allocator/BUILD INLINED_BACKEND)
allomon_list(entry_points allocator/BUILD ENTRY_POINTS)

# mimalloc and the interface over it, which the managed heap takes its memory from as well.
allomon_sources(backend_sources allocator/backends/mimalloc/*.cc)
allomon_library(allomon_backend ${backend_sources} $<TARGET_OBJECTS:allomon_mimalloc>)
target_compile_options(allomon_backend PRIVATE ${inlined_backend})
add_library(allomon_backend_headers INTERFACE)
target_include_directories(allomon_backend_headers INTERFACE
  "${PROJECT_SOURCE_DIR}/allocator/backends/mimalloc")
target_link_libraries(allomon_backend_headers INTERFACE allomon_mimalloc_headers)
target_link_libraries(allomon_backend
  PUBLIC allomon_core PRIVATE $<BUILD_INTERFACE:allomon_backend_headers>)

# The sampling allocator under its own names: in malloc's archive, and by itself in tests.
allomon_sources_of(allocator_sources allocator allocator)
add_library(allomon_allocator OBJECT ${allocator_sources})
target_compile_options(allomon_allocator PRIVATE ${inlined_backend})
target_link_libraries(allomon_allocator PRIVATE allomon_flags allomon_backend_headers)

# malloc and operator new.
allomon_sources_of(new_override allocator malloc)
allomon_sources_of(c_malloc allocator c_malloc)
allomon_library(allomon_malloc
  $<TARGET_OBJECTS:allomon_allocator> ${c_malloc} ${new_override})
target_compile_options(allomon_malloc PRIVATE ${inlined_backend} ${entry_points})
# The BUILD file says why operator new is the exception.
set_source_files_properties(${c_malloc} PROPERTIES COMPILE_OPTIONS -fno-exceptions)
target_link_libraries(allomon_malloc
  PUBLIC allomon_backend PRIVATE $<BUILD_INTERFACE:allomon_backend_headers>)
allomon_whole(malloc ARCHIVES allomon_malloc)
# A walk along frame pointers is what makes a captured stack cheap.
target_compile_options(allomon_link_malloc INTERFACE -fno-omit-frame-pointer)

# A program that is profiled as its environment says.
allomon_sources_of(environment allocator environment)
allomon_sources_of(from_environment allocator profile_from_environment)
allomon_library(allomon_auto_profile ${environment} ${from_environment} ${thread_names})
target_link_libraries(allomon_auto_profile PUBLIC allomon_core)
allomon_whole(auto_profile ARCHIVES allomon_auto_profile allomon_counting allomon_show_sources)
allomon_whole(entry_hooks LIBRARIES Allomon::auto_profile Allomon::entry_hook_linking)

allomon_sources(runtime_sources runtime/*.cc runtime/internal/*.cc)
allomon_library(allomon_runtime ${runtime_sources})
target_compile_options(allomon_runtime PRIVATE ${inlined_backend})
target_link_libraries(allomon_runtime
  PUBLIC allomon_backend absl::status absl::statusor
  PRIVATE $<BUILD_INTERFACE:allomon_backend_headers>)
allomon_named(runtime)
