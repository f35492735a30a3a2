// Compiles a language model for a generator.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "poprt/compiler.h"
#include "runtime/session/model.h"

namespace poprt::capi {

// `generation` is the JSON of compiler/generation.h; `compiler` may be null. `parts` are the other
// files that it names. Uses the cache of compiled models if the options name one. Throws the errors
// of poprt_compiler_compile_file.
std::shared_ptr<const runtime::Model> compile_generation(
    const poprt_compiler* compiler, const std::filesystem::path& onnx,
    const std::string& generation, std::span<const std::filesystem::path> parts);

}  // namespace poprt::capi
