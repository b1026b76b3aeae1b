# allocator/ and runtime/: malloc, operator new, and the managed heap.
allomon_list(inlined_backend allocator/BUILD INLINED_BACKEND)
allomon_list(entry_points allocator/BUILD ENTRY_POINTS)

function(allomon_backend_objects name)
  cmake_parse_arguments(PARSE_ARGV 1 backend "" "HEADERS" "SOURCES;OPTIONS")
  if(NOT backend_HEADERS)
    set(backend_HEADERS allomon_backend_headers)
  endif()
  allomon_objects(${name} ${backend_SOURCES})
  foreach(target IN ITEMS allomon_${name}_objects allomon_${name}_pic)
    target_compile_options(${target} PRIVATE ${inlined_backend} ${backend_OPTIONS})
    target_link_libraries(${target} PRIVATE allomon_flags ${backend_HEADERS})
  endforeach()
endfunction()

# mimalloc and the interface over it, which the managed heap takes its memory from as well.
add_library(allomon_backend_headers INTERFACE)
target_include_directories(allomon_backend_headers INTERFACE
  "${PROJECT_SOURCE_DIR}/allocator/backends/mimalloc")
target_link_libraries(allomon_backend_headers INTERFACE allomon_mimalloc_headers)
allomon_sources(backend_sources allocator/backends/mimalloc/*.cc)
allomon_backend_objects(backend SOURCES ${backend_sources})
allomon_library(allomon_backend
  $<TARGET_OBJECTS:allomon_backend_objects> $<TARGET_OBJECTS:allomon_mimalloc_objects>)
allomon_library(allomon_shared_backend
  $<TARGET_OBJECTS:allomon_backend_pic> $<TARGET_OBJECTS:allomon_mimalloc_pic>)
set_target_properties(allomon_backend allomon_shared_backend PROPERTIES LINKER_LANGUAGE CXX)
target_link_libraries(allomon_backend PUBLIC allomon_core)
target_link_libraries(allomon_shared_backend PUBLIC allomon_shared_core)

# The sampling allocator under its own names: in malloc's archive, and by itself in tests.
allomon_sources_of(allocator_sources allocator allocator)
allomon_backend_objects(allocator SOURCES ${allocator_sources})

# The same for programs that keep their own malloc (liballomon-host.so).
add_library(allomon_host_headers INTERFACE)
target_include_directories(allomon_host_headers INTERFACE
  "${PROJECT_SOURCE_DIR}/allocator/backends/host")
allomon_sources(host_sources allocator/backends/host/*.cc allocator/backends/usage_by_name.cc)
set_source_files_properties(${host_sources} PROPERTIES COMPILE_OPTIONS -fno-builtin)
allomon_backend_objects(host_backend HEADERS allomon_host_headers SOURCES ${host_sources})
allomon_backend_objects(host_allocator HEADERS allomon_host_headers SOURCES ${allocator_sources})

# malloc and operator new.
allomon_sources_of(new_override allocator malloc)
allomon_sources_of(c_malloc allocator c_malloc)
allomon_backend_objects(entry SOURCES ${c_malloc} ${new_override} OPTIONS ${entry_points})
allomon_backend_objects(host_entry HEADERS allomon_host_headers
  SOURCES ${c_malloc} ${new_override} OPTIONS ${entry_points})
# The BUILD file says why operator new is the exception.
set_source_files_properties(${c_malloc} PROPERTIES COMPILE_OPTIONS -fno-exceptions)
allomon_library(allomon_malloc
  $<TARGET_OBJECTS:allomon_allocator_objects> $<TARGET_OBJECTS:allomon_entry_objects>)
set_target_properties(allomon_malloc PROPERTIES LINKER_LANGUAGE CXX)
target_link_libraries(allomon_malloc PUBLIC allomon_backend)
allomon_whole(malloc ARCHIVES allomon_malloc)
# A walk along frame pointers is what makes a captured stack cheap.
target_compile_options(allomon_link_malloc INTERFACE -fno-omit-frame-pointer)
# The table by which the walk goes on elsewhere.  gcc leaves it out of programs linked by -static.
# What commands read from outside is in an archive that is not linked whole, and nothing calls it.
target_link_options(allomon_link_malloc INTERFACE
  -Wl,--eh-frame-hdr -Wl,--undefined=allomon_heap_layout)

# A program that is profiled as its environment says.
allomon_sources_of(environment allocator environment)
allomon_sources_of(from_environment allocator profile_from_environment)
allomon_library(allomon_auto_profile ${environment} ${from_environment} ${thread_names})
target_link_libraries(allomon_auto_profile PUBLIC "${core}")
allomon_whole(auto_profile ARCHIVES allomon_auto_profile allomon_counting allomon_show_sources)
allomon_whole(entry_hooks LIBRARIES Allomon::auto_profile Allomon::entry_hook_linking)

allomon_sources(runtime_sources runtime/*.cc runtime/internal/*/*.cc
  runtime/internal/*/*/*.cc)
allomon_library(allomon_runtime ${runtime_sources})
target_compile_options(allomon_runtime PRIVATE ${inlined_backend})
# An executable has the backend once, for malloc and for the managed heap.
target_link_libraries(allomon_runtime
  PUBLIC "$<IF:${is_executable},Allomon::allomon_backend,Allomon::allomon_shared_backend>"
    absl::status absl::statusor
  PRIVATE $<BUILD_INTERFACE:allomon_backend_headers>)
allomon_named(runtime)
