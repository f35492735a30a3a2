// Graphs of published networks, with weights that are inputs, so that they need no memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/chip_program.h"
#include "ir/graph.h"

namespace poprt::chip_models {

struct Model {
  std::unique_ptr<ir::Graph> graph;
  std::vector<std::string> weights;  // the inputs that are weights
};

struct Transformer {
  int64_t batch = 1, sequence = 128, layers = 12, hidden = 768, heads = 12, inner = 3072;
  int64_t vocabulary = 30522;  // 0: the input is embedded
  bool pre_norm = false;       // layer normalization before each part, as ViT and CLIP do
  bool biases = true;
  bool causal = false;
  bool rotary = false;  // rotary position embedding
  bool tanh_gelu = false;
  bool quick_gelu = false;  // x sigmoid(1.702 x)
  bool relu = false;
  int64_t classes = 2;     // of the last product, 0: none
  bool all_tokens = true;  // whether the last product is computed for every token
};

// ResNet-50 v1.5 for images of 224 x 224. `bytes`: the images have elements of u8.
Model resnet50(int64_t batch, bool bytes);
// ResNeXt-101 32x4d.
Model resnext101(int64_t batch);
// EfficientNet with depth and width multiplied, for images of `size`.
Model efficientnet(int64_t batch, double width, double depth, int64_t size);
Model transformer(const Transformer& t);
// ViT for images of 224 x 224 in patches of `patch`.
Model vision_transformer(const Transformer& t, int64_t patch);

}  // namespace poprt::chip_models
