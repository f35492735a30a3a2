#include "compiler/generation_encoder.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "compiler/driver.h"
#include "compiler/fuse_graphs.h"
#include "ir/newest.h"
#include "ops/op.h"
#include "opsets/convert.h"
#include "passes/common/token_positions.h"

namespace poprt::compiler {
namespace {

constexpr const char* kEncoderPrefix = "encoder/";
constexpr const char* kFirstPrefix = "first/";
constexpr int64_t kMostPlaces = int64_t{1} << 24;

std::string text_in(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

const ir::Value* input_named(const ir::Graph& graph, std::string_view name) {
  const auto found = std::ranges::find(graph.inputs(), name, &ir::Value::name);
  return found == graph.inputs().end() ? nullptr : *found;
}

void remove_dead(ir::Graph& graph) { passes::TokenPositions::run(graph, {"eliminate_deadend"}); }

void remove_unused_inputs(ir::Graph& graph) {
  const std::vector<ir::Value*> inputs = graph.inputs();
  for (ir::Value* v : inputs)
    if (v->uses().empty() && !graph.is_output(v)) graph.erase_value(v);
}

// Reads a model and converts it to `opset` if its own opset is lower.
std::unique_ptr<ir::Graph> read_part(const std::string& path, int64_t opset) {
  auto graph = read_model({.path = path});
  if (const int64_t own = opsets::opset_of(*graph); opset && own && own < opset) {
    ops::infer(*graph);
    opsets::convert(*graph, opset);
  }
  return graph;
}

}  // namespace

EncoderOptions read_encoder(const nlohmann::json& json) {
  if (!json.is_object())
    fail(ErrorCode::invalid_argument, "generation: 'encoder' is not an object");
  EncoderOptions o;
  o.model = text_in(json, "model");
  o.first = text_in(json, "first");
  o.length = whole_number(json.value("length", nlohmann::json(0)));
  o.lengths = whole_numbers(json.value("lengths", nlohmann::json::array()));
  o.input_ids = text_in(json, "input_ids");
  o.attention_mask = text_in(json, "attention_mask");
  o.features = text_in(json, "features");
  o.features_shape = whole_numbers(json.value("features_shape", nlohmann::json::array()));
  if (o.model.empty()) fail(ErrorCode::invalid_argument, "generation: the encoder has no file");
  if (o.length < 0 || o.length > kMostPlaces)
    fail(ErrorCode::invalid_argument, "generation: the encoder's length is {}, expected 1 to {}",
         o.length, kMostPlaces);
  for (const int64_t n : o.lengths)
    if (n < 1 || n > o.length)
      fail(ErrorCode::invalid_argument, "generation: an encoder of {} tokens, expected 1 to {}", n,
           o.length);
  for (const int64_t n : o.features_shape)
    if (n < 0 || n > kMostPlaces)
      fail(ErrorCode::invalid_argument, "generation: features with a size of {}", n);
  if (o.length) o.lengths.push_back(o.length);
  std::ranges::sort(o.lengths);
  o.lengths.erase(std::unique(o.lengths.begin(), o.lengths.end()), o.lengths.end());
  return o;
}

bool is_cross_name(std::string_view name) {
  return name.find(".encoder.") != std::string_view::npos ||
         name.find("_cross") != std::string_view::npos ||
         name.find(".cross") != std::string_view::npos;
}

std::string present_name(std::string_view past) {
  for (const std::string_view stem : {"past_key_values", "past"})
    if (past.starts_with(stem)) return "present" + std::string(past.substr(stem.size()));
  fail(ErrorCode::unimplemented, "generation: input '{}' is not named past...", past);
}

void choose_branch(ir::Graph& graph, bool with_past) {
  constexpr std::array<std::string_view, 2> names = {"use_cache_branch", "use_cache"};
  for (const std::string_view name : names) {
    ir::Value* v = graph.find(name);
    if (!v || !graph.is_input(v)) continue;
    Tensor choice = Tensor::zeros(DType::boolean, {1});
    *static_cast<uint8_t*>(choice.mutable_data()) = with_past ? 1 : 0;
    graph.replace_all_uses(v, graph.add_constant("", std::move(choice)));
    graph.erase_value(v);
    passes::TokenPositions::run(graph, {"eliminate_nop_if", "eliminate_deadend"});
  }
}

EncoderModel::EncoderModel(EncoderOptions options, std::span<CrossCache> cross,
                           const ir::Graph& decoder)
    : options_(std::move(options)) {
  const int64_t opset = opsets::opset_of(decoder);
  auto encoder = read_part(options_.model, opset);
  ops::infer(*encoder);
  find_inputs(*encoder);
  for (const char* name : {"encoder_attention_mask"})
    if (input_named(decoder, name)) memory_mask_ = name;
  for (const char* name : {"encoder_hidden_states", "encoder_outputs"})
    if (input_named(decoder, name)) hidden_input_ = name;
  if (options_.length && memory_mask_.empty())
    fail(ErrorCode::unimplemented,
         "generation: the decoder has no input 'encoder_attention_mask', which hides padding");
  join(*encoder, cross);
  // The largest program determines the places.
  const int64_t most = options_.lengths.empty() ? 0 : options_.lengths.back();
  if (options_.lengths.empty()) options_.lengths = {0};
  const auto whole = graph_->clone();
  fix(*whole, most);
  for (CrossCache& c : cross) {
    const ir::Value* v = whole->find(c.present);
    if (!v || !v->type.is_static() || v->shape().size() != 4 || v->shape()[0] != 1)
      fail(ErrorCode::unimplemented, "generation: '{}' of the encoder is {}, expected 4 sizes",
           c.present, v ? type_string(v->type) : "absent");
    c.tail = v->shape();
    if (places_ && places_ != c.tail[2])
      fail(ErrorCode::unimplemented, "generation: '{}' has {} places, others have {}", c.present,
           c.tail[2], places_);
    places_ = c.tail[2];
  }
  if (const ir::Value* v = whole->find(hidden_name_);
      v && v->type.is_static() && !v->shape().empty())
    width_ = v->shape().back();
  if (options_.length && places_ != options_.length)
    fail(ErrorCode::unimplemented, "generation: an encoder of {} tokens computes {} keys",
         options_.length, places_);
  options_.lengths.back() = places_;
}

void EncoderModel::find_inputs(const ir::Graph& encoder) {
  const auto choose = [&](std::string& name, std::initializer_list<const char*> known) {
    if (!name.empty() && !input_named(encoder, name))
      fail(ErrorCode::not_found, "generation: the encoder has no input '{}'", name);
    for (const char* k : known)
      if (name.empty() && input_named(encoder, k)) name = k;
  };
  choose(options_.input_ids, {"input_ids"});
  choose(options_.features,
         {"input_features", "audio_features", "input_values", "encoder_input_ids"});
  choose(options_.attention_mask, {"attention_mask"});
  const bool tokens = !options_.input_ids.empty();
  if (tokens == !options_.features.empty())
    fail(ErrorCode::unimplemented,
         "generation: the encoder needs either the input 'input_ids' or 'input_features'");
  if (tokens && options_.attention_mask.empty())
    fail(ErrorCode::unimplemented,
         "generation: the encoder has no input 'attention_mask', which hides padding");
  if (tokens && !options_.length)
    fail(ErrorCode::invalid_argument, "generation: the encoder of tokens has no length");
  if (!tokens) options_.length = 0, options_.lengths.clear();
  // An encoder with the first step of the decoder has inputs of the decoder, which the keys of
  // cross-attention do not depend on; fix() checks that.
  for (const ir::Value* v : encoder.inputs())
    if (v->name() != options_.input_ids && v->name() != options_.features &&
        v->name() != options_.attention_mask && !v->name().starts_with("decoder_"))
      fail(ErrorCode::unimplemented, "generation: input '{}' of the encoder has no known meaning",
           v->name());
}

// Appends the decoder's first step to the encoder, unless the encoder has its results.
void EncoderModel::join(ir::Graph& encoder, std::span<const CrossCache> cross) {
  const auto has_all = [&](const ir::Graph& graph) {
    return std::ranges::all_of(cross, [&](const CrossCache& c) {
      return std::ranges::find(graph.outputs(), c.present, &ir::Value::name) !=
             graph.outputs().end();
    });
  };
  graph_ = std::make_unique<ir::Graph>("encoder");
  const bool alone = has_all(encoder);
  std::unique_ptr<ir::Graph> first;
  if (!alone) {
    if (options_.first.empty())
      fail(ErrorCode::unimplemented,
           "generation: neither the encoder nor a decoder without past computes '{}'",
           cross.empty() ? "" : cross[0].present);
    first = read_part(options_.first, opsets::opset_of(encoder));
    choose_branch(*first, false);
    if (!has_all(*first))
      fail(ErrorCode::unimplemented, "generation: '{}' does not compute '{}'", options_.first,
           cross[0].present);
    if (const int64_t opset = opsets::opset_of(*first); opsets::opset_of(encoder) < opset)
      opsets::convert(encoder, opset);
  }
  const std::string own = kEncoderPrefix;
  hidden_name_ = own + (encoder.outputs().empty() ? "" : encoder.outputs()[0]->name());
  append_graph(*graph_, encoder, own);
  for (std::string* name : {&options_.input_ids, &options_.features, &options_.attention_mask})
    if (!name->empty()) *name = own + *name;
  std::string prefix = own;
  if (first) {
    append_graph(*graph_, *first, prefix = kFirstPrefix);
    ir::Value* input = nullptr;
    for (const char* name : {"encoder_hidden_states", "encoder_outputs"})
      if (ir::Value* v = graph_->find(kFirstPrefix + std::string(name))) input = v;
    if (!input)
      fail(ErrorCode::unimplemented, "generation: '{}' has no input 'encoder_hidden_states'",
           options_.first);
    graph_->replace_all_uses(input, graph_->find(hidden_name_));
  }
  std::vector<ir::Value*> results;
  for (const CrossCache& c : cross) results.push_back(graph_->find(prefix + c.present));
  while (!graph_->outputs().empty()) graph_->remove_output(graph_->outputs().size() - 1);
  for (size_t i = 0; i < results.size(); i++) {
    graph_->rename(results[i], cross[i].present);
    graph_->add_output(results[i]);
  }
  remove_dead(*graph_);
  remove_unused_inputs(*graph_);
}

// Makes the inputs static. Inputs that the results do not depend on, such as the tokens of the
// decoder's first step, only need a size.
void EncoderModel::fix(ir::Graph& copy, int64_t length) const {
  for (ir::Value* v : copy.inputs()) {
    Shape shape = v->shape();
    if (v->name() == options_.input_ids || v->name() == options_.attention_mask)
      shape = {1, length};
    if (v->name() == options_.features) {
      for (size_t i = 0; i < options_.features_shape.size() && i + 1 < shape.size(); i++)
        if (shape[i + 1] < 0) shape[i + 1] = options_.features_shape[i];
      if (!shape.empty()) shape[0] = 1;
      if (!is_static(shape) || shape.empty())
        fail(ErrorCode::unimplemented,
             "generation: input '{}' of the encoder is {}: its sizes are unknown", v->name(),
             shape_string(shape));
    }
    for (int64_t& d : shape)
      if (d < 0) d = 1;
    v->type = ir::ValueType::of(v->dtype(), std::move(shape));
  }
  passes::TokenPositions::settle(copy);
  remove_unused_inputs(copy);
  for (const ir::Value* v : copy.inputs())
    if (v->name() != options_.input_ids && v->name() != options_.attention_mask &&
        v->name() != options_.features)
      fail(ErrorCode::unimplemented,
           "generation: keys of cross-attention depend on input '{}' of the decoder",
           v->name().substr(v->name().find('/') + 1));
}

std::unique_ptr<ir::Graph> EncoderModel::fixed(int64_t length) const {
  auto copy = graph_->clone();
  fix(*copy, length);
  const auto outputs = copy->outputs();
  for (size_t i = 0; i < outputs.size(); i++) {
    ir::Value* v = outputs[i];
    const int64_t missing = places_ - v->shape()[2];
    if (missing == 0 && v->producer()) continue;
    const std::string name = v->name();
    ir::Value* pads =
        copy->add_constant("", Tensor::of<int64_t>({8}, {0, 0, 0, 0, 0, 0, missing, 0}));
    ir::Node* pad = copy->add_node("Pad", std::string(ir::kNewestDomain), {v, pads});
    pad->output()->type = v->type;
    pad->output()->type.shape[2] = places_;
    copy->set_output(i, pad->output());
    copy->rename(v, copy->fresh_name(name));
    copy->rename(pad->output(), name);
  }
  return copy;
}

nlohmann::ordered_json EncoderModel::note(std::span<const CrossCache> cross) const {
  nlohmann::ordered_json pairs = nlohmann::ordered_json::array();
  for (const CrossCache& c : cross) pairs.push_back({c.past, c.present});
  return {{"input_ids", options_.input_ids},
          {"attention_mask", options_.attention_mask},
          {"features", options_.features},
          {"memory_mask", memory_mask_},
          {"places", places_},
          {"lengths", options_.lengths},
          {"cross", pairs}};
}

}  // namespace poprt::compiler
