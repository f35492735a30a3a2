#include "compiler/generation.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/shape.h"
#include "ir/newest.h"
#include "ops/op.h"
#include "passes/common/decoder_caches.h"

namespace poprt::compiler {
namespace {

// Inputs that the rewritten model has in addition.
constexpr std::string_view kPositionInput = "poprt.position";  // s64 [B]: the first free place
constexpr std::string_view kLastInput = "poprt.last";          // s64 [1]: the token with the logits

constexpr int64_t kMostTokens = int64_t{1} << 24;

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

std::string text_of(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

GenerationOptions read_generation(std::string_view text) {
  const nlohmann::json json = try_parse_json(text);
  if (!json.is_object()) fail(ErrorCode::invalid_argument, "generation: expected a JSON object");
  GenerationOptions o;
  o.max_length = whole_number(json.value("max_length", nlohmann::json(0)));
  o.slots = whole_number(json.value("slots", nlohmann::json(1)));
  o.prefill = whole_numbers(json.value("prefill", nlohmann::json::array()));
  o.input_ids = text_of(json, "input_ids");
  o.attention_mask = text_of(json, "attention_mask");
  o.position_ids = text_of(json, "position_ids");
  o.logits = text_of(json, "logits");
  o.settings = json.value("settings", nlohmann::json::object());
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
  ops::infer(graph);
  find_inputs(graph);
  find_caches(graph);
  grows_ = std::ranges::any_of(caches_, &Cache::grows);
  check_forms(graph);
  if (grows_) graph.add_input(kPositionInput, {DType::s64, true, {kUnknownDim}, {}});
  for (Cache& cache : caches_)
    if (cache.grows) rewrite(graph, cache);
  take_last_logits(graph);
}

void GenerationModel::find_inputs(const ir::Graph& graph) {
  options_.input_ids = first_known(graph, options_.input_ids, {"input_ids", "ids", "tokens"});
  options_.attention_mask = first_known(graph, options_.attention_mask, {"attention_mask", "mask"});
  options_.position_ids = first_known(graph, options_.position_ids, {"position_ids"});
  if (options_.input_ids.empty())
    fail(ErrorCode::unimplemented,
         "generation: the model has no input 'input_ids'; name the input of the tokens in "
         "genai_config.json");
  if (options_.logits.empty())
    for (const ir::Value* v : graph.outputs())
      if (v->name() == "logits") options_.logits = v->name();
  if (!std::ranges::any_of(graph.outputs(),
                           [&](const auto* v) { return v->name() == options_.logits; }))
    fail(ErrorCode::unimplemented, "generation: the model has no output '{}'",
         options_.logits.empty() ? "logits" : options_.logits);
}

void GenerationModel::add_cache(ir::Value* output) {
  const auto found = passes::cache_of(output);
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
  cache.tail[cache.axis] = options_.max_length;
  if (!is_static(cache.tail))
    fail(ErrorCode::unimplemented,
         "generation: cache '{}' is {}: only its batch and length may be open", past.name(),
         type_string(past.type));
  caches_.push_back(std::move(cache));
}

void GenerationModel::find_caches(ir::Graph& graph) {
  for (ir::Value* v : graph.outputs())
    if (v->name() != options_.logits) add_cache(v);
  if (caches_.empty())
    fail(ErrorCode::unimplemented,
         "generation: the model has no caches; export it with past keys and values "
         "(text-generation-with-past)");
  for (const ir::Value* v : graph.inputs()) {
    const std::string& name = v->name();
    const bool known = name == options_.input_ids || name == options_.attention_mask ||
                       name == options_.position_ids ||
                       std::ranges::any_of(caches_, [&](const Cache& c) { return c.past == name; });
    if (!known)
      fail(ErrorCode::unimplemented,
           "generation: input '{}' {} is not the tokens, their mask or positions, or a cache", name,
           type_string(v->type));
  }
}

// A cache that grows has free places, which only a mask hides, and the model must not compute the
// position of a token from the size of the cache.
void GenerationModel::check_forms(const ir::Graph& graph) const {
  const auto require = [&](const std::string& input, std::string_view what) {
    if (input.empty())
      fail(ErrorCode::unimplemented,
           "generation: the caches grow by Concat, and the model has no input '{}'; export it "
           "with this input, or with GroupQueryAttention",
           what);
  };
  if (grows_) {
    require(options_.attention_mask, "attention_mask");
    require(options_.position_ids, "position_ids");
    if (std::ranges::any_of(caches_, [](const Cache& c) { return !c.grows; }))
      fail(ErrorCode::unimplemented, "generation: some caches grow and others do not");
  } else if (options_.attention_mask.empty()) {
    fail(ErrorCode::unimplemented,
         "generation: the model has no input 'attention_mask' ({} inputs), which gives the number "
         "of valid tokens",
         graph.inputs().size());
  }
}

// Writes the new part of the cache at the position, instead of returning old and new parts.
void GenerationModel::rewrite(ir::Graph& graph, Cache& cache) {
  const auto outputs = graph.outputs();
  const auto at = std::ranges::find(outputs, cache.present, &ir::Value::name) - outputs.begin();
  ir::Value* present = outputs[static_cast<size_t>(at)];
  ir::Value* past = graph.find(cache.past);
  const auto found = passes::cache_of(present);
  ir::Value* added = found->added;
  if (!added) {
    const auto ints = [&](int64_t v) {
      return graph.add_constant("", Tensor::of<int64_t>({1}, {v}));
    };
    added = graph
                .add_node("Slice", std::string(ir::kNewestDomain),
                          {found->present, ints(options_.max_length), ints(INT64_MAX),
                           ints(static_cast<int64_t>(cache.axis))})
                ->output();
  }
  ir::Node* write = graph.add_node("TensorScatter", std::string(ir::kNewestDomain),
                                   {past, added, graph.find(kPositionInput)});
  write->attributes["axis"] = static_cast<int64_t>(cache.axis);
  graph.set_output(static_cast<size_t>(at), write->output());
  graph.rename(present, graph.fresh_name(cache.present));
  graph.rename(write->output(), cache.present);
}

// Computes the logits of one token for each sequence, in f32.
void GenerationModel::take_last_logits(ir::Graph& graph) {
  const auto outputs = graph.outputs();
  const auto at = std::ranges::find(outputs, options_.logits, &ir::Value::name) - outputs.begin();
  ir::Value* logits = outputs[static_cast<size_t>(at)];
  if (!logits->producer()) fail(ErrorCode::unimplemented, "generation: the logits are an input");
  ir::Value* last = graph.add_input(kLastInput, ir::ValueType::of(DType::s64, {1}));
  const auto gather = [&](ir::Value* x, ir::Node* before) {
    ir::Value* const operands[] = {x, last};
    ir::Node* n = graph.add_node("Gather", std::string(ir::kNewestDomain), operands, 1, before);
    n->attributes["axis"] = int64_t{1};
    return n->output();
  };
  // Declared types have all tokens.
  ir::Node* product = passes::product_before(logits);
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
    graph.set_output(static_cast<size_t>(at), one);
    graph.rename(logits, graph.fresh_name(options_.logits));
    graph.rename(one, options_.logits);
    logits = one;
  }
  if (logits->dtype() == DType::f32) return;
  ir::Node* cast = graph.add_node("Cast", std::string(ir::kNewestDomain), {logits});
  cast->attributes["to"] = int64_t{1};
  graph.set_output(static_cast<size_t>(at), cast->output());
  graph.rename(logits, graph.fresh_name(options_.logits));
  graph.rename(cast->output(), options_.logits);
}

void GenerationModel::fix(ir::Graph& copy, const GenerationShape& shape) const {
  for (ir::Value* v : copy.inputs()) {
    Shape fixed;
    if (v->name() == options_.input_ids || v->name() == options_.position_ids) {
      fixed = {shape.batch, shape.tokens};
    } else if (v->name() == options_.attention_mask) {
      fixed = {shape.batch, options_.max_length + (grows_ ? shape.tokens : 0)};
    } else if (v->name() == kPositionInput) {
      fixed = {shape.batch};
    } else if (v->name() == kLastInput) {
      fixed = {1};
    } else {
      const auto cache = std::ranges::find(caches_, v->name(), &Cache::past);
      fixed = cache->tail;
      fixed[0] = shape.batch;
    }
    v->type = ir::ValueType::of(v->dtype(), std::move(fixed));
  }
}

std::string GenerationModel::note() const {
  nlohmann::ordered_json caches = nlohmann::ordered_json::array();
  for (const Cache& c : caches_) caches.push_back({c.past, c.present, c.axis});
  nlohmann::ordered_json shapes = nlohmann::ordered_json::array();
  for (const GenerationShape& s : generation_shapes(options_))
    shapes.push_back({s.batch, s.tokens});
  return json_text(nlohmann::ordered_json{{"version", 1},
                                          {"max_length", options_.max_length},
                                          {"slots", options_.slots},
                                          {"grows", grows_},
                                          {"input_ids", options_.input_ids},
                                          {"attention_mask", options_.attention_mask},
                                          {"position_ids", options_.position_ids},
                                          {"position", grows_ ? kPositionInput : ""},
                                          {"last", kLastInput},
                                          {"logits", options_.logits},
                                          {"caches", caches},
                                          {"shapes", shapes},
                                          {"settings", options_.settings}});
}

}  // namespace poprt::compiler
