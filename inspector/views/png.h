// Writes PNG files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace poprt::inspector {

// RGBA rows, bottom row first, as OpenGL returns them. The file has no alpha. Throws Error if it
// cannot be written.
void write_png(const std::filesystem::path& path, int width, int height,
               const std::vector<uint8_t>& pixels);

}  // namespace poprt::inspector
