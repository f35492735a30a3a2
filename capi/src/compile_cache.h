// Engine caching: which options ask for it, and under which key.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "poprt/compiler.h"
#include "runtime/session/executable_cache.h"

namespace poprt::capi {

// The folder when caching is on: cache_path, else POPXL_CACHE_DIR, else POPART_CACHE_DIR, else
// "session_cache". Either variable turns caching on by itself.
std::optional<std::filesystem::path> cache_folder(const poprt_compile_options& options);

// `model_hash` stands for the model's bytes, external data included.
runtime::CacheKey cache_key(const poprt_compile_options& options, const std::string& model_hash,
                            const std::string& name);

}  // namespace poprt::capi
