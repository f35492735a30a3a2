#include "generate/description.h"

#include <algorithm>

#include "base/checked.h"
#include "base/error.h"
#include "base/json.h"
#include "program/aliases.h"
#include "program/control.h"
#include "program/link.h"
#include "program/variant_memory.h"

namespace poprt::generate {
namespace {

using nlohmann::json;

constexpr int64_t kMost = int64_t{1} << 24;

class DescriptionReader {
 public:
  DescriptionReader(const runtime::Model& model, const std::string& text)
      : model_(model), json_(try_parse_json(text)) {}

  Description run() {
    if (!json_.is_object() || number("version", 1, kMost) != 1)
      fail(ErrorCode::data_loss, "it is not a JSON object of version 1");
    d_.max_length = number("max_length", 2, kMost);
    if (json_.contains("ring")) d_.ring = number("ring", 1, d_.max_length - 1);
    d_.slots = number("slots", 1, 4096);
    d_.grows = json_.value("grows", json(false)) == json(true);
    read_shapes();
    d_.ids = *input("input_ids", true);
    d_.last = input("last", false);
    d_.mask_of_new_tokens = json_.value("mask_of_new_tokens", json(false)) == json(true);
    d_.mask = input("attention_mask", false);
    d_.positions = input("position_ids", false);
    d_.position = input("position", d_.grows);
    if (json_.contains("valid_places")) d_.valid = input("valid_places", true);
    d_.logits = find(model_.outputs(), text("logits"), "output");
    d_.variant = find(model_.inputs(), std::string(program::kBucketIndex), "input");
    if (json_.contains("cache_precision")) d_.cache_precision = text("cache_precision");
    if (json_.contains("states")) read_states();
    read_caches();
    if (json_.contains("encoder")) read_encoder(json_["encoder"]);
    check_anchors();
    check_roles();
    check_memory();
    read_settings();
    return std::move(d_);
  }

 private:
  int64_t number(const char* key, int64_t least, int64_t most) const {
    const auto found = json_.find(key);
    if (found == json_.end()) fail(ErrorCode::data_loss, "'{}' is missing", key);
    const int64_t n = whole_number(*found);
    if (n < least || n > most)
      fail(ErrorCode::data_loss, "'{}' is {}, expected {} to {}", key, n, least, most);
    return n;
  }

  std::string text(const json& from, const char* what) const {
    if (!from.is_string()) fail(ErrorCode::data_loss, "'{}' is not text", what);
    return from.get<std::string>();
  }
  std::string text(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end()) fail(ErrorCode::data_loss, "'{}' is missing", key);
    return text(*found, key);
  }

  static size_t find(const std::vector<program::Anchor>& anchors, const std::string& name,
                     const char* what) {
    const auto found = std::ranges::find(anchors, name, &program::Anchor::name);
    if (found == anchors.end())
      fail(ErrorCode::data_loss, "the program has no {} '{}'", what, name);
    return static_cast<size_t>(found - anchors.begin());
  }

  std::optional<size_t> input(const char* key, bool required) const {
    const std::string name = text(key);
    if (name.empty() && !required) return std::nullopt;
    return find(model_.inputs(), name, "input");
  }

  const json& list(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end() || !found->is_array() || found->empty())
      fail(ErrorCode::data_loss, "'{}' is not a list", key);
    return *found;
  }

  void read_shapes() {
    for (const json& item : list("shapes")) {
      const std::vector<int64_t> pair = whole_numbers(item);
      if (pair.size() != 2 || pair[0] < 1 || pair[0] > d_.slots || pair[1] < 1 ||
          pair[1] > d_.places())
        fail(ErrorCode::data_loss, "a shape is not [batch, tokens]");
      d_.shapes.push_back({pair[0], pair[1]});
    }
    const auto single = [](const ProgramShape& s) { return s.batch == 1 && s.tokens == 1; };
    if (d_.shapes[0].batch != d_.slots || d_.shapes[0].tokens != 1 ||
        std::ranges::none_of(d_.shapes, single))
      fail(ErrorCode::data_loss, "there is no shape for one token of each slot, or of one slot");
  }

  void read_states() {
    for (const json& item : list("states")) {
      if (!item.is_array() || item.size() != 2)
        fail(ErrorCode::data_loss, "a state is not [past, present]");
      State s;
      s.input = find(model_.inputs(), text(item[0], "states"), "input");
      s.output = find(model_.outputs(), text(item[1], "states"), "output");
      const program::Anchor &past = model_.inputs()[s.input], &now = model_.outputs()[s.output];
      if (past.dtype != now.dtype || past.shape != now.shape || past.shape.empty() ||
          past.shape[0] != d_.slots || dtype_bits(past.dtype) < 8 ||
          past.data != program::kNoData || std::ranges::count(d_.states, s.output, &State::output))
        fail(ErrorCode::data_loss, "state '{}' has the shapes {} and {}, or occurs twice",
             past.name, shape_string(past.shape), shape_string(now.shape));
      s.row_bytes = past.bytes() / static_cast<uint64_t>(d_.slots);
      d_.states.push_back(s);
    }
  }

