# All dependencies are Debian 12 packages (tests/run_all installs them).
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_path(SPDLOG_INCLUDE_DIR spdlog/spdlog.h REQUIRED)
find_package(Protobuf REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_library(YAML_LIBRARY yaml REQUIRED)  # for --config_yaml: an event parser, so that hostile files use little memory
find_library(ZIP_LIBRARY zip REQUIRED)  # Debian's CMake package requires programs that it does not contain

# fmt and spdlog are compiled into the libraries, and zstd is static: a serving process starts faster with fewer
# libraries.
get_target_property(FMT_INCLUDE_DIR fmt::fmt-header-only INTERFACE_INCLUDE_DIRECTORIES)
add_library(poprt_fmt STATIC cmake/fmt.cpp)
target_include_directories(poprt_fmt SYSTEM PUBLIC ${FMT_INCLUDE_DIR})
add_library(poprt_spdlog STATIC cmake/spdlog.cpp)  # Debian's target links the shared libfmt
target_include_directories(poprt_spdlog SYSTEM PUBLIC ${SPDLOG_INCLUDE_DIR})
target_compile_definitions(poprt_spdlog PUBLIC SPDLOG_FMT_EXTERNAL SPDLOG_COMPILED_LIB)
# Lines of a log are formatted rarely, and with these options spdlog compiles a third faster.
target_compile_options(poprt_spdlog PRIVATE $<$<CONFIG:Release>:-Os> ${POPRT_INLINE_LESS})
target_link_libraries(poprt_spdlog PUBLIC poprt_fmt)
find_library(ZSTD_STATIC_LIBRARY libzstd.a REQUIRED)
add_library(poprt_zstd INTERFACE)
target_link_libraries(poprt_zstd INTERFACE ${ZSTD_STATIC_LIBRARY})

# For the text operators in the compiler library. RE2 is shared because Debian's static RE2 cannot
# be linked into a shared library.
find_path(RE2_INCLUDE_DIR re2/re2.h REQUIRED)
find_library(RE2_LIBRARY re2 REQUIRED)
find_path(UTF8PROC_INCLUDE_DIR utf8proc.h REQUIRED)
find_library(UTF8PROC_LIBRARY utf8proc REQUIRED)
add_library(poprt_text INTERFACE)
target_include_directories(poprt_text SYSTEM INTERFACE ${RE2_INCLUDE_DIR} ${UTF8PROC_INCLUDE_DIR})
target_link_libraries(poprt_text INTERFACE ${RE2_LIBRARY} ${UTF8PROC_LIBRARY})

# Debian's libonnx-dev: the protobuf classes and, for the inspector, the documentation of operators.
find_library(ONNX_LIBRARY onnx REQUIRED)
find_library(ONNX_PROTO_LIBRARY onnx_proto REQUIRED)
add_library(poprt_onnx_proto INTERFACE)
target_compile_definitions(poprt_onnx_proto INTERFACE ONNX_ML=1 ONNX_NAMESPACE=onnx)
target_link_libraries(poprt_onnx_proto INTERFACE ${ONNX_LIBRARY} ${ONNX_PROTO_LIBRARY} protobuf::libprotobuf)

# Optional, for operator ImageDecoder.
find_package(PkgConfig QUIET)
if(PKG_CONFIG_FOUND)
  pkg_check_modules(LEPTONICA QUIET IMPORTED_TARGET lept)
endif()
if(NOT LEPTONICA_FOUND)
  message(STATUS "no images: there is no Leptonica (libleptonica-dev), so operator ImageDecoder will not run")
endif()

# Optional, for the desktop inspector. Debian's imgui is a static library with its backends inside.
set(POPRT_INSPECTOR OFF)
if(PKG_CONFIG_FOUND)
  pkg_check_modules(IMGUI QUIET imgui)
  pkg_check_modules(GLFW QUIET glfw3)
  pkg_check_modules(GL QUIET gl egl)
  pkg_check_modules(ZLIB QUIET IMPORTED_TARGET zlib)
endif()
if(IMGUI_FOUND AND GLFW_FOUND AND GL_FOUND AND ZLIB_FOUND)
  set(POPRT_INSPECTOR ON)
  add_library(poprt_imgui INTERFACE)
  target_include_directories(poprt_imgui SYSTEM INTERFACE ${IMGUI_INCLUDE_DIRS})
  target_link_libraries(poprt_imgui INTERFACE ${IMGUI_LINK_LIBRARIES} ${IMGUI_LDFLAGS})
  add_library(poprt_glfw INTERFACE)
  target_include_directories(poprt_glfw SYSTEM INTERFACE ${GLFW_INCLUDE_DIRS} ${GL_INCLUDE_DIRS})
  target_link_libraries(poprt_glfw INTERFACE ${GLFW_LDFLAGS} ${GL_LDFLAGS})
else()
  message(STATUS "no inspector: it needs Dear ImGui, GLFW, OpenGL, EGL and zlib (libimgui-dev, libglfw3-dev, libgl-dev, libegl-dev, zlib1g-dev)")
endif()
