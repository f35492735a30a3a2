// Engine caching: the options that enable it, and the key.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "poprt/compiler.h"
#include "runtime/session/executable_cache.h"

namespace poprt::capi {

// Returns the folder if caching is enabled: cache_path, else POPXL_CACHE_DIR, else
// POPART_CACHE_DIR, else "session_cache". Each of the two variables also enables caching. Option
// serialize_ir disables it.
std::optional<std::filesystem::path> cache_folder(const poprt_compile_options& options);

// `model_hash` is the hash of the model's bytes with its external data.
runtime::CacheKey cache_key(const poprt_compile_options& options, const std::string& model_hash,
                            const std::string& name);

}  // namespace poprt::capi
