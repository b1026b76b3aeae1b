# A toolchain file: builds for 64-bit Arm on another machine.
#
#   cmake -B build-arm -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake -DALLOMON_ARM_ROOT=FOLDER
#
# FOLDER has the libraries: a system that debootstrap --arch=arm64 made.  README.md in cmake/ has
# its packages.  Without FOLDER only the libraries of Debian's cross compiler are there, which have
# no Abseil.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ALLOMON_ARM_ROOT)

set(ALLOMON_ARM_ROOT "" CACHE PATH "a system of arm64 with the libraries that Allomon needs")
if(ALLOMON_ARM_ROOT)
  set(CMAKE_SYSROOT "${ALLOMON_ARM_ROOT}")
  set(ENV{PKG_CONFIG_SYSROOT_DIR} "${ALLOMON_ARM_ROOT}")
  set(usr "${ALLOMON_ARM_ROOT}/usr")
  set(ENV{PKG_CONFIG_LIBDIR} "${usr}/lib/aarch64-linux-gnu/pkgconfig:${usr}/share/pkgconfig")
  # Tests run under qemu, which looks for the loader and the C library there.
  find_program(ALLOMON_QEMU NAMES qemu-aarch64 qemu-aarch64-static)
  if(ALLOMON_QEMU)
    set(CMAKE_CROSSCOMPILING_EMULATOR "${ALLOMON_QEMU};-L;${ALLOMON_ARM_ROOT}")
  endif()
endif()

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
