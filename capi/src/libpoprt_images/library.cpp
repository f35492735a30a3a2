#include "ops/common/images_library.h"

#include <allheaders.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Bytes = std::span<const uint8_t>;

struct PixDelete {
  void operator()(PIX* p) const { pixDestroy(&p); }
};
using Pix = std::unique_ptr<PIX, PixDelete>;

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
  throw std::runtime_error(fmt::format(format, std::forward<Args>(args)...));
}

uint64_t big_endian(Bytes b, size_t at, size_t count) {
  uint64_t v = 0;
  for (size_t i = 0; i < count; i++) v = v << 8 | b[at + i];
  return v;
}

// The formats of the ONNX standard. Leptonica supports others as well.
const char* name_of(int format) {
  switch (format) {
    case IFF_BMP: return "BMP";
    case IFF_JFIF_JPEG: return "JPEG";
    case IFF_PNG: return "PNG";
    case IFF_TIFF:
    case IFF_TIFF_PACKBITS:
    case IFF_TIFF_RLE:
    case IFF_TIFF_G3:
    case IFF_TIFF_G4:
    case IFF_TIFF_LZW:
    case IFF_TIFF_ZIP:
    case IFF_TIFF_JPEG: return "TIFF";
    case IFF_PNM: return "PNM";
    case IFF_JP2: return "JPEG 2000";
    case IFF_WEBP: return "WebP";
    default: return nullptr;
  }
}

struct Header {
  int64_t width = 0, height = 0, samples = 0, bits = 0;
};

Header check(const Header& h, const char* format, uint64_t limit) {
  if (h.width <= 0 || h.height <= 0 || h.samples <= 0 || h.bits <= 0)
    refuse("the header of the {} data is invalid", format);
  // Both are below 2^32, so the product does not overflow a double, and it need not be exact.
  const double bytes = static_cast<double>(h.width) * static_cast<double>(h.height) *
                       static_cast<double>(std::max<int64_t>(h.samples, 3)) * (h.bits > 8 ? 2 : 1);
  if (bytes > static_cast<double>(limit))
    refuse("the {} image is {} x {} with {} samples of {} bits, more than {} bytes decoded", format,
           h.width, h.height, h.samples, h.bits, limit);
  return h;
}

// Reads the header of the codestream and ignores that of the surrounding boxes. Leptonica assumes
// samples of 8 bits, and as many samples of each component as pixels.
Header read_codestream(Bytes b) {
  constexpr uint64_t kStart = 0xFF4FFF51, kBox = 0x6A703263;  // SOC and SIZ; jp2c
  constexpr const char* kShort = "the JPEG 2000 data ends before the image";
  size_t at = 0;
  while (b.size() - at >= 8 && big_endian(b, at, 4) != kStart) {
    uint64_t length = big_endian(b, at, 4), head = 8;
    if (length == 1 && b.size() - at >= 16) {
      length = big_endian(b, at + 8, 8);
      head = 16;
    }
    if (big_endian(b, at + 4, 4) == kBox)
      length = head;
    else if (length < head || length > b.size() - at)
      refuse("{}", kShort);
    at += length;
  }
  if (b.size() - at < 42 || big_endian(b, at, 4) != kStart) refuse("{}", kShort);
  const auto field = [&](size_t from) { return static_cast<int64_t>(big_endian(b, at + from, 4)); };
  Header h;
  h.width = field(8) - field(16);
  h.height = field(12) - field(20);
  h.samples = static_cast<int64_t>(big_endian(b, at + 40, 2));
  h.bits = 8;
  if (h.samples > 4) refuse("JPEG 2000 images of {} components are not supported", h.samples);
  if ((b.size() - at - 42) / 3 < static_cast<uint64_t>(h.samples)) refuse("{}", kShort);
  for (size_t c = at + 42; c < at + 42 + 3 * static_cast<size_t>(h.samples); c += 3) {
    if ((b[c] & 0x7F) + 1 != 8)
      refuse("JPEG 2000 samples of {} bits are not supported, only of 8", (b[c] & 0x7F) + 1);
    if (b[c + 1] != 1 || b[c + 2] != 1)
      refuse("JPEG 2000 images with subsampled components are not supported");
  }
  return h;
}