  void read_caches() {
    const auto caches = json_.find("caches");
    if (!d_.states.empty() && caches != json_.end() && caches->is_array() && caches->empty())
      return;
    for (const json& item : list("caches")) {
      if (!item.is_array() || item.size() != 3)
        fail(ErrorCode::data_loss, "a cache is not [past, present, axis]");
      Cache c;
      c.input = find(model_.inputs(), text(item[0], "caches"), "input");
      c.output = find(model_.outputs(), text(item[1], "caches"), "output");
      const program::Anchor &past = model_.inputs()[c.input], &now = model_.outputs()[c.output];
      if (past.dtype != now.dtype || past.shape != now.shape || past.shape.empty() ||
          past.shape[0] != d_.slots || dtype_bits(past.dtype) < 8 ||
          past.data != program::kNoData ||
          (!d_.cache_precision.empty() &&
           (d_.cache_precision != "int8" || past.dtype != DType::s8)))
        fail(ErrorCode::data_loss, "cache '{}' has the shapes {} and {}", past.name,
             shape_string(past.shape), shape_string(now.shape));
      const int64_t axis = whole_number(item[2]);
      if (axis < 1 || axis >= static_cast<int64_t>(past.shape.size()) ||
          past.shape[static_cast<size_t>(axis)] != d_.places() ||
          std::ranges::count(d_.caches, c.input, &Cache::input) ||
          std::ranges::count(d_.caches, c.output, &Cache::output))
        fail(ErrorCode::data_loss, "cache '{}' {} has no axis {} of {} places, or occurs twice",
             past.name, shape_string(past.shape), axis, d_.places());
      c.row_bytes = past.bytes() / static_cast<uint64_t>(d_.slots);
      for (int64_t a = 1; a < axis; a++)
        c.outer *= static_cast<uint64_t>(past.shape[static_cast<size_t>(a)]);
      c.place_bytes =
          c.row_bytes / std::max<uint64_t>(c.outer, 1) / static_cast<uint64_t>(d_.places());
      c.in_place = program::may_share_memory(model_.program(), static_cast<uint32_t>(c.input),
                                             static_cast<uint32_t>(c.output));
      d_.caches.push_back(c);
    }
  }

  void read_encoder(const json& from) {
    if (!from.is_object()) fail(ErrorCode::data_loss, "'encoder' is not an object");
    EncoderDescription& e = d_.encoder.emplace();
    const auto anchor = [&](const char* key) -> std::optional<size_t> {
      const std::string name = from.contains(key) ? text(from[key], key) : "";
      if (name.empty()) return std::nullopt;
      return find(model_.inputs(), name, "input");
    };
    e.ids = anchor("input_ids");
    e.mask = anchor("attention_mask");
    e.features = anchor("features");
    e.memory_mask = anchor("memory_mask");
    e.places = whole_number(from.value("places", json(0)));
    e.lengths = whole_numbers(from.value("lengths", json::array()));
    if (e.ids.has_value() == e.features.has_value() || e.places < 1 || e.places > kMost ||
        e.lengths.empty() || !std::ranges::is_sorted(e.lengths) || e.lengths[0] < 1 ||
        e.lengths.back() > e.places || (e.ids && !e.memory_mask))
      fail(ErrorCode::data_loss, "'encoder' has wrong inputs, lengths or places");
    const json cross = from.value("cross", json::array());
    if (!cross.is_array() || cross.empty()) fail(ErrorCode::data_loss, "'cross' is not a list");
    for (const json& item : cross) read_cross(item, e);
    if (!e.features) return;
    const program::Anchor& f = model_.inputs()[*e.features];
    check_anchor(f, 1, true);
    if (f.shape.empty() || f.shape[0] != 1)
      fail(ErrorCode::data_loss, "'{}' has the shape {}", f.name, shape_string(f.shape));
    e.features_shape.assign(f.shape.begin() + 1, f.shape.end());
  }

