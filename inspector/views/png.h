// Pictures of what was drawn.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace poprt::inspector {

// RGBA rows from the bottom up, as OpenGL reads them. Throws Error when the file cannot be written.
void write_png(const std::filesystem::path& path, int width, int height,
               const std::vector<uint8_t>& pixels);

}  // namespace poprt::inspector
