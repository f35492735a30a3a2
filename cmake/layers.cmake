# The layering table: the layers that each layer of core/ may include. The targets are made from it, and tests/lint
# checks every #include against it. One line for each layer: "name: allowed layers | outside libraries".
set(POPRT_LAYERS
  "base: | poprt_fmt poprt_spdlog nlohmann_json::nlohmann_json Threads::Threads"
  "codecs: base |"
  "ir: base |"
  "onnx: ir codecs base | poprt_onnx_proto"
  "plugins: codecs base | ${CMAKE_DL_LIBS}"
  "kernels: plugins base |"
  "ipu: base |"
  "program: codecs base |"
  "ops: ir program kernels ipu plugins base | poprt_text ${CMAKE_DL_LIBS}"
  "opsets: ops ir base |"
  "passes: opsets ops plugins ir codecs base |"
  "compiler: passes opsets ops onnx ipu program kernels plugins ir base |"
  "popef: codecs base | poprt_zstd"
  "device: kernels program base |"
  "runtime: popef device program base |"
  "generate: runtime popef device program kernels codecs base |"
)

# poprt_table(TARGET NAMESPACE TYPE SUFFIX ACCESSOR HEADER PREFIXED FILES...) generates the table of all `extern const
# TYPE def` in the files, each in its namespace <stem>_SUFFIX, as `std::span<const TYPE* const> ACCESSOR()`. If PREFIXED
# names a folder, namespaces of files in folders below it are <folder>_<stem>_SUFFIX. Such folders contain the operators
# of domains other than ai.onnx.
function(poprt_table target namespace type suffix accessor header prefixed)
  set(externs "")
  set(rows "")
  list(SORT ARGN)
  foreach(file ${ARGN})
    get_filename_component(stem ${file} NAME_WE)
    get_filename_component(folder ${file} DIRECTORY)
    get_filename_component(folder ${folder} NAME)
    if(prefixed AND NOT folder STREQUAL prefixed)
      set(stem ${folder}_${stem})
    endif()
    string(APPEND externs "namespace ${stem}_${suffix} { extern const ${type} def; }\n")
    string(APPEND rows "    &${stem}_${suffix}::def,\n")
  endforeach()
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${target}_table.cpp)
  file(GENERATE OUTPUT ${out} CONTENT
"// Generated from the file system by cmake/layers.cmake.
#include <array>
#include \"${header}\"
namespace ${namespace} {
${externs}
std::span<const ${type}* const> ${accessor}() {
  static const auto table = std::to_array<const ${type}*>({
${rows}  });
  return table;
}
}  // namespace ${namespace}
")
  target_sources(${target} PRIVATE ${out})
endfunction()

# poprt_kernel_calls(OUT): generates a header that lists the structs of core/kernels/calls, for code that visits all of
# them: foo_bar.h defines FooBar.
function(poprt_kernel_calls out)
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/core/kernels/calls/*.h)
  list(FILTER files EXCLUDE REGEX "/call\\.h$")
  set(includes "")
  set(types "")
  foreach(file ${files})
    get_filename_component(stem ${file} NAME_WE)
    string(APPEND includes "#include \"kernels/calls/${stem}.h\"\n")
    string(REPLACE "_" ";" words ${stem})
    set(type "")
    foreach(word ${words})
      string(SUBSTRING ${word} 0 1 first)
      string(SUBSTRING ${word} 1 -1 rest)
      string(TOUPPER ${first} first)
      string(APPEND type ${first}${rest})
    endforeach()
    list(APPEND types ${type})
  endforeach()
  list(JOIN types ", " types)
  file(GENERATE OUTPUT ${out} CONTENT
"// Generated from the file system by cmake/layers.cmake.
#pragma once
${includes}
namespace poprt::kernels::calls {
template <class... C>
struct CallList {};
using AllCalls = CallList<${types}>;
}  // namespace poprt::kernels::calls
")
endfunction()

# The instruction sets for which core/kernels/isa/*.cpp is compiled, with POPRT_ISA set to the name. Those files must
# only include isa/ headers and <cstdint>/<cstddef>: an inline function of the standard library compiled for AVX-512
# must never be the copy that the linker keeps.
set(POPRT_ISAS baseline avx2 avx512)
set(POPRT_ISA_FLAGS_baseline "")
set(POPRT_ISA_FLAGS_avx2 -march=x86-64-v3)
set(POPRT_ISA_FLAGS_avx512 -march=x86-64-v4 -mprefer-vector-width=512)
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(POPRT_ISAS baseline)
endif()

# poprt_isa_builds(OUT): generates the functions foo_builds() of the tables that core/kernels/isa/*.h declare with
# POPRT_DECLARE_ISA, and the functions of core/kernels/common/isa_builds.h.
function(poprt_isa_builds out)
  file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/core/kernels/isa/*.h)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${headers})
  set(includes "")
  set(own "")
  set(all "")
  set(functions "")
  set(sizes "")
  set(index 0)
  foreach(header ${headers})
    file(STRINGS ${header} declared REGEX "^POPRT_DECLARE_ISA\\(")
    foreach(line ${declared})
      string(REGEX MATCH "\\(([A-Za-z0-9]+), ([a-z0-9_]+)\\)" _ "${line}")
      set(table ${CMAKE_MATCH_1})
      set(name ${CMAKE_MATCH_2})
      get_filename_component(file ${header} NAME)
      string(APPEND includes "#include \"kernels/isa/${file}\"\n")
      list(TRANSFORM POPRT_ISAS REPLACE "(.+)" "&isa::${name}_\\1" OUTPUT_VARIABLE builds)
      list(JOIN builds ", " builds)
      string(APPEND own "constexpr const isa::${table}* k_${name}[] = {${builds}};\n")
      string(APPEND all "    k_${name},\n")
      string(APPEND functions "const isa::${table}* const* isa::${name}_builds() { return builds<isa::${table}>(${index}, OWN(k_${name})); }\n")
      string(APPEND sizes "  hash = fold(hash, \"${name}\", sizeof(isa::${table}));\n")
      math(EXPR index "${index} + 1")
    endforeach()
  endforeach()
  file(GENERATE OUTPUT ${out} CONTENT
"// Generated from core/kernels/isa by cmake/layers.cmake.
#include \"kernels/common/isa_builds.h\"

#include \"base/error.h\"
${includes}
namespace poprt::kernels {
namespace {

constexpr uint64_t fold(uint64_t hash, const char* name, uint64_t size) {
  for (; *name; name++) hash = (hash ^ static_cast<unsigned char>(*name)) * 0x100000001b3;
  return (hash ^ size) * 0x100000001b3;
}
constexpr uint64_t layout() {
  uint64_t hash = 0xcbf29ce484222325;
${sizes}  return hash;
}

#if defined(POPRT_BORROWED_ISA)
const void* const* tables = nullptr;
template <class Table>
const Table* const* builds(int index, const void*) {
  POPRT_ASSERT(tables);
  return static_cast<const Table* const*>(tables[index]);
}
#define OWN(name) nullptr
#else
${own}
constexpr const void* tables[] = {
${all}};
template <class Table>
const Table* const* builds(int, const Table* const* own) {
  return own;
}
#define OWN(name) name
#endif

}  // namespace

#if defined(POPRT_BORROWED_ISA)
bool borrow_isa_builds(const IsaBuilds& from) {
  if (from.layout != layout()) return false;
  tables = from.tables;
  return true;
}
#else
const IsaBuilds& own_isa_builds() {
  static constexpr IsaBuilds own{layout(), tables};
  return own;
}
#endif

${functions}
}  // namespace poprt::kernels
")
endfunction()

function(poprt_isa_sources target)
  # Sanitizers check every access of every unrolled loop. With their checks as calls, at -O1, AVX2's conv_tile compiles
  # in 6 s instead of 18 s.
  set(optimized -O3)
  if(POPRT_SANITIZE)
    set(optimized -O1)
  endif()
  if(POPRT_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    list(APPEND optimized -fsanitize-address-outline-instrumentation)
  endif()
  foreach(isa ${POPRT_ISAS})
    add_library(${target}_${isa} OBJECT ${ARGN})
    target_link_libraries(${target}_${isa} PRIVATE poprt_flags)
    target_include_directories(${target}_${isa} PRIVATE ${PROJECT_SOURCE_DIR}/core)
    target_compile_definitions(${target}_${isa} PRIVATE POPRT_ISA=${isa} POPRT_ISA_${isa}=1)
    target_compile_options(${target}_${isa} PRIVATE ${POPRT_ISA_FLAGS_${isa}} ${optimized} -ffp-contract=fast
      -fno-exceptions -fno-rtti -fno-trapping-math -Wno-conversion -Wno-psabi)
    if(isa STREQUAL "avx512" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      # Intrinsics of GCC 12 pass an uninitialized register on purpose (_mm512_undefined_epi32, GCC bug 105593).
      target_compile_options(${target}_${isa} PRIVATE -Wno-uninitialized)
    endif()
    # math.h includes vec.h and, by it, the compiler's intrinsics, which take most of the time of parsing a file.
    if(POPRT_ISA_FLAGS_${isa})
      target_precompile_headers(${target}_${isa} PRIVATE ${PROJECT_SOURCE_DIR}/core/kernels/isa/math.h)
    endif()
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_${isa}>)
    target_compile_definitions(${target} PRIVATE POPRT_HAS_ISA_${isa}=1)
  endforeach()
endfunction()