  void read_cross(const json& item, EncoderDescription& e) {
    if (!item.is_array() || item.size() != 2)
      fail(ErrorCode::data_loss, "an entry of 'cross' is not [past, present]");
    Cross c;
    c.input = find(model_.inputs(), text(item[0], "cross"), "input");
    c.output = find(model_.outputs(), text(item[1], "cross"), "output");
    const program::Anchor &all = model_.inputs()[c.input], &one = model_.outputs()[c.output];
    Shape row = all.shape;
    if (!row.empty()) row[0] = 1;
    if (all.dtype != one.dtype || row != one.shape || row.size() != 4 || all.shape[0] != d_.slots ||
        row[2] != e.places || dtype_bits(all.dtype) < 8 || all.data != program::kNoData ||
        std::ranges::count(e.cross, c.input, &Cross::input) ||
        std::ranges::count(e.cross, c.output, &Cross::output) ||
        std::ranges::count(d_.caches, c.output, &Cache::output))
      fail(ErrorCode::data_loss, "'{}' {} and '{}' {} are not keys of cross-attention", all.name,
           shape_string(all.shape), one.name, shape_string(one.shape));
    c.row_bytes = one.bytes();
    e.cross.push_back(c);
  }

  // Throws unless the anchor has a type that the generator can convert, and at least `elements`
  // elements, which a run at the largest shape reads or writes.
  void check_anchor(const program::Anchor& a, int64_t elements, bool floats) const {
    const bool type = floats ? a.dtype == DType::f32
                             : a.dtype == DType::s64 || a.dtype == DType::s32 ||
                                   a.dtype == DType::boolean || a.dtype == DType::f32;
    if (!type || element_count(a.shape) < elements || a.data != program::kNoData)
      fail(ErrorCode::data_loss, "'{}' is {}{}, expected {} elements", a.name, dtype_name(a.dtype),
           shape_string(a.shape), elements);
  }

  // Throws if an input has two meanings, or unless the program has one variant for each shape and
  // for each length of the encoder.
  void check_roles() const {
    std::vector<size_t> roles = {d_.ids, d_.variant};
    for (const auto& role : {d_.last, d_.mask, d_.positions, d_.position, d_.valid})
      if (role) roles.push_back(*role);
    for (const Cache& c : d_.caches) roles.push_back(c.input);
    for (const State& s : d_.states) roles.push_back(s.input);
    if (d_.encoder) {
      for (const auto& role :
           {d_.encoder->ids, d_.encoder->mask, d_.encoder->features, d_.encoder->memory_mask})
        if (role) roles.push_back(*role);
      for (const Cross& c : d_.encoder->cross) roles.push_back(c.input);
    }
    std::ranges::sort(roles);
    if (std::ranges::adjacent_find(roles) != roles.end())
      fail(ErrorCode::data_loss, "an input has two meanings");
    const program::Program& p = model_.program();
    const auto variants = std::ranges::count_if(p.main, [&](const program::Instruction& in) {
      return p.kernels[in.kernel] == program::kControlCase;
    });
    const size_t expected = d_.shapes.size() + (d_.encoder ? d_.encoder->lengths.size() : 0);
    if (variants != static_cast<std::ptrdiff_t>(expected))
      fail(ErrorCode::data_loss, "the program has {} variants for {} shapes", variants, expected);
  }

  void check_anchors() {
    int64_t tokens = 0, mask = 0;
    for (const ProgramShape& s : d_.shapes) {
      tokens = std::max(tokens, s.batch * s.tokens);
      const int64_t old = d_.mask_of_new_tokens ? 0 : d_.places();
      mask = std::max(mask, s.batch * (old + (d_.grows || old == 0 ? s.tokens : 0)));
    }
    const auto& in = model_.inputs();
    check_anchor(in[d_.ids], tokens, false);
    const program::Anchor& variant = in[d_.variant];
    if (variant.dtype != DType::u32 || element_count(variant.shape) != 1 ||
        variant.data != program::kNoData)
      fail(ErrorCode::data_loss, "'{}' is {}{}, expected one u32", variant.name,
           dtype_name(variant.dtype), shape_string(variant.shape));
    if (d_.last) check_anchor(in[*d_.last], 1, false);
    if (!d_.last && std::ranges::any_of(d_.shapes, [](const auto& s) { return s.tokens != 1; }))
      fail(ErrorCode::data_loss, "there is no input 'last' for several tokens");
    if (d_.mask) check_anchor(in[*d_.mask], mask, false);
    if (d_.positions) check_anchor(in[*d_.positions], tokens, false);
    if (d_.position) check_anchor(in[*d_.position], d_.slots, false);
    if (d_.valid) check_anchor(in[*d_.valid], d_.slots, false);
    const program::Anchor& logits = model_.outputs()[d_.logits];
    d_.vocabulary = logits.shape.empty() ? 0 : logits.shape.back();
    if (d_.vocabulary < 1 || logits.shape.size() > 3)
      fail(ErrorCode::data_loss, "the logits have the shape {}", shape_string(logits.shape));
    check_anchor(logits, d_.slots * d_.vocabulary, true);
    if (element_count(logits.shape) != d_.slots * d_.vocabulary)
      fail(ErrorCode::data_loss, "the logits have the shape {}, expected {} for each of {} slots",
           shape_string(logits.shape), d_.vocabulary, d_.slots);
    if (d_.encoder) {
      const EncoderDescription& e = *d_.encoder;
      if (e.ids) check_anchor(in[*e.ids], e.lengths.back(), false);
      if (e.mask) check_anchor(in[*e.mask], e.lengths.back(), false);
      if (e.memory_mask) check_anchor(in[*e.memory_mask], d_.slots * e.places, false);
    }
    const size_t cross = d_.encoder ? d_.encoder->cross.size() : 0;
    const size_t caches = d_.caches.size() + d_.states.size();
    if (model_.outputs().size() != caches + cross + 1)
      fail(ErrorCode::data_loss, "the program has {} outputs for {} caches",
           model_.outputs().size(), caches);
    std::vector<size_t> roles = {d_.logits};
    for (const Cache& c : d_.caches) roles.push_back(c.output);
    for (const State& s : d_.states) roles.push_back(s.output);
    if (d_.encoder)
      for (const Cross& c : d_.encoder->cross) roles.push_back(c.output);
    std::ranges::sort(roles);
    if (std::ranges::adjacent_find(roles) != roles.end())
      fail(ErrorCode::data_loss, "an output has two meanings");
  }

