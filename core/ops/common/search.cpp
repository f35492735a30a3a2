#include "ops/common/search.h"

namespace poprt::ops {
namespace {

constexpr SearchInputs kBeams = {.num_beams = 3,
                                 .num_return_sequences = 4,
                                 .length_penalty = 5,
                                 .repetition_penalty = 6,
                                 .vocab_mask = 7,
                                 .prefix_vocab_mask = 8,
                                 .attention_mask = 9,
                                 .decoder_input_ids = 10,
                                 .logits_processor = 11,
                                 .presence_mask = {},
                                 .seed = {},
                                 .cross_qk_layer_head = {},
                                 .extra_decoding_ids = {},
                                 .temperature = {}};
constexpr SearchInputs kWhisper = [] {
  SearchInputs in = kBeams;
  in.cross_qk_layer_head = 12;
  in.extra_decoding_ids = 13;
  in.temperature = 14;
  return in;
}();
constexpr SearchInputs kOneBeam = {.num_beams = {},
                                   .num_return_sequences = {},
                                   .length_penalty = {},
                                   .repetition_penalty = 3,
                                   .vocab_mask = 4,
                                   .prefix_vocab_mask = 5,
                                   .attention_mask = 6,
                                   .decoder_input_ids = {},
                                   .logits_processor = {},
                                   .presence_mask = 7,
                                   .seed = 8,
                                   .cross_qk_layer_head = {},
                                   .extra_decoding_ids = {},
                                   .temperature = {}};

int64_t size_of(const InferContext& ctx, SearchInputs::Place place) {
  if (!place || !ctx.has(*place)) return 1;
  const auto v = ctx.ints(*place);
  return v && v->size() == 1 ? (*v)[0] : kUnknownDim;
}

}  // namespace

const SearchInputs& search_inputs(const ir::Node& n) {
  if (n.op_type == "WhisperBeamSearch") return kWhisper;
  return n.op_type == "BeamSearch" ? kBeams : kOneBeam;
}

uint32_t search_sizes(const ir::Node& n) {
  const SearchInputs& in = search_inputs(n);
  uint32_t bits = 1U << in.max_length;
  for (const auto& place : {in.num_beams, in.num_return_sequences})
    if (place) bits |= 1U << *place;
  return bits;
}

void infer_search(InferContext& ctx) {
  const SearchInputs& in = search_inputs(ctx.node);
  const ir::ValueType& ids = ctx.in(in.input_ids);
  const int64_t batch = ids.has_shape && !ids.shape.empty() ? ids.shape[0] : kUnknownDim;
  const int64_t length = size_of(ctx, in.max_length);
  if (!in.num_beams) return ctx.out(0, DType::s32, {batch, length});
  const int64_t returned = size_of(ctx, in.num_return_sequences);
  ctx.out(0, DType::s32, {batch, returned, length});
  const DType t = ctx.has(*in.length_penalty) ? ctx.in(*in.length_penalty).dtype : DType::f32;
  if (ctx.node.outputs().size() > 1) ctx.out(1, t, {batch, returned});
  if (ctx.node.outputs().size() > 2)
    ctx.out(2, t, {kUnknownDim, batch, size_of(ctx, in.num_beams), kUnknownDim});
  if (ctx.node.outputs().size() > 3) ctx.out_dtype(3, DType::f32);
  if (ctx.node.outputs().size() > 4) ctx.out(4, t, {batch});
}

}  // namespace poprt::ops