Header read_header(Bytes b, int format, uint64_t limit) {
  if (format == IFF_JP2) check(read_codestream(b), name_of(format), limit);
  if (format == IFF_BMP && b.size() >= 30) {
    // Leptonica reads this header with the pixels, so the size is read here first.
    const auto field = [&](size_t at, size_t count) {
      uint64_t v = 0;
      for (size_t i = count; i-- > 0;) v = v << 8 | b[at + i];
      return static_cast<int64_t>(v);
    };
    const auto side = [&](size_t at) {
      return std::abs(static_cast<int64_t>(static_cast<int32_t>(field(at, 4))));
    };
    check({side(18), side(22), 1, 8}, name_of(format), limit);
    if (field(28, 2) == 16) refuse("BMP images of 16 bits a pixel are not supported");
  }
  l_int32 found = 0, width = 0, height = 0, bits = 0, samples = 0, palette = 0;
  if (pixReadHeaderMem(b.data(), b.size(), &found, &width, &height, &bits, &samples, &palette) != 0)
    refuse("the {} data is damaged, or of a kind that is not supported", name_of(format));
  // Leptonica reads the bytes of gray PNM samples of 16 bits in the wrong order.
  if (format == IFF_PNM && samples == 1 && bits == 16)
    refuse("PNM images with gray of 16 bits are not supported");
  return check({width, height, samples, bits}, name_of(format), limit);
}

// Removes chunk tRNS, because Leptonica turns gray images with it black. Alpha is removed in any
// case.
std::vector<uint8_t> without_transparency(Bytes png) {
  constexpr uint64_t kTransparency = 0x74524E53;
  constexpr size_t kSignature = 8, kAround = 12;  // length, type and checksum of a chunk
  std::vector<uint8_t> out(png.begin(), png.begin() + kSignature);
  size_t at = kSignature;
  while (png.size() - at >= kAround) {
    const uint64_t length = big_endian(png, at, 4) + kAround;
    if (length > png.size() - at) break;
    if (big_endian(png, at + 4, 4) != kTransparency)
      out.insert(out.end(), png.begin() + at, png.begin() + at + length);
    at += length;
  }
  out.insert(out.end(), png.begin() + at, png.end());
  return out;
}

void decode_rgb(Bytes b, uint64_t limit, uint8_t* (*allocate)(void*, int64_t, int64_t),
                void* context) {
  l_int32 format = IFF_UNKNOWN;
  constexpr size_t kSmallest = 12;  // bytes that Leptonica examines
  if (b.size() >= kSmallest) findFileFormatBuffer(b.data(), &format);
  const char* name = name_of(format);
  if (!name)
    refuse(
        "the {} bytes are not an image of a known format (BMP, JPEG, JPEG 2000, PNG, PNM, TIFF, "
        "WebP)",
        b.size());
  const Header header = read_header(b, format, limit);
  std::vector<uint8_t> changed;
  if (format == IFF_PNG && header.samples == 1) b = changed = without_transparency(b);
  // Reads the first page. A JPEG that ends early is an error.
  Pix pix(pixReadMem(b.data(), b.size()));
  if (pix) pix.reset(pixConvertTo32(pix.get()));
  if (!pix) refuse("the {} data is damaged, or of a kind that is not supported", name);
  l_int32 width = 0, height = 0;
  pixGetDimensions(pix.get(), &width, &height, nullptr);
  check({width, height, 3, 8}, name, limit);
  uint8_t* out = allocate(context, height, width);
  if (!out) refuse("out of memory");
  for (l_int32 y = 0; y < height; y++) {
    const l_uint32* row = pixGetData(pix.get()) + static_cast<ptrdiff_t>(y) * pixGetWpl(pix.get());
    for (l_int32 x = 0; x < width; x++)
      for (const int shift : {L_RED_SHIFT, L_GREEN_SHIFT, L_BLUE_SHIFT})
        *out++ = static_cast<uint8_t>(row[x] >> shift);
  }
}

int decode(const uint8_t* data, size_t size, uint64_t limit,
           uint8_t* (*allocate)(void*, int64_t, int64_t), void* context, char* error,
           size_t error_size) {
  try {
    decode_rgb({data, size}, limit, allocate, context);
    return 0;
  } catch (const std::exception& e) {
    const size_t count = std::min(std::strlen(e.what()), error_size - 1);
    std::memcpy(error, e.what(), count);
    error[count] = '\0';
    return 1;
  }
}

}  // namespace

const poprt_images_library* poprt_images_library_table(void) {
  static const poprt_images_library table = [] {
    setMsgSeverity(L_SEVERITY_NONE);  // the library reports errors itself
    return poprt_images_library{POPRT_IMAGES_VERSION, decode};
  }();
  return &table;
}