  // A run for some slots has the memory of these slots only. The encoder writes the row of one slot
  // and must not use the memory of the decoder.
  void check_memory() const {
    const auto used = program::memory_of_variants(
        model_.program(), d_.variant,
        d_.shapes.size() + (d_.encoder ? d_.encoder->lengths.size() : 0));
    for (size_t v = 0; v < used.size(); v++) {
      const auto rows = static_cast<uint64_t>(v < d_.shapes.size() ? d_.shapes[v].batch : 0);
      const auto check = [&](uint64_t bytes, uint64_t row_bytes, const program::Anchor& a) {
        if (bytes > checked_mul(row_bytes, rows))
          fail(ErrorCode::data_loss, "variant {} uses {} bytes of '{}', and {} slots have {} each",
               v, bytes, a.name, rows, row_bytes);
      };
      const auto check_both = [&](const auto& list) {
        for (const auto& c : list) {
          check(used[v].inputs[c.input], c.row_bytes, model_.inputs()[c.input]);
          check(used[v].outputs[c.output], c.row_bytes, model_.outputs()[c.output]);
        }
      };
      check_both(d_.caches);
      check_both(d_.states);
      if (d_.encoder)
        for (const Cross& c : d_.encoder->cross)
          check(used[v].inputs[c.input], c.row_bytes, model_.inputs()[c.input]);
    }
  }

  void read_settings() {
    const json settings = json_.value("settings", json::object());
    if (!settings.is_object()) fail(ErrorCode::data_loss, "'settings' is not an object");
    const auto tokens = [&](const char* key) {
      return settings.contains(key) ? whole_numbers(settings[key]) : std::vector<int64_t>();
    };
    d_.stop_tokens = tokens("stop_tokens");
    d_.start_tokens = tokens("start_tokens");
    d_.suppressed = tokens("suppressed");
    d_.suppressed_first = tokens("suppressed_first");
    const auto token = [&](const char* key) -> std::optional<int64_t> {
      if (!settings.contains(key)) return std::nullopt;
      return whole_number(settings[key]);
    };
    d_.forced_first = token("forced_first");
    d_.forced_last = token("forced_last");
    std::vector<int64_t> used = d_.start_tokens;
    for (const auto& forced : {d_.forced_first, d_.forced_last})
      if (forced) used.push_back(*forced);
    for (const int64_t t : used)
      if (t < 0 || t >= d_.vocabulary)
        fail(ErrorCode::data_loss, "token {} of the settings is outside of the vocabulary of {}", t,
             d_.vocabulary);
    if (static_cast<int64_t>(d_.start_tokens.size()) >= d_.max_length)
      fail(ErrorCode::data_loss, "'start_tokens' leaves no room for a token");
  }

  const runtime::Model& model_;
  const json json_;
  Description d_;
};

}  // namespace

Description read_description(const runtime::Model& model) {
  const auto found = model.opaque.find(kGeneration);
  if (found == model.opaque.end())
    fail(ErrorCode::failed_precondition,
         "executable '{}' was not compiled for generation; make a generator from the ONNX model or "
         "its folder",
         model.name);
  try {
    return DescriptionReader(model, found->second).run();
  } catch (Error& e) {
    e.add_context(fmt::format("blob '{}'", kGeneration));
    throw;
  }
}

}  // namespace poprt::generate
