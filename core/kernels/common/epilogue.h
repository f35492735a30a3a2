// Builds the epilogue of a matmul or convolution from what its call says.
#pragma once

#include "kernels/calls/common/epilogue.h"
#include "kernels/isa/epilogue.h"
#include "kernels/kernel.h"

namespace poprt::kernels {

isa::Epilogue make_epilogue(const calls::Epilogue& epilogue);

// Rough nanoseconds per element on one thread, for Plan::work.
double epilogue_ns(const isa::Epilogue& epilogue);

}  // namespace poprt::kernels
