# Debian packages: `cmake --build build/release --target deb` writes libpoprt1, libpoprt-dev, poprt-tools
# and (where it is built) poprt-inspector into build/release/packages/deb. They are the components of cmake --install.
find_program(DPKG_SHLIBDEPS dpkg-shlibdeps)
if(NOT TARGET poprt OR NOT TARGET poprt_compiler_plugin OR NOT DPKG_SHLIBDEPS)
  return()
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME poprt)
set(CPACK_PACKAGE_VENDOR poprt)
set(CPACK_PACKAGE_CONTACT "The poprt authors <poprt@localhost>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages/deb)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL library dev tools)
if(TARGET poprt_inspector)
  list(APPEND CPACK_COMPONENTS_ALL inspector)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Our own library comes from a package that does not exist yet: look for it in the build tree.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libpoprt1)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "Runs compiled ONNX models on emulated IPUs
 The C library that compiles ONNX models into PopEF files and runs them,
 with the compiler as a second library that is loaded on first use.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libpoprt-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libpoprt1 (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEV_DESCRIPTION "Headers, pkg-config file and CMake package of libpoprt
 What a program in C11 or C++17 needs to be built against libpoprt.")
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME poprt-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "libpoprt1 (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_TOOLS_DESCRIPTION "Commands poprt, poprt_exec and popef_dump
 Compile, run, measure, compare and look into models from the command line.")
set(CPACK_DEBIAN_INSPECTOR_PACKAGE_NAME poprt-inspector)
set(CPACK_DEBIAN_INSPECTOR_PACKAGE_RECOMMENDS "libgl1-mesa-dri, fonts-dejavu-core, zenity")
set(CPACK_DEBIAN_INSPECTOR_DESCRIPTION "Looks into graphs, compiled models and running queues
 A desktop program for ONNX models, PopEF files and the telemetry of processes
 that serve them: graphs, passes, programs, memory, anchors, queue occupancy.")
# Components outside the packages (bindings have their own) are left to cmake --install.
set(CPACK_COMPONENTS_GROUPING IGNORE)
include(CPack)

add_custom_target(deb COMMAND ${CMAKE_CPACK_COMMAND} --config ${PROJECT_BINARY_DIR}/CPackConfig.cmake -G DEB
  DEPENDS poprt poprt_compiler_plugin $<TARGET_NAME_IF_EXISTS:poprt_images_plugin> poprt_tool popef_dump poprt_exec $<TARGET_NAME_IF_EXISTS:poprt_inspector>
  WORKING_DIRECTORY ${PROJECT_BINARY_DIR} VERBATIM)
