#include "device/null/null_device.h"

namespace poprt::device {
namespace {

class NullEngine final : public Engine {
 public:
  void run(Flow, const void* const*, void* const*) noexcept override {}
};

}  // namespace

std::unique_ptr<Engine> NullDevice::load(const Image& image, const LoadOptions&) {
  program::verify(*image.program);
  return std::make_unique<NullEngine>();
}

}  // namespace poprt::device
