# libc++, where the flags choose it: -DCMAKE_CXX_FLAGS=-stdlib=libc++.
include(CheckCXXSymbolExists)
check_cxx_symbol_exists(_LIBCPP_VERSION cstddef ALLOMON_LIBCXX)

# Changes a list of flags, which is for libstdc++, to what the chosen library needs.
function(allomon_for_cxx_library flags)
  if(ALLOMON_LIBCXX)
    list(TRANSFORM ${flags} REPLACE "^-l:libstdc[+][+][.]a$" "-l:libc++.a;-l:libc++abi.a")
    # Its headers need long double.
    list(TRANSFORM ${flags} REPLACE "^-mgeneral-regs-only$" "-mno-sse;-mno-mmx")
  endif()
  set(${flags} "${${flags}}" PARENT_SCOPE)
endfunction()
