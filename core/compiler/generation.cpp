#include "compiler/generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/shape.h"
#include "compiler/byte_caches.h"
#include "ir/newest.h"
#include "ops/op.h"
#include "passes/common/decoder_attention.h"
#include "passes/common/decoder_caches.h"
#include "passes/common/rewrite.h"

namespace poprt::compiler {
namespace {

// Inputs that the rewritten model has in addition.
constexpr std::string_view kPositionInput = "poprt.position";  // s64 [B]: the first free place
constexpr std::string_view kLastInput = "poprt.last";  // s64 [1]: index of the logits' token

// Input of decoders of newer transformers: the positions of the new tokens.
constexpr std::string_view kCachePosition = "cache_position";

// Inputs of decoders of newer transformers: the number of the last tokens that get logits, 0: all.
constexpr std::string_view kKeptLogits[] = {"num_logits_to_keep", "logits_to_keep"};

constexpr int64_t kMostTokens = int64_t{1} << 24;

// The value of option cache_precision for caches of 8 bits.
constexpr std::string_view kBytePrecision = "int8";

std::string first_known(const ir::Graph& graph, const std::string& given,
                        std::initializer_list<std::string_view> names) {
  if (!given.empty()) {
    if (!std::ranges::any_of(graph.inputs(), [&](const auto* v) { return v->name() == given; }))
      fail(ErrorCode::not_found, "generation: the model has no input '{}'", given);
    return given;
  }
  for (const std::string_view name : names)
    for (const ir::Value* v : graph.inputs())
      if (v->name() == name) return v->name();
  return "";
}

// Replaces the input by 0, so that the model computes the logits of all tokens.
// gather_last_logits() selects one, because a piece of a prompt may be padded.
void keep_all_logits(ir::Graph& graph, std::string_view name) {
  ir::Value* v = graph.find(name);
  if (!v || !graph.is_input(v) || !v->type.has_shape || element_count(v->shape()) != 1) return;
  graph.replace_all_uses(v, graph.add_constant("", Tensor::zeros(v->dtype(), v->shape())));
  graph.erase_value(v);
}

std::string text_of(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

void read_states(const nlohmann::json& json, bool required, std::vector<StateNames>& states) {
  const auto is_name = [](const nlohmann::json& v) {
    return v.is_string() && !v.get_ref<const std::string&>().empty();
  };
  for (const nlohmann::json& pair : json) {
    if (!pair.is_array() || pair.size() != 2 || !is_name(pair[0]) || !is_name(pair[1]))
      fail(ErrorCode::invalid_argument,
           "generation: states are pairs of the names of an input and an output");
    states.push_back({pair[0].get<std::string>(), pair[1].get<std::string>(), required});
    const auto numbered = [](const std::string& name) {
      return name.find("%d") != std::string::npos;
    };
    if (numbered(states.back().past) != numbered(states.back().present))
      fail(ErrorCode::invalid_argument,
           "generation: state '{}' and '{}': both names or none must contain %d",
           states.back().past, states.back().present);
  }
}

}  // namespace

GenerationOptions read_generation(std::string_view text) {
  const nlohmann::json json = try_parse_json(text);
  if (!json.is_object()) fail(ErrorCode::invalid_argument, "generation: expected a JSON object");
  GenerationOptions o;
  o.max_length = whole_number(json.value("max_length", nlohmann::json(0)));
  o.slots = whole_number(json.value("slots", nlohmann::json(1)));
  o.default_prefill = !json.contains("prefill");
  o.prefill = whole_numbers(json.value("prefill", nlohmann::json::array()));
  o.input_ids = text_of(json, "input_ids");
  o.attention_mask = text_of(json, "attention_mask");
  o.position_ids = text_of(json, "position_ids");
  o.logits = text_of(json, "logits");
  o.settings = json.value("settings", nlohmann::json::object());
  const std::string precision = text_of(json, "cache_precision");
  if (!precision.empty() && precision != kBytePrecision)
    fail(ErrorCode::invalid_argument,
         "generation: cache_precision is '{}', expected '{}', or nothing for the precision of the "
         "model",
         precision, kBytePrecision);
  o.byte_caches = !precision.empty();
  read_states(json.value("states", nlohmann::json::array()), true, o.states);
  read_states(json.value("optional_states", nlohmann::json::array()), false, o.states);
  if (json.contains("encoder")) o.encoder = read_encoder(json["encoder"]);
  if (o.max_length < 2 || o.max_length > kMostTokens)
    fail(ErrorCode::invalid_argument, "generation: max_length is {}, expected 2 to {}",
         o.max_length, kMostTokens);
  if (o.slots < 1 || o.slots > 4096)
    fail(ErrorCode::invalid_argument, "generation: slots is {}, expected 1 to 4096", o.slots);
  for (const int64_t tokens : o.prefill)
    if (tokens < 2 || tokens > o.max_length)
      fail(ErrorCode::invalid_argument,
           "generation: a prefill of {} tokens, expected 2 to max_length ({})", tokens,
           o.max_length);
  if (o.encoder && !o.prefill.empty())
    fail(ErrorCode::invalid_argument,
         "generation: a decoder with an encoder computes one token at a time, prefill has no "
         "effect");
  std::ranges::sort(o.prefill);
  o.prefill.erase(std::unique(o.prefill.begin(), o.prefill.end()), o.prefill.end());
  return o;
}

std::vector<GenerationShape> generation_shapes(const GenerationOptions& options) {
  std::vector<GenerationShape> shapes = {{options.slots, 1}};
  if (options.slots > 1) shapes.push_back({1, 1});
  for (const int64_t tokens : options.prefill) shapes.push_back({1, tokens});
  return shapes;
}

GenerationModel::GenerationModel(ir::Graph& graph, GenerationOptions options)
    : options_(std::move(options)) {
  choose_branch(graph, true);
  if (options_.encoder) passes::decompose_attention(graph);
  passes::separate_pasts(graph);
  passes::keep_whole_caches(graph);
  ops::infer(graph);
  find_inputs(graph);
  find_states(graph);
  find_caches(graph);
  check_rings();
  const passes::StaticCacheInputs places = passes::static_cache_inputs(graph);
  if (places.write_indices) write_indices_ = places.write_indices->name();
  if (places.valid_places) valid_places_ = places.valid_places->name();
  if (options_.encoder) find_encoder(graph);
  check_inputs(graph);
  choose_prefill();
  mask_of_new_tokens_ = caches_.empty() && is_mask_of_new_tokens(graph);
  grows_ = std::ranges::any_of(caches_, &Cache::grows);
  if (options_.byte_caches) check_byte_caches();
  if (options_.encoder) {
    place_tokens(graph);
    take_last_logits(graph);
    return;
  }
  check_forms(graph);
  if (grows_) {
    place_new_tokens(graph);
    std::vector<const ir::Value*> pasts;
    for (const Cache& c : caches_) pasts.push_back(graph.find(c.past));
    passes::mask_keys(graph, graph.find(options_.attention_mask), pasts);
    graph.add_input(kPositionInput, {DType::s64, true, {kUnknownDim}, {}});
  }
  for (Cache& cache : caches_)
    if (cache.grows) rewrite(graph, cache);
  take_last_logits(graph);
  check_states(graph);
}

void GenerationModel::check_byte_caches() const {
  if (encoder_)
    fail(ErrorCode::unimplemented,
         "generation: cache_precision '{}' of a decoder with an encoder: its caches have the "
         "precision of the model; leave out cache_precision",
         kBytePrecision);
  if (caches_.empty())
    fail(ErrorCode::invalid_argument,
         "generation: cache_precision '{}' has no effect, because the model has recurrent states "
         "and no caches of keys and values",
         kBytePrecision);
}

// Qwen2-VL and its successors have several positions of a token, for images and videos: [3,B,S].
// The positions of a text are equal, so the model gets one input [B,S].
void GenerationModel::flatten_positions(ir::Graph& graph) {
  ir::Value* given = graph.find(options_.position_ids);
  if (!given || !given->type.has_shape || given->shape().size() != 3) return;
  constexpr int64_t kUsual = 3, kMost = 8;
  const int64_t count = given->shape()[0] >= 0 ? given->shape()[0] : kUsual;
  if (count < 1 || count > kMost)
    fail(ErrorCode::unimplemented,
         "generation: '{}' is {}, expected [batch, tokens], or [3, batch, tokens]", given->name(),
         type_string(given->type));
  ir::ValueType one = given->type;
  one.shape.erase(one.shape.begin());
  if (!one.symbols.empty()) one.symbols.erase(one.symbols.begin());
  const std::string name = given->name();
  graph.rename(given, graph.fresh_name(name));
  const auto nodes = graph.nodes();
  ir::Node* first = nodes.empty() ? nullptr : nodes.front();
  ir::Value* const operands[] = {graph.add_input(name, std::move(one)),
                                 graph.add_constant("", Tensor::of<int64_t>({1}, {0}))};
  const std::string domain(ir::kNewestDomain);
  const std::vector<ir::Value*> copies(
      static_cast<size_t>(count),
      graph.add_node("Unsqueeze", domain, operands, 1, first)->output());
  ir::Node* all = graph.add_node("Concat", domain, copies, 1, first);
  all->attributes["axis"] = int64_t{0};
  all->output()->type = given->type;
  graph.replace_all_uses(given, all->output());
  graph.erase_value(given);
}

void GenerationModel::find_inputs(ir::Graph& graph) {
  options_.input_ids = first_known(graph, options_.input_ids, {"input_ids", "ids", "tokens"});
  options_.attention_mask = first_known(graph, options_.attention_mask, {"attention_mask", "mask"});
  options_.position_ids = first_known(graph, options_.position_ids, {"position_ids"});
  if (options_.input_ids.empty()) {
    // If only one other input has whole numbers, it contains the tokens.
    std::vector<std::string> whole;
    for (const ir::Value* v : graph.inputs())
      if ((v->dtype() == DType::s64 || v->dtype() == DType::s32) &&
          v->name() != options_.attention_mask && v->name() != options_.position_ids &&
          v->name() != kCachePosition)
        whole.push_back(v->name());
    if (whole.size() != 1)
      fail(ErrorCode::unimplemented,
           "generation: the model has no input 'input_ids'; name the input of the tokens in "
           "genai_config.json");
    options_.input_ids = whole[0];
  }
  if (!options_.position_ids.empty()) flatten_positions(graph);
  for (const std::string_view name : kKeptLogits) keep_all_logits(graph, name);
  const ir::Value* ids = graph.find(options_.input_ids);
  one_token_ = ids->type.has_shape && ids->shape().size() == 1;
  find_logits(graph);
}

bool GenerationModel::is_state_or_cache(const ir::Graph& graph, ir::Value* output) const {
  return passes::cache_of(output) || past_state_of(graph, output, options_.states);
}

// The logits are the output with this name, or the only one that is neither a cache nor a state.
void GenerationModel::find_logits(const ir::Graph& graph) {
  if (options_.logits.empty()) {
    std::vector<std::string> others;
    for (ir::Value* v : graph.outputs()) {
      if (v->name() == "logits") options_.logits = v->name();
      if (!is_state_or_cache(graph, v)) others.push_back(v->name());
    }
    if (options_.logits.empty() && others.size() == 1) options_.logits = others[0];
  }
  if (!std::ranges::any_of(graph.outputs(),
                           [&](const auto* v) { return v->name() == options_.logits; }))
    fail(ErrorCode::unimplemented, "generation: the model has no output '{}'",
         options_.logits.empty() ? "logits" : options_.logits);
}

// Finds the recurrent states and makes their batch the first axis. find_caches() finds the caches
// of keys and values.
void GenerationModel::find_states(ir::Graph& graph) {
  check_named(graph, options_.states);
  const ir::Value* ids = graph.find(options_.input_ids);
  for (size_t i = 0; i < graph.outputs().size(); i++) {
    ir::Value* output = graph.outputs()[i];
    if (output->name() == options_.logits || passes::cache_of(output)) continue;
    if (options_.encoder && is_cross_name(output->name())) continue;
    ir::Value* past = past_state_of(graph, output, options_.states);
    if (!past) continue;
    if (options_.encoder)
      fail(ErrorCode::unimplemented,
           "generation: '{}' is a recurrent state, and the model has an encoder", past->name());
    if (std::ranges::any_of(states_, [&](const auto& s) { return s.past == past->name(); }))
      fail(ErrorCode::unimplemented, "generation: two outputs are the next state of '{}'",
           past->name());
    states_.push_back(take_state(graph, past, i, *ids, options_.slots));
  }
}

// A piece of a prompt is not padded if there are states, because padding would change them. So the
// rest of a prompt is computed in smaller pieces.
void GenerationModel::choose_prefill() {
  constexpr int64_t kPiece = 128, kRatio = 4;
  const bool one = one_token_ || options_.encoder;
  if (options_.default_prefill && !one && places() > 1)
    options_.prefill = {std::min(kPiece / kRatio, places()), std::min(kPiece, places())};
  if (!options_.prefill.empty() && options_.prefill.back() > places())
    fail(ErrorCode::invalid_argument,
         "generation: a prefill of {} tokens, and the caches of the model are rings of {} places",
         options_.prefill.back(), places());
  if (one_token_ && !options_.prefill.empty())
    fail(ErrorCode::invalid_argument,
         "generation: the model takes one token at a time, prefill has no effect");
  if (!states_.empty() && !options_.prefill.empty())
    for (int64_t n = options_.prefill.back() / kRatio; n > 1; n /= kRatio)
      options_.prefill.push_back(n);
  std::ranges::sort(options_.prefill);
  options_.prefill.erase(std::unique(options_.prefill.begin(), options_.prefill.end()),
                         options_.prefill.end());
}

// Whether the mask covers only the new tokens. In a model without caches it does, unless its length
// has another symbol than that of the tokens.
bool GenerationModel::is_mask_of_new_tokens(const ir::Graph& graph) const {
  const ir::Value *ids = graph.find(options_.input_ids),
                  *mask = graph.find(options_.attention_mask);
  if (!mask) return false;
  const auto symbol = [](const ir::Value* v) {
    return v->type.symbols.size() == 2 ? v->type.symbols[1] : std::string();
  };
  return symbol(ids).empty() || symbol(mask).empty() || symbol(ids) == symbol(mask);
}

// Throws unless each state has the same type before and after a run.
void GenerationModel::check_states(const ir::Graph& graph) const {
  if (states_.empty()) return;
  const auto copy = graph.clone();
  fix(*copy, {1, 1});
  ops::infer(*copy);
  for (const RecurrentState& s : states_) {
    const ir::Value &past = *copy->find(s.past), &present = *copy->find(s.present);
    if (present.type.is_static() &&
        (past.dtype() != present.dtype() || past.shape() != present.shape()))
      fail(ErrorCode::unimplemented,
           "generation: state '{}' is {} before and {} after one token; a state has one size",
           past.name(), type_string(past.type), type_string(present.type));
  }
}

// Adds the cache that the output updates. Returns false if there is none and the model has an
// encoder, because the output may contain keys or values of cross-attention.
bool GenerationModel::add_cache(ir::Value* output) {
  const auto found = passes::cache_of(output);
  if (!found && options_.encoder) return false;
  if (!found)
    fail(ErrorCode::unimplemented,
         "generation: output '{}' ({}) is neither the logits nor a cache of past keys, values or "
         "states: no Concat, attention or TensorScatter computes it from an input of the model",
         output->name(), output->producer() ? output->producer()->describe() : "an input");
  const ir::Value& past = *found->past;
  Cache cache{past.name(), output->name(), found->axis, found->grows, past.shape()};
  if (cache.axis == 0 || cache.axis >= cache.tail.size())
    fail(ErrorCode::unimplemented,
         "generation: cache '{}' grows along axis {}, and its first axis must be the batch",
         past.name(), cache.axis);
  cache.tail[0] = 1;
  const bool wraps = found->ring && found->ring < options_.max_length;
  if (wraps) ring_ = found->ring;
  cache.tail[cache.axis] = wraps ? ring_ : options_.max_length;
  if (!is_static(cache.tail))
    fail(ErrorCode::unimplemented,
         "generation: cache '{}' is {}: only its batch and length may be open", past.name(),
         type_string(past.type));
  caches_.push_back(std::move(cache));
  return true;
}

void GenerationModel::find_caches(ir::Graph& graph) {
  const auto is_state = [&](const ir::Value* v) {
    return std::ranges::any_of(states_, [&](const auto& s) { return s.present == v->name(); });
  };
  for (size_t i = graph.outputs().size(); i-- > 0;)
    if (ir::Value* v = graph.outputs()[i];
        v->name() != options_.logits && !is_state(v) && !add_cache(v)) {
      if (!is_cross_name(v->name()))
        fail(ErrorCode::unimplemented,
             "generation: output '{}' is neither the logits nor keys or values of attention",
             v->name());
      graph.remove_output(i);
    }
  std::ranges::reverse(caches_);
  if (caches_.empty() && states_.empty())
    fail(ErrorCode::unimplemented,
         "generation: the model has no caches; export it with past keys and values "
         "(text-generation-with-past)");
}

// All caches get the same numbers for their places, so all are rings of one size, or none is.
void GenerationModel::check_rings() const {
  for (const Cache& c : caches_)
    if (c.tail[c.axis] != places())
      fail(ErrorCode::unimplemented,
           "generation: cache '{}' has {} places, and another one is a ring of {}; make the "
           "generator with a max_length of at most {}",
           c.past, c.tail[c.axis], ring_, ring_);
}

void GenerationModel::check_inputs(const ir::Graph& graph) const {
  for (const ir::Value* v : graph.inputs()) {
    const std::string& name = v->name();
    const bool of_encoder =
        encoder_ && (name == encoder_->memory_mask() || name == encoder_->hidden_input() ||
                     name == kCachePosition ||
                     std::ranges::any_of(cross_, [&](const auto& c) { return c.past == name; }));
    const auto is_place_in_mask = [&](const ir::Value& input) {
      return input.name() == kCachePosition && std::ranges::all_of(caches_, &Cache::grows) &&
             input.type.has_shape && input.shape().size() == 1;
    };
    const bool known =
        name == options_.input_ids || name == options_.attention_mask ||
        name == options_.position_ids || name == write_indices_ || name == valid_places_ ||
        is_place_in_mask(*v) || of_encoder ||
        std::ranges::any_of(states_, [&](const auto& s) { return s.past == name; }) ||
        std::ranges::any_of(caches_, [&](const Cache& c) { return c.past == name; });
    if (!known)
      fail(ErrorCode::unimplemented,
           "generation: input '{}' {} is not the tokens, their mask or positions, or a cache", name,
           type_string(v->type));
  }
}

// A cache that grows has free places, which only a mask hides.
void GenerationModel::check_forms(const ir::Graph& graph) const {
  if (caches_.empty()) return;  // states need neither a mask nor positions
  if (grows_) {
    if (options_.attention_mask.empty())
      fail(ErrorCode::unimplemented,
           "generation: the caches grow by Concat, and the model has no input 'attention_mask'; "
           "export it with this input, or with GroupQueryAttention");
    if (std::ranges::any_of(caches_, [](const Cache& c) { return !c.grows; }))
      fail(ErrorCode::unimplemented, "generation: some caches grow and others do not");
  } else if (options_.attention_mask.empty() && valid_places_.empty()) {
    fail(ErrorCode::unimplemented,
         "generation: the model has no input 'attention_mask' ({} inputs) or nonpad_kv_seqlen of "
         "Attention, which gives the number of valid tokens",
         graph.inputs().size());
  }
}

// Writes the new part of the cache at the position, instead of returning old and new parts. In a
// model with an encoder, attention reads the updated cache.
void GenerationModel::rewrite(ir::Graph& graph, Cache& cache) {
  const auto outputs = graph.outputs();
  const auto at = std::ranges::find(outputs, cache.present, &ir::Value::name) - outputs.begin();
  ir::Value* present = outputs[static_cast<size_t>(at)];
  ir::Value* past = graph.find(cache.past);
  const auto found = passes::cache_of(present);
  ir::Value* added = found->added;
  if (!added) {
    if (options_.encoder)
      fail(ErrorCode::unimplemented, "generation: cache '{}' of {} with an encoder", cache.past,
           found->present->producer()->describe());
    const auto ints = [&](int64_t v) {
      return graph.add_constant("", Tensor::of<int64_t>({1}, {v}));
    };
    added = graph
                .add_node("Slice", std::string(ir::kNewestDomain),
                          {found->present, ints(options_.max_length), ints(INT64_MAX),
                           ints(static_cast<int64_t>(cache.axis))})
                ->output();
  }
  ir::Node* before = nullptr;
  if (options_.encoder) {
    const auto nodes = graph.nodes();
    const auto next = std::ranges::find(nodes, found->present->producer()) + 1;
    before = next == nodes.end() ? nullptr : *next;
  }
  ir::Node* write = graph.add_node("TensorScatter", std::string(ir::kNewestDomain),
                                   {past, added, graph.find(kPositionInput)}, 1, before);
  write->attributes["axis"] = static_cast<int64_t>(cache.axis);
  graph.set_output(static_cast<size_t>(at), write->output());
  if (options_.encoder) {
    write->output()->type = past->type;
    const std::vector<ir::Use> uses = found->present->uses();
    for (const ir::Use& use : uses) use.node->set_input(use.input, write->output());
  }
  graph.rename(present, graph.fresh_name(cache.present));
  graph.rename(write->output(), cache.present);
}

// Computes the logits of one token for each sequence, in f32.
void GenerationModel::take_last_logits(ir::Graph& graph) {
  const auto outputs = graph.outputs();
  const auto at = std::ranges::find(outputs, options_.logits, &ir::Value::name) - outputs.begin();
  ir::Value* logits = outputs[static_cast<size_t>(at)];
  if (!logits->producer()) fail(ErrorCode::unimplemented, "generation: the logits are an input");
  if (!one_token_) {
    passes::keep_all_tokens(logits);
    gather_last_logits(graph, static_cast<size_t>(at));
  }
  logits = graph.outputs()[static_cast<size_t>(at)];
  if (logits->dtype() == DType::f32) return;
  ir::Node* cast = graph.add_node("Cast", std::string(ir::kNewestDomain), {logits});
  cast->attributes["to"] = int64_t{1};
  graph.set_output(static_cast<size_t>(at), cast->output());
  graph.rename(logits, graph.fresh_name(options_.logits));
  graph.rename(cast->output(), options_.logits);
}

void GenerationModel::gather_last_logits(ir::Graph& graph, size_t at) const {
  ir::Value* logits = graph.outputs()[at];
  ir::Value* last = graph.add_input(kLastInput, ir::ValueType::of(DType::s64, {1}));
  const auto gather = [&](ir::Value* x, ir::Node* before) {
    ir::Value* const operands[] = {x, last};
    ir::Node* n = graph.add_node("Gather", std::string(ir::kNewestDomain), operands, 1, before);
    n->attributes["axis"] = int64_t{1};
    return n->output();
  };
  // The declared types have a dimension with all tokens, so they are removed.
  ir::Node* product = passes::product_of_logits(logits);
  if (product && product->input(0)->type.has_shape && product->input(0)->shape().size() == 3) {
    product->set_input(0, gather(product->input(0), product));
    for (ir::Value* v = logits;;) {
      v->type = {v->dtype(), false, {}, {}};
      const ir::Node* n = v->producer();
      if (n == product) break;
      v = n->input(n->input(0)->is_constant() ? 1 : 0);
    }
  } else {
    ir::Value* one = gather(logits, nullptr);
    one->type = {logits->dtype(), false, {}, {}};
    graph.set_output(at, one);
    graph.rename(logits, graph.fresh_name(options_.logits));
    graph.rename(one, options_.logits);
  }
}

// The other inputs of a decoder are the keys and values of cross-attention, the mask of the
// encoder's tokens, and the encoder's result, of which the decoder reads only the size.
void GenerationModel::find_encoder(ir::Graph& graph) {
  if (!options_.position_ids.empty() || !options_.attention_mask.empty())
    fail(ErrorCode::unimplemented,
         "generation: a decoder with an encoder that has the inputs '{}' and '{}'",
         options_.attention_mask, options_.position_ids);
  for (const ir::Value* v : graph.inputs()) {
    if (std::ranges::any_of(caches_, [&](const Cache& c) { return c.past == v->name(); })) continue;
    if (!is_cross_name(v->name())) continue;
    if (!v->type.has_shape || v->shape().size() < 3)
      fail(ErrorCode::unimplemented, "generation: the rank of '{}' is unknown", v->name());
    cross_.push_back({v->name(), present_name(v->name()), {}});
  }
  if (cross_.empty())
    fail(ErrorCode::unimplemented,
         "generation: the decoder has no inputs for keys and values of cross-attention; export it "
         "with past keys and values");
  encoder_ = std::make_unique<EncoderModel>(*options_.encoder, cross_, graph);
}

// Rewrites a decoder with an encoder: the caches are written before attention reads them, and
// positions follow from an input and not from the sizes of the caches.
void GenerationModel::place_tokens(ir::Graph& graph) {
  if (!std::ranges::all_of(caches_, &Cache::grows))
    fail(ErrorCode::unimplemented,
         "generation: the caches of a decoder with an encoder must grow by Concat or "
         "MultiHeadAttention");
  const auto theirs = graph.clone();
  if (ir::Value* given = graph.find(kCachePosition); given && graph.is_input(given))
    passes::positions_from_sizes(graph, given, graph.find(caches_[0].past), caches_[0].axis,
                                 graph.find(options_.input_ids));
  graph.add_input(kPositionInput, {DType::s64, true, {kUnknownDim}, {}});
  for (Cache& cache : caches_) {
    rewrite(graph, cache);
    placed_.push_back({cache.past, cache.present, cache.axis});
  }
  passes::TokenPositions::run(graph, {"eliminate_deadend"});
  positions_.emplace(graph, placed_, options_.input_ids);
  grows_ = true;
  check_positions(graph, *theirs);
}

// Throws unless the rewritten decoder computes the same numbers as the original one, at two lengths
// of the cache (TokenPositions::check()).
void GenerationModel::check_positions(const ir::Graph& ours, const ir::Graph& theirs) const {
  const auto fixed = [&](const ir::Graph& graph, int64_t past) {
    auto copy = graph.clone();
    for (ir::Value* v : copy->inputs()) {
      auto shape = fixed_shape(*v, {1, 1});
      if (!shape) continue;
      for (const Cache& c : caches_)
        if (c.past == v->name()) (*shape)[c.axis] = past;
      v->type = ir::ValueType::of(v->dtype(), std::move(*shape));
      if (v->name() == kCachePosition)
        copy->replace_all_uses(v, copy->add_constant("", Tensor::of<int64_t>({1}, {past})));
    }
    passes::TokenPositions::settle(*copy);
    return copy;
  };
  const int64_t places = options_.max_length;
  const auto mine = fixed(ours, places);
  for (const int64_t length : {int64_t{1}, places / 2})
    positions_->check(*mine, *fixed(theirs, length), length, places);
}

// Compares the numbers that the model computes from sizes without free places and with C places,
// for several lengths. If they differ in a column that both have, replaces them by numbers that
// follow the position. Throws unimplemented if these differ, too.
void GenerationModel::place_new_tokens(ir::Graph& graph) {
  const int64_t places = options_.max_length;
  const passes::JoinedPlaces joined{places, options_.attention_mask};
  if (ir::Value* given = graph.find(kCachePosition); given && graph.is_input(given))
    passes::positions_from_sizes(graph, given, graph.find(caches_[0].past), caches_[0].axis,
                                 graph.find(options_.input_ids));
  for (const Cache& c : caches_) placed_.push_back({c.past, c.present, c.axis});
  const auto moved = graph.clone();
  const auto pairs = passes::TokenPositions(*moved, placed_, options_.input_ids, joined).numbers();
  std::vector<std::string> theirs, ours;
  for (const auto& [before, after] : pairs) {
    theirs.push_back(before);
    ours.push_back(after);
  }
  // Returns the first number that differs.
  const auto differing = [&](const ir::Graph& placed, const std::vector<std::string>& names) {
    for (const GenerationShape& s : shapes()) {
      if (s.batch > 1) continue;
      const int64_t longest = places - s.tokens;
      for (const int64_t length : std::set{std::min<int64_t>(1, longest), longest / 2, longest}) {
        const auto wanted = numbers_at(graph, theirs, length, length, s.tokens);
        const auto found = numbers_at(placed, names, places, length, s.tokens);
        for (size_t i = 0; i < names.size(); i++)
          if (!passes::agree_in_columns(found[i], wanted[i], {places, length, s.tokens})) return i;
      }
    }
    return names.size();
  };
  if (differing(graph, theirs) == theirs.size()) return;
  if (const size_t i = differing(*moved, ours); i < ours.size())
    fail(ErrorCode::unimplemented,
         "generation: the model computes '{}' from the size of its caches in an unknown way, so "
         "that a cache with free places would give other tokens; export it with "
         "GroupQueryAttention",
         theirs[i]);
  positions_.emplace(graph, placed_, options_.input_ids, joined);
  passes::TokenPositions::run(graph, {"eliminate_deadend"});
}

// The values of `names` for a past of `past` places and `tokens` new tokens from `position` on.
std::vector<Tensor> GenerationModel::numbers_at(const ir::Graph& graph,
                                                const std::vector<std::string>& names, int64_t past,
                                                int64_t position, int64_t tokens) const {
  const auto copy = graph.clone();
  for (ir::Value* v : copy->inputs()) {
    auto shape = fixed_shape(*v, {1, tokens});
    if (!shape) continue;
    for (const Cache& c : caches_)
      if (c.past == v->name()) (*shape)[c.axis] = past;
    if (v->name() == options_.attention_mask) shape->back() = past + tokens;
    v->type = ir::ValueType::of(v->dtype(), std::move(*shape));
  }
  try {
    return passes::TokenPositions::numbers_at(*copy, names, position);
  } catch (const Error& e) {  // a table has no row for a place
    if (e.code() == ErrorCode::internal || e.code() == ErrorCode::resource_exhausted) throw;
    return std::vector<Tensor>(names.size());
  }
}

// Returns the static shape of an input, or nothing for an input without a meaning.
std::optional<Shape> GenerationModel::fixed_shape(const ir::Value& input,
                                                  const GenerationShape& shape) const {
  const std::string& name = input.name();
  const bool own_places = grows_ && !encoder_;
  if (one_token_ && name == options_.input_ids) return Shape{shape.batch};
  if (name == options_.input_ids || name == options_.position_ids)
    return Shape{shape.batch, shape.tokens};
  if (name == options_.attention_mask && mask_of_new_tokens_)
    return Shape{shape.batch, shape.tokens};
  if (name == options_.attention_mask)
    return Shape{shape.batch, places() + (own_places ? shape.tokens : 0)};
  if (name == kPositionInput || name == write_indices_ || name == valid_places_)
    return Shape{shape.batch};
  if (name == kLastInput || name == kCachePosition) return Shape{1};
  if (encoder_ && name == encoder_->memory_mask()) return Shape{shape.batch, encoder_->places()};
  if (encoder_ && name == encoder_->hidden_input())
    return Shape{shape.batch, encoder_->places(), encoder_->width()};
  for (const CrossCache& c : cross_)
    if (c.past == name) {
      Shape fixed = c.tail;
      fixed[0] = shape.batch;
      return fixed;
    }
  for (const Cache& c : caches_)
    if (c.past == name) {
      Shape fixed = c.tail;
      fixed[0] = shape.batch;
      return fixed;
    }
  for (const RecurrentState& s : states_)
    if (s.past == name) {
      Shape fixed = s.tail;
      fixed.insert(fixed.begin(), shape.batch);
      return fixed;
    }
  return std::nullopt;
}

void GenerationModel::fix(ir::Graph& copy, const GenerationShape& shape) const {
  for (ir::Value* v : copy.inputs())
    if (auto fixed = fixed_shape(*v, shape))
      v->type = ir::ValueType::of(v->dtype(), std::move(*fixed));
  const bool joins = grows_ && !encoder_;  // attention reads the old places and the new rows
  if (options_.byte_caches || joins) {
    passes::TokenPositions::settle(copy);
    if (positions_)
      passes::TokenPositions::bind_rows(copy, std::string(kPositionInput), shape.batch);
    std::vector<ByteCache> caches;
    for (const Cache& c : caches_) caches.push_back({c.past, c.present, c.axis});
    if (options_.byte_caches)
      store_caches_in_bytes(copy, caches);
    else
      read_written_caches(copy, caches, std::string(kPositionInput));
  }
  if (!encoder_) return;
  passes::TokenPositions::settle(copy);
  positions_->bind(copy, placed_, std::string(kPositionInput), shape.batch);
  ir::Value* hidden = copy.find(encoder_->hidden_input());
  if (!hidden) return;
  if (!hidden->uses().empty())
    fail(ErrorCode::unimplemented,
         "generation: the decoder with past keys reads '{}', so it computes cross-attention again",
         hidden->name());
  copy.erase_value(hidden);
}

std::string GenerationModel::note() const {
  nlohmann::ordered_json caches = nlohmann::ordered_json::array();
  for (const Cache& c : caches_) caches.push_back({c.past, c.present, c.axis});
  nlohmann::ordered_json shapes = nlohmann::ordered_json::array();
  for (const GenerationShape& s : this->shapes()) shapes.push_back({s.batch, s.tokens});
  nlohmann::ordered_json note{{"version", 1},
                              {"max_length", options_.max_length},
                              {"slots", options_.slots},
                              {"grows", grows_ && !encoder_},
                              {"input_ids", options_.input_ids},
                              {"attention_mask", options_.attention_mask},
                              {"position_ids", options_.position_ids},
                              {"position", grows_ ? std::string(kPositionInput) : write_indices_},
                              {"last", one_token_ ? std::string_view() : kLastInput},
                              {"logits", options_.logits},
                              {"caches", caches},
                              {"shapes", shapes}};
  if (!states_.empty()) {
    nlohmann::ordered_json states = nlohmann::ordered_json::array();
    for (const RecurrentState& s : states_) states.push_back({s.past, s.present});
    note["states"] = states;
  }
  if (!valid_places_.empty()) note["valid_places"] = valid_places_;
  if (ring_) note["ring"] = ring_;
  if (mask_of_new_tokens_) note["mask_of_new_tokens"] = true;
  if (options_.byte_caches) note["cache_precision"] = kBytePrecision;
  if (encoder_) note["encoder"] = encoder_->note(cross_);
  note["settings"] = options_.settings;
  return json_text(note);
}

}  // namespace poprt::compiler
