#include "views/png.h"

#include <zlib.h>

#include <array>
#include <span>
#include <string_view>

#include "base/error.h"
#include "base/file.h"

namespace poprt::inspector {
namespace {

using Bytes = std::vector<uint8_t>;

void add_number(Bytes& to, uint32_t n) {
  for (int shift = 24; shift >= 0; shift -= 8) to.push_back(static_cast<uint8_t>(n >> shift));
}

void add_chunk(Bytes& file, std::string_view type, const Bytes& data) {
  add_number(file, static_cast<uint32_t>(data.size()));
  const size_t begin = file.size();
  file.insert(file.end(), type.begin(), type.end());
  file.insert(file.end(), data.begin(), data.end());
  add_number(file, static_cast<uint32_t>(
                       crc32(0, file.data() + begin, static_cast<uInt>(file.size() - begin))));
}

}  // namespace

void write_png(const std::filesystem::path& path, int width, int height, const Bytes& pixels) {
  Bytes rows;
  const auto w = static_cast<size_t>(width);
  for (int y = height - 1; y >= 0; y--) {
    rows.push_back(0);  // filter type of the row: none
    const uint8_t* row = pixels.data() + static_cast<size_t>(y) * w * 4;
    for (size_t x = 0; x < w; x++) rows.insert(rows.end(), row + x * 4, row + x * 4 + 3);
  }
  uLongf bytes = compressBound(static_cast<uLong>(rows.size()));
  Bytes packed(bytes);
  if (compress2(packed.data(), &bytes, rows.data(), static_cast<uLong>(rows.size()),
                Z_BEST_COMPRESSION) != Z_OK)
    fail(ErrorCode::internal, "zlib cannot compress {} bytes", rows.size());
  packed.resize(bytes);

  Bytes file = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  Bytes header;
  add_number(header, static_cast<uint32_t>(width));
  add_number(header, static_cast<uint32_t>(height));
  const Bytes format = {8, 2, 0, 0, 0};  // 8 bits per channel, RGB
  header.insert(header.end(), format.begin(), format.end());
  add_chunk(file, "IHDR", header);
  add_chunk(file, "IDAT", packed);
  add_chunk(file, "IEND", {});
  AtomicFile out(path);
  out.write(std::as_bytes(std::span(file)));
  out.commit();
}

}  // namespace poprt::inspector
