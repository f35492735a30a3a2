// Converts the epilogue in the call of a matmul or convolution for its kernel.
#pragma once

#include "kernels/calls/common/epilogue.h"
#include "kernels/isa/epilogue.h"
#include "kernels/kernel.h"

namespace poprt::kernels {

isa::Epilogue make_epilogue(const calls::Epilogue& epilogue);

// Estimated nanoseconds for each element on one thread, for Plan::work.
double epilogue_ns(const isa::Epilogue& epilogue);

}  // namespace poprt::kernels
