# tracker/: what is sampled, followed, attributed and written.  A folder's sources are taken by
# pattern, as they come, but for the rules that are named here.

# What needs Abseil.
allomon_sources_of(tracker_sources tracker tracker)
# What replaces functions, or must be there although nothing names it.
allomon_sources_of(thread_start tracker/profile/control thread_start)
allomon_sources_of(entry_call_source tracker/profile/hooks entry_call)
allomon_sources_of(show_sources tracker/profile/control show_sources)
allomon_sources_of(host_signals tracker/profile/control host_signals)
allomon_sources_of(thread_names tracker/recording thread_name_override)
set(counting_sources ${thread_start} ${entry_call_source})
# Libraries of their own.
allomon_sources(gates_sources tracker/gates/*.cc)
allomon_sources(dwarf_sources tracker/dwarf/*.cc)
allomon_sources(mon_sources tracker/profile/mon/*.cc)
allomon_sources(c_sources tracker/c/*.cc)

# Everything else.  No Abseil: it is loaded into other people's processes.
file(GLOB_RECURSE core_sources CONFIGURE_DEPENDS tracker/*.cc)
list(REMOVE_ITEM core_sources ${tracker_sources} ${counting_sources} ${show_sources}
  ${host_signals} ${thread_names} ${gates_sources} ${dwarf_sources} ${mon_sources} ${c_sources}
  "${PROJECT_SOURCE_DIR}/tracker/profile/profile.cc")
allomon_sources(free_of_heap allocator/host/code_extent.cc allocator/host/high_reservation.cc
  allocator/host/host_stderr.cc allocator/host/start_room.cc allocator/host/writing_reserve.cc)

allomon_list(square_root tracker/sampling/BUILD SQUARE_ROOT)
allomon_objects(core ${core_sources} ${free_of_heap})
foreach(objects IN ITEMS allomon_core_objects allomon_core_pic)
  target_compile_options(${objects} PRIVATE ${square_root})
  target_link_libraries(${objects} PRIVATE allomon_flags)
endforeach()
allomon_library(allomon_core $<TARGET_OBJECTS:allomon_core_objects>)
allomon_library(allomon_shared_core $<TARGET_OBJECTS:allomon_core_pic>)
foreach(archive IN ITEMS allomon_core allomon_shared_core)
  set_target_properties(${archive} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${archive} PUBLIC Threads::Threads ${CMAKE_DL_LIBS})
endforeach()
# The one of the two for whatever links it in the end.
set(is_executable "$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>")
set(core "$<IF:${is_executable},Allomon::allomon_core,Allomon::allomon_shared_core>")

allomon_list(walk tracker/callstack/BUILD WALK)
allomon_sources_of(capture tracker/callstack capture)
allomon_sources_of(unwinder tracker/callstack unwinder)
set_source_files_properties(${capture} ${unwinder} PROPERTIES COMPILE_OPTIONS "${walk}")
allomon_sources_of(cfi tracker/callstack cfi)
allomon_sources_of(managed_functions tracker/callstack managed_functions)
allomon_sources_of(mapped_files tracker/callstack mapped_files)
allomon_sources_of(python_walker tracker/cpython walker)
allomon_sources_of(lua_walker tracker/lua walker)
set_source_files_properties(${cfi} ${managed_functions} ${mapped_files} ${python_walker}
  ${lua_walker} PROPERTIES COMPILE_OPTIONS -fno-exceptions)

allomon_library(allomon_counting ${counting_sources})
target_link_libraries(allomon_counting PUBLIC "${core}")
allomon_list(entry_call tracker/profile/hooks/BUILD ENTRY_CALL)
allomon_for_cxx_library(entry_call)
set_source_files_properties(${entry_call_source} PROPERTIES COMPILE_OPTIONS "${entry_call}")
allomon_whole(counting ARCHIVES allomon_counting LIBRARIES "${core}")

allomon_library(allomon_tracker ${tracker_sources})
target_include_directories(allomon_tracker PUBLIC
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/tracker/c/include>")
target_link_libraries(allomon_tracker PUBLIC "${core}" absl::status absl::statusor)
allomon_named(tracker)

allomon_library(allomon_profile tracker/profile/profile.cc)
target_link_libraries(allomon_profile PUBLIC allomon_tracker)
allomon_library(allomon_show_sources ${show_sources})
target_link_libraries(allomon_show_sources PUBLIC "${core}")
allomon_whole(profile ARCHIVES allomon_counting allomon_show_sources LIBRARIES allomon_profile)

# The C interface.
if(c_sources)
  allomon_objects(c ${c_sources})
  foreach(objects IN ITEMS allomon_c_objects allomon_c_pic)
    target_compile_definitions(${objects} PRIVATE ALLOMON_IMPLEMENTS_C_API)
    target_link_libraries(${objects} PRIVATE allomon_flags)
  endforeach()
  allomon_library(allomon_c $<TARGET_OBJECTS:allomon_c_objects>)
  set_target_properties(allomon_c PROPERTIES LINKER_LANGUAGE CXX)
  target_include_directories(allomon_c PUBLIC
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/tracker/c/include>")
  target_link_libraries(allomon_c PUBLIC "${core}")
  allomon_whole(c ARCHIVES allomon_c LIBRARIES "${core}")
endif()

# Link options of programs that are compiled with -fpatchable-function-entry=9.
set(hooks_script "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/tracker/profile/entry_hooks.lds>\
$<INSTALL_INTERFACE:$<INSTALL_PREFIX>/${CMAKE_INSTALL_LIBDIR}/allomon/entry_hooks.lds>")
allomon_whole(entry_hook_linking)
target_link_options(allomon_link_entry_hook_linking INTERFACE -fuse-ld=bfd "-Wl,-T,${hooks_script}")

# monitor(3C), called by the program, or by itself around main.
allomon_sources_of(mon_auto tracker/profile/mon mon_auto)
list(REMOVE_ITEM mon_sources ${mon_auto})
allomon_library(allomon_mon ${mon_sources})
target_link_libraries(allomon_mon PUBLIC "${core}")
target_include_directories(allomon_mon PUBLIC
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/tracker/formats/include>")
allomon_library(allomon_mon_auto ${mon_auto})
target_link_libraries(allomon_mon_auto PUBLIC allomon_mon)
allomon_whole(mon ARCHIVES allomon_counting LIBRARIES allomon_mon)
allomon_whole(mon_auto ARCHIVES allomon_counting allomon_mon_auto
  LIBRARIES allomon_mon Allomon::entry_hook_linking)
