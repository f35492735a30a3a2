#include "ops/common/token_search.h"

#include <algorithm>

#include "base/onnx_dtype.h"
#include "ops/common/reduce.h"
#include "ops/op.h"

namespace poprt::ops {

using ir::Graph;
using ir::Node;

namespace {

constexpr int64_t kMaxLength = 4096;  // the limit of ONNX Runtime
constexpr int64_t kMaxBeams = 128;
constexpr int64_t kFirstOpset = 11;  // the first one with all operators of the rounds

}  // namespace

void resolve_search(ResolveContext& ctx) { TokenSearch(ctx).run(); }

TokenSearch::TokenSearch(ResolveContext& ctx)
    : ctx_(ctx),
      build_(ctx.build),
      node_(ctx.node),
      places_(search_inputs(ctx.node)),
      inputs_(ctx.actual()) {
  for (const char* domain : {"", "ai.onnx"})
    if (const auto it = build_.root().opsets.find(domain); it != build_.root().opsets.end())
      opset_ = it->second;
  if (opset_ < kFirstOpset)
    fail_here(ErrorCode::unimplemented,
              "the model imports opset {} of ai.onnx, expected {} or newer", opset_, kFirstOpset);
  open_subgraphs();
  const Value* ids = input(places_.input_ids);
  const bool sound = is_whisper();
  if (!ids || (sound ? !is_float(ids->dtype()) : ids->dtype() != DType::s32) ||
      !ids->type.is_static() || ids->shape().size() != (sound ? 3 : 2))
    fail_here(ErrorCode::invalid_argument, "input_ids is {}, expected {}",
              ids ? ir::type_string(ids->type) : "missing",
              sound ? "floats of three dimensions" : "s32 of two dimensions");
  batch_ = ids->shape()[0];
  const Value* given = sound ? input(places_.decoder_input_ids) : nullptr;
  if (given && (!given->type.is_static() || given->shape().size() != 2))
    fail_here(ErrorCode::invalid_argument, "decoder_input_ids is {}, expected s32 [batch, tokens]",
              ir::type_string(given->type));
  prompt_ = given ? given->shape()[1] : is_t5() ? 1 : ids->shape()[1];
  max_length_ = size_input(places_.max_length, "max_length", kMaxLength);
  beams_ = size_input(places_.num_beams, "num_beams", 1);
  returned_ = size_input(places_.num_return_sequences, "num_return_sequences", 1);
  if (batch_ < 1 || prompt_ < 1 || max_length_ <= prompt_ || max_length_ > kMaxLength)
    fail_here(ErrorCode::invalid_argument, "max_length is {} for {} texts of {} initial tokens",
              max_length_, batch_, prompt_);
  if (beams_ < 1 || beams_ > kMaxBeams || returned_ < 1 || returned_ > beams_)
    fail_here(ErrorCode::invalid_argument,
              "num_beams is {}, expected 1 to {}, and num_return_sequences is {}, expected at most "
              "num_beams",
              beams_, kMaxBeams, returned_);
  eos_ = token_attribute("eos_token_id");
  pad_ = token_attribute("pad_token_id");
}

int64_t TokenSearch::token_attribute(std::string_view name) const {
  const int64_t id = node_.int_attr(name, -1);
  if (id < 0 || id > INT32_MAX) fail_here(ErrorCode::invalid_argument, "{} is {}", name, id);
  return id;
}

int64_t TokenSearch::size_input(Place place, std::string_view name, int64_t fallback) const {
  const Value* v = input(place);
  if (!v) return fallback;
  const auto size = constant_integer(inputs_[*place]);
  if (!size)
    fail_here(ErrorCode::unimplemented,
              "{} ('{}') decides shapes and must be constant: store it in the model as an "
              "initializer, or pass its value to poprt_exec run, which does that",
              name, v->name());
  return *size;
}

TokenSearch::Value* TokenSearch::scalar(Place place, std::string_view name, DType dtype) {
  Value* v = input(place);
  if (!v) return nullptr;
  if (!v->type.is_static() || element_count(v->shape()) != 1 ||
      is_float(v->dtype()) != is_float(dtype))
    fail_here(ErrorCode::invalid_argument, "{} is {}, expected one {}", name,
              ir::type_string(v->type), dtype_name(dtype));
  return cast(build_.reshape(v, {}), dtype);
}

TokenSearch::Value* TokenSearch::optional_input(Place place, std::string_view name,
                                                const Shape& shape) {
  Value* v = input(place);
  if (v && (v->dtype() != DType::s32 || !v->type.is_static() || v->shape() != shape))
    fail_here(ErrorCode::invalid_argument, "{} is {}, expected s32{}", name,
              ir::type_string(v->type), shape_string(shape));
  return v;
}

bool TokenSearch::wants(size_t output) const {
  const Value* v = node_.output(output);
  return v && (!v->uses().empty() || v->graph().is_output(v));
}

// Requires the size of the vocabulary.
void TokenSearch::read_masks() {
  if (Value* mask = optional_input(places_.vocab_mask, "vocab_mask", {vocabulary_}))
    forbidden_ = build_.reshape(zero_in(mask), {1, vocabulary_});
  const Shape whole = {batch_, vocabulary_};
  if (Value* mask = optional_input(places_.prefix_vocab_mask, "prefix_vocab_mask", whole))
    forbidden_first_ = zero_in(mask);
  const float penalty = node_.float_attr("presence_penalty", 0);
  Value* mask = optional_input(places_.presence_mask, "presence_mask", whole);
  if (mask && penalty != 0) presence_ = op("Mul", {cast(mask, DType::f32), number(penalty)});
}

void TokenSearch::start() {
  min_length_ = scalar(places_.min_length, "min_length", DType::s64);
  repetition_penalty_ = scalar(places_.repetition_penalty, "repetition_penalty", DType::f32);
  length_penalty_ = scalar(places_.length_penalty, "length_penalty", DType::f32);
  const auto none = [](const Value* v, float neutral) {
    return v && v->is_constant() && v->constant().to_doubles()[0] == neutral;
  };
  if (repetition_penalty_ && repetition_penalty_->is_constant() &&
      !(repetition_penalty_->constant().to_doubles()[0] > 0))
    fail_here(ErrorCode::invalid_argument, "repetition_penalty is {}, expected more than 0",
              repetition_penalty_->constant().to_doubles()[0]);
  if (none(repetition_penalty_, 1)) repetition_penalty_ = nullptr;
  if (none(length_penalty_, 0)) length_penalty_ = nullptr;
  if (!length_penalty_ && !input(places_.length_penalty)) length_penalty_ = number(1);
  if (input(places_.decoder_input_ids) && !is_whisper())
    fail_here(ErrorCode::unimplemented,
              "decoder_input_ids is supported for model_type 2 (Whisper) only");
  if (input(places_.extra_decoding_ids))
    fail_here(ErrorCode::unimplemented, "extra_decoding_ids is not supported");
  if (const Value* kind = input(places_.logits_processor);
      kind && size_input(places_.logits_processor, "logits_processor", 0) != 0)
    fail_here(ErrorCode::unimplemented, "logits_processor is {}, expected 0",
              size_input(places_.logits_processor, "logits_processor", 0));
  temperature_ = scalar(places_.temperature, "temperature", DType::f32);
  if (none(temperature_, 1)) temperature_ = nullptr;
  done_ = filled(DType::boolean, {batch_, 1}, 0);
  length_ = prompt_;
  if (is_beam()) return start_beams();
  if (node_.op_type != "Sampling") return;
  Value* seed = scalar(places_.seed, "seed", DType::s64);
  generator_ = build_.reshape(seed ? seed : integer(0), {1, 1});
}

void TokenSearch::round(int64_t t) {
  Value* logits = t == 0 ? first_logits() : next_logits(t);
  Value* scores = scores_of(logits);
  is_beam() ? choose_beams(scores) : choose_tokens(scores);
  length_++;
  if (length_ == max_length_) caches_.clear();
}

TokenSearch::Value* TokenSearch::unspecified(const ir::ValueType& type) {
  Node* n;
  if (ctx_.keeps_onnx()) {
    n = build_.target().add_node("ConstantOfShape", "", {build_.integers(type.shape)});
    n->attributes["value"] = Tensor::zeros(type.dtype, {1});
  } else {
    n = build_.target().add_node("Unspecified", "poprt", std::span<Value* const>());
    n->attributes["dtype"] = int64_t{onnx_from_dtype(type.dtype).value()};
    n->attributes["shape"] = std::vector<int64_t>(type.shape.begin(), type.shape.end());
  }
  infer(*n);
  return n->output();
}

TokenSearch::Value* TokenSearch::all_done() {
  if (batch_ == 1) return build_.reshape(done_, {});
  return cast(build_.reshape(reduce("ReduceMin", cast(done_, DType::s32), 0, false), {}),
              DType::boolean);
}

// Runs `body` in a branch that is not taken if all texts are done. The state afterwards is that of
// the branch that was taken.
void TokenSearch::unless_done(const std::function<void()>& body) {
  struct Slot {
    Value** value;
    Value* otherwise;  // null: unspecified
  };
  Value* done = all_done();
  std::vector<Slot> slots = {{&done_, done_}};
  for (Value** v : {&hypothesis_scores_, &hypotheses_, &hypothesis_counts_})
    if (*v) slots.push_back({v, *v});
  for (Value** v : {&tokens_, &beam_scores_, &generator_})
    if (*v) slots.push_back({v, nullptr});
  Value* const texts = texts_;

  auto live = std::make_shared<Graph>("round");
  auto idle = std::make_shared<Graph>("done");
  live->parent = idle->parent = &build_.target();
  {
    const FoldingBuilder::Into into(build_, *live);
    body();
    slots.push_back({&texts_, nullptr});
    for (Value*& v : caches_) slots.push_back({&v, nullptr});
    for (const Slot& slot : slots) live->add_output(build_.as_output(*slot.value));
    if (!all_scores_.empty()) live->add_output(build_.as_output(all_scores_.back()));
  }
  {
    const FoldingBuilder::Into into(build_, *idle);
    for (const Slot& slot : slots) {
      Value* v = slot.otherwise;
      if (slot.value == &texts_ && !is_beam())
        v = concat({texts, filled(DType::s32, {rows(), 1}, pad_)}, 1);
      idle->add_output(v ? build_.as_output(v) : unspecified((*slot.value)->type));
    }
    if (!all_scores_.empty())
      idle->add_output(build_.as_output(filled(DType::f32, all_scores_.back()->shape(), 0)));
  }
  const size_t outputs = live->outputs().size();
  Node* node = build_.target().add_node("If", "", {done}, outputs);
  const std::string& name = node_.name.empty() ? node_.output()->name() : node_.name;
  node->name = fmt::format("{}{}/round_{}", build_.scope(), name, length_ - prompt_);
  node->attributes["then_branch"] = idle;
  node->attributes["else_branch"] = live;
  infer(*node);
  for (size_t i = 0; i < slots.size(); i++) *slots[i].value = node->output(i);
  if (!all_scores_.empty()) all_scores_.back() = node->output(outputs - 1);
}

void TokenSearch::set_results() {
  if (!is_beam()) return ctx_.set_output(0, Item::of(texts_));
  end_beams();
  const DType type = places_.length_penalty && input(places_.length_penalty)
                         ? input(places_.length_penalty)->dtype()
                         : DType::f32;
  ctx_.set_output(0, Item::of(slice(hypotheses_, 1, 0, returned_)));
  ctx_.set_output(1, Item::of(cast(slice(hypothesis_scores_, 1, 0, returned_), type)));
  if (wants(4)) ctx_.set_output(4, Item::of(cast(silence_, type)));
  if (!wants(2)) return;
  Value* all = all_scores_.size() == 1
                   ? all_scores_[0]
                   : build_.make("Concat", "", all_scores_, {{"axis", int64_t{0}}})[0];
  ctx_.set_output(2, Item::of(cast(all, type)));
}

void TokenSearch::run() {
  if (!is_beam() && wants(1))
    fail_here(ErrorCode::unimplemented, "filtered_logits is not computed");
  if (wants(3)) fail_here(ErrorCode::unimplemented, "cross_qk is not computed");
  start();
  const int64_t rounds = max_length_ - prompt_;
  int64_t t = 0;
  try {
    for (; t < rounds; t++) t == 0 ? round(t) : unless_done([&] { round(t); });
  } catch (Error& e) {
    e.add_context(fmt::format("{}, round {} of the {} required by max_length", node_.describe(),
                              t + 1, rounds));
    throw;
  }
  set_results();
}

std::pair<TokenSearch::Value*, TokenSearch::Value*> TokenSearch::top(Value* v, int64_t count,
                                                                     bool largest) {
  const std::vector<Value*> results =
      build_.make("TopK", "", std::vector<Value*>{v, build_.integers(std::vector<int64_t>{count})},
                  {{"axis", int64_t{1}}, {"largest", int64_t{largest}}}, 2);
  return {results[0], results[1]};
}

TokenSearch::Value* TokenSearch::cast(Value* v, DType dtype) {
  if (v->dtype() == dtype) return v;
  return op("Cast", {v}, {{"to", int64_t{onnx_from_dtype(dtype).value()}}});
}

TokenSearch::Value* TokenSearch::series(Shape shape, int64_t first, int64_t step) {
  Tensor t = Tensor::zeros(DType::s64, std::move(shape));
  for (int64_t& x : t.mutable_values<int64_t>()) {
    x = first;
    first += step;
  }
  return build_.constant(t);
}

TokenSearch::Value* TokenSearch::filled(DType dtype, Shape shape, int64_t value) {
  Tensor t = Tensor::zeros(dtype, std::move(shape));
  switch (dtype) {
    case DType::s32:
      std::ranges::fill(t.mutable_values<int32_t>(), static_cast<int32_t>(value));
      break;
    case DType::f32: std::ranges::fill(t.mutable_values<float>(), static_cast<float>(value)); break;
    case DType::boolean: std::ranges::fill(t.mutable_values<bool>(), value != 0); break;
    default: fail_here(ErrorCode::internal, "no tensor of {}", dtype_name(dtype));
  }
  return build_.constant(t);
}

TokenSearch::Value* TokenSearch::slice(Value* v, int64_t axis, int64_t begin, int64_t end) {
  if (begin == 0 && end == v->shape()[static_cast<size_t>(axis)]) return v;
  const auto list = [&](int64_t i) { return build_.integers(std::vector<int64_t>{i}); };
  return op("Slice", {v, list(begin), list(end), list(axis)});
}

TokenSearch::Value* TokenSearch::concat(std::initializer_list<Value*> parts, int64_t axis) {
  return op("Concat", parts, {{"axis", axis}});
}

TokenSearch::Value* TokenSearch::reduce(const std::string& name, Value* v, int64_t axis,
                                        bool keep) {
  const std::vector<int64_t> axes = {axis};
  if (!reduces_by_input(name, opset_))
    return op(name, {v}, {{"axes", axes}, {"keepdims", int64_t{keep}}});
  return op(name, {v, build_.integers(axes)}, {{"keepdims", int64_t{keep}}});
}

}  // namespace poprt::ops
