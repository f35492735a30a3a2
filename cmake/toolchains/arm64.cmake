# Builds for arm64 on another architecture, with Debian's toolchain: clang-19, and the C and C++ libraries and the linker of
# crossbuild-essential-arm64. Libraries are those of Debian's architecture arm64 (dpkg --add-architecture arm64, and the packages of
# tests/support/install_packages with the suffix :arm64). POPRT_CROSS_ROOT is a folder with these packages unpacked, if they are not
# installed (tests/support/arm64_root).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_CXX_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(POPRT_DEBIAN_ARCHITECTURE arm64)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES POPRT_CROSS_ROOT)
set(pkg_config_folders /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
if(POPRT_CROSS_ROOT)
  set(CMAKE_C_FLAGS_INIT --gcc-toolchain=${POPRT_CROSS_ROOT}/usr)
  set(CMAKE_CXX_FLAGS_INIT --gcc-toolchain=${POPRT_CROSS_ROOT}/usr)
  set(CMAKE_PREFIX_PATH ${POPRT_CROSS_ROOT}/usr)
  string(PREPEND pkg_config_folders ${POPRT_CROSS_ROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:)
endif()
set(ENV{PKG_CONFIG_LIBDIR} ${pkg_config_folders})
# QEMU runs the tests, and the programs that make files of the build. -L is the folder of the libraries of arm64, if
# they are not installed.
find_program(POPRT_QEMU NAMES qemu-aarch64-static qemu-aarch64 HINTS ${POPRT_CROSS_ROOT}/usr/bin)
if(POPRT_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${POPRT_QEMU})
  if(POPRT_CROSS_ROOT)
    list(APPEND CMAKE_CROSSCOMPILING_EMULATOR -L ${POPRT_CROSS_ROOT})
  endif()
endif()
