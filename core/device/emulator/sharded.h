// Several emulated IPUs that share a program (program/shards.h): each has an engine of its own.
#pragma once

#include <functional>
#include <memory>

#include "device/device.h"

namespace poprt::device {

using LoadOne = std::function<std::unique_ptr<Engine>(const Image&, const LoadOptions&)>;

// Without stages, one run goes from IPU to IPU on the caller's thread, and each IPU has all the
// compute threads, because one of them works at a time. With stages, the IPUs share the threads.
// Throws as Device::load.
std::unique_ptr<Engine> load_shards(const Image& image, const LoadOptions& options,
                                    const LoadOne& load_one);

}  // namespace poprt::device
