# Everything comes from Debian 12 packages (tests/run_all installs them).
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(Protobuf REQUIRED)
find_package(CapnProto REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(LZ4 REQUIRED IMPORTED_TARGET liblz4)

# Debian's libonnx-dev: the proto classes and the version converter.
find_library(ONNX_LIBRARY onnx REQUIRED)
find_library(ONNX_PROTO_LIBRARY onnx_proto REQUIRED)
add_library(poprt_onnx_proto INTERFACE)
target_compile_definitions(poprt_onnx_proto INTERFACE ONNX_ML=1 ONNX_NAMESPACE=onnx)
target_link_libraries(poprt_onnx_proto INTERFACE ${ONNX_LIBRARY} ${ONNX_PROTO_LIBRARY} protobuf::libprotobuf)
