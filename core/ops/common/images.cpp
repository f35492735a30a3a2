#include "ops/common/images.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <mutex>
#include <string>

#include "base/error.h"
#include "ops/common/images_library.h"
#include "ops/op.h"

namespace poprt::ops {
namespace {

constexpr const char* kFile = "libpoprt_images.so.1";
constexpr uint64_t kMaxBytes = uint64_t{1} << 28;  // of a decoded image, as RGB

// The images library is in the folder of the library that contains this code. Programs that contain
// it themselves have the folder in their run path.
void* open_library(std::string& why) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&open_library), &info) && info.dli_fname) {
    std::error_code error;
    const auto own = std::filesystem::canonical(info.dli_fname, error);
    const auto neighbour =
        (error ? std::filesystem::path(info.dli_fname) : own).parent_path() / kFile;
    if (std::filesystem::exists(neighbour, error)) {
      void* library = dlopen(neighbour.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (!library) why = dlerror();
      return library;
    }
  }
  void* library = dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
  if (!library) why = dlerror();
  return library;
}

const poprt_images_library& images_library() {
  static std::mutex mutex;
  static const poprt_images_library* loaded = nullptr;  // a call after a failure tries again
  const std::lock_guard lock(mutex);
  if (loaded) return *loaded;
  std::string why;
  void* library = open_library(why);
  if (!library)
    fail(ErrorCode::failed_precondition,
         "images are decoded by {}, which cannot be loaded ({}): install it with the package of "
         "this compiler (Debian: libpoprt1 and liblept5; a build needs libleptonica-dev)",
         kFile, why);
  const auto table = reinterpret_cast<const poprt_images_library* (*)(void)>(
      dlsym(library, "poprt_images_library_table"));
  const poprt_images_library* found = table ? table() : nullptr;
  const int32_t version = found ? found->version : 0;
  if (version != POPRT_IMAGES_VERSION) {
    dlclose(library);
    fail(ErrorCode::failed_precondition,
         "{} has version {}, this compiler requires {}: install both from one build", kFile,
         version, POPRT_IMAGES_VERSION);
  }
  return *(loaded = found);
}

// Luma of ITU-R 601-2 in 16-bit fixed point, as in the reference implementation of ONNX.
uint8_t gray(const uint8_t* rgb) {
  return static_cast<uint8_t>((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 0x8000u) >> 16);
}

Tensor decode(const ir::Node& n, const Tensor& stream) {
  const std::string format = n.string_attr("pixel_format", "RGB");
  Tensor rgb = decode_rgb(stream.values<uint8_t>());
  if (format == "RGB") return rgb;
  const auto pixels = rgb.mutable_values<uint8_t>();
  if (format == "BGR") {
    for (size_t i = 0; i < pixels.size(); i += 3) std::swap(pixels[i], pixels[i + 2]);
    return rgb;
  }
  Tensor y = Tensor::zeros(DType::u8, {rgb.shape()[0], rgb.shape()[1], 1});
  const auto out = y.mutable_values<uint8_t>();
  for (size_t i = 0; i < out.size(); i++) out[i] = gray(&pixels[3 * i]);
  return y;
}

}  // namespace

bool decodes_image(const ir::Node& n) {
  return n.op_type == "ImageDecoder" && (n.domain.empty() || n.domain == "ai.onnx");
}

Tensor decode_rgb(std::span<const uint8_t> file) {
  Tensor rgb;
  std::array<char, 256> message{};
  const auto allocate = [](void* to, int64_t height, int64_t width) -> uint8_t* {
    try {
      Tensor& t = *static_cast<Tensor*>(to) = Tensor::zeros(DType::u8, {height, width, 3});
      return t.mutable_values<uint8_t>().data();
    } catch (const std::exception&) {
      return nullptr;  // out of memory: an exception must not cross the C interface
    }
  };
  if (images_library().decode(file.data(), file.size(), kMaxBytes, allocate, &rgb, message.data(),
                              message.size()) != 0)
    fail(ErrorCode::data_loss, "{}", message.data());
  return rgb;
}

Tensor decode_image(const ir::Node& n, const Tensor& stream) {
  try {
    return decode(n, stream);
  } catch (Error& e) {
    e.add_context(n.describe());
    throw;
  }
}

}  // namespace poprt::ops
