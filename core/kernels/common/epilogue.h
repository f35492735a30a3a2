// Builds the epilogue of a matmul or convolution from a program's integers and floats.
#pragma once

#include "kernels/isa/epilogue.h"
#include "kernels/kernel.h"

namespace poprt::kernels {

// Checks the activation number. Throws invalid_argument naming the kernel.
isa::Epilogue make_epilogue(std::string_view kernel, int64_t activation, float a, float b,
                            bool residual_after);

// Rough nanoseconds per element on one thread, for Plan::work.
double epilogue_ns(const isa::Epilogue& epilogue);

}  // namespace poprt::kernels
