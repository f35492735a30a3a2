# Debian packages: `cmake --build build/release --target deb` writes libpoprt1, libpoprt-compiler1, libpoprt-dev,
# poprt-tools, poprt-triton, poprt-tensorflow and (if they are built) libpoprt-tokenizer1, poprt-serve and poprt-inspector to
# build/release/packages/deb. Each contains components of `cmake --install`: deb.py has the map from packages to components
# and their texts and relations, and `install(... COMPONENT)` in each CMakeLists.txt chooses the component of a file.
find_program(DPKG_SHLIBDEPS dpkg-shlibdeps)
if(NOT TARGET poprt OR NOT TARGET poprt_compiler_library OR NOT DPKG_SHLIBDEPS)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(cross)
if(CMAKE_CROSSCOMPILING)
  set(cross --architecture ${POPRT_DEBIAN_ARCHITECTURE})
  if(POPRT_CROSS_ROOT)
    list(APPEND cross --root ${POPRT_CROSS_ROOT})
  endif()
endif()
add_custom_target(deb
  COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/cmake/packages/deb.py --build ${PROJECT_BINARY_DIR}
          --out ${PROJECT_BINARY_DIR}/packages/deb --cmake ${CMAKE_COMMAND}
          ${cross}
  DEPENDS poprt poprt_compiler_library $<TARGET_NAME_IF_EXISTS:poprt_images_library> poprt_tool popef_dump poprt_exec
          triton_poprt tensorflow_poprt $<TARGET_NAME_IF_EXISTS:poprt_tokenizer_library>
          $<TARGET_NAME_IF_EXISTS:poprt_static> $<TARGET_NAME_IF_EXISTS:poprt_serve_manual> poprt_manuals $<TARGET_NAME_IF_EXISTS:poprt_inspector_manual>
  VERBATIM)
