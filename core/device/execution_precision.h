// Changes the precision in which a compiled program computes its products, without the model that
// it was compiled from.
//
// Example, with ExecutionPrecision::bf16: `matmul` with panels of f32 becomes `matmul_narrow` with
// panels of bf16. The arena grows by the memory for rows of bf16. Weights that no instruction reads
// any more are left out.
//
//   before  matmul (arena+0, weights+0:f32, -, -, arena+4096)
//   after   matmul_narrow (arena+0, weights+0:u8, -, -, -, -, arena+4096, arena+8192)
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "program/builder.h"

namespace poprt::device {

enum class ExecutionPrecision {
  f32,
  bf16,       // both factors of a product are rounded to bf16; sums are f32
  f16,        // weights that f16 can hold are rounded to it; products are f16 on CPUs that
              // compute in it, else f32
  automatic,  // bf16 for weights that bf16 represents, f16 for those stored as f16, else f32
};

// Throws invalid_argument for a name other than f32, bf16, f16 and auto.
ExecutionPrecision execution_precision_named(std::string_view name);

// Whether this CPU has kernels for products of f16.
bool computes_in_f16();

struct RewrittenProgram {
  program::Program program;
  // The image must exist while they are filled.
  std::vector<program::Weight> weights;
};

// Returns the program with `precision`, or nullopt if no instruction changes. MatMul and Gemm with
// constant weights of f32, f16 or bf16 may change. With bf16, and with auto for weights that bf16
// represents, convolutions with constant weights change as well, except depthwise ones, those of
// small groups, those that use Winograd's algorithm and dilated ones of which most products are
// padding; values between instructions stay f32. With f32, products of f16 become products of f32
// with the same weights, if the CPU computes in f16 (`half_products`); other CPUs compute both
// equally. Throws failed_precondition for f32 if the program computes products of bf16, because the
// exact weights are not in it, and unimplemented for a program for several IPUs unless `precision`
// is f32.
std::optional<RewrittenProgram> with_execution_precision(const Image& image,
                                                         ExecutionPrecision precision,
                                                         bool half_products = computes_in_f16());

}  // namespace poprt::device
