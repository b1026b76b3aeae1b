# LD_PRELOAD=.../liballomon.so program
allomon_sources(preloaded_sources
  allocator/auto_*.cc allocator/environment.cc allocator/host_runtime.cc allocator/internal_operators.cc
  allocator/interrupted_code.cc allocator/mmap_override.cc allocator/symbol_order.cc
  tracker/recording/thread_name_override.cc)
add_library(allomon_preloaded SHARED ${preloaded_sources} ${host_signals}
  $<TARGET_OBJECTS:allomon_malloc> $<TARGET_OBJECTS:allomon_counting>
  $<TARGET_OBJECTS:allomon_backend> $<TARGET_OBJECTS:allomon_mimalloc>)
# Linked by the C compiler, which does not add libgcc_s.
set_target_properties(allomon_preloaded PROPERTIES OUTPUT_NAME allomon LINKER_LANGUAGE C)
target_compile_options(allomon_preloaded PRIVATE -ftls-model=initial-exec)
set_source_files_properties(
  "${PROJECT_SOURCE_DIR}/allocator/host_runtime.cc"
  "${PROJECT_SOURCE_DIR}/allocator/internal_operators.cc"
  PROPERTIES COMPILE_OPTIONS -fno-builtin)

# operator new and delete of its own code (INTERNAL_OPERATORS in allocator/BUILD).
set(wrapped _Znwm _Znam)
foreach(form IN ITEMS "" m mSt11align_val_t)
  list(APPEND wrapped _ZdlPv${form} _ZdaPv${form})
endforeach()
foreach(operator IN ITEMS _Znwm _Znam _ZdlPv _ZdaPv)
  foreach(form IN ITEMS RKSt9nothrow_t St11align_val_t St11align_val_tRKSt9nothrow_t)
    list(APPEND wrapped ${operator}${form})
  endforeach()
endforeach()
list(TRANSFORM wrapped PREPEND -Wl,--wrap=)

set(exports "${PROJECT_SOURCE_DIR}/allocator/liballomon.lds")
set_target_properties(allomon_preloaded PROPERTIES LINK_DEPENDS "${exports}")
target_link_options(allomon_preloaded PRIVATE
  "-Wl,--version-script=${exports}"
  # Our own code calls our own malloc and operator new, also where the host has others.
  -Wl,-Bsymbolic
  # Resolving a symbol at its first use would take the loader's lock inside malloc.
  -Wl,-z,now -Wl,-z,defs ${wrapped})
# The host need not have libstdc++, whose loading takes as long as a short program.  The libraries
# that the compiler adds behind this one are then not needed.
set(linking -l:libstdc++.a -Wl,--as-needed)
allomon_for_cxx_library(linking)
target_link_libraries(allomon_preloaded PRIVATE allomon_flags allomon_backend_headers allomon_core
  ${linking})
