# Port of poprt: libraries, headers and commands, from the source archive of a release.
vcpkg_download_distfile(archive
  URLS "https://poprt.example.org/releases/poprt-@VERSION@.tar.gz"
  FILENAME "poprt-@VERSION@.tar.gz"
  SHA512 @SHA512@)
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${archive}")
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DPOPRT_TESTS=OFF -DPOPRT_BENCH=OFF -DPOPRT_BINDINGS=OFF -DPOPRT_INSTALL_LIBDIR=lib)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME poprt CONFIG_PATH lib/cmake/poprt)
vcpkg_fixup_pkgconfig()
vcpkg_copy_tools(TOOL_NAMES poprt poprt_exec popef_dump AUTO_CLEAN)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
