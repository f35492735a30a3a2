#include "compiler/variants.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>

#include "base/json.h"
#include "base/log.h"
#include "program/link.h"
#include "program/serialize.h"
#include "program/shards.h"

namespace poprt::compiler {
namespace {

using Json = nlohmann::ordered_json;

// The linker loads each part when it needs it, and finds equal weights by comparing their bytes.
std::vector<program::Variant> variants_of(const std::vector<Executable>& parts) {
  std::vector<program::Variant> variants;
  for (const Executable& e : parts)
    variants.push_back({&e.program,
                        {},
                        "",
                        [&e] { return program::load_in_memory(e.program, e.weights); },
                        e.narrow});
  return variants;
}

// Replaces the descriptions of IPUs in the notes of the parts by one of the linked program, which
// uses several IPUs if one of the parts does.
void describe_shards(Executable& e) {
  if (program::has_shards(e.program))
    e.notes[program::kShards] = program::note_of_shards(e.program);
}

Executable finish(program::Linked linked) {
  Executable e;
  e.program = std::move(linked.program);
  e.weights = std::move(linked.weights);
  e.narrow = std::move(linked.narrow);
  return e;
}

}  // namespace

Executable link_graphs(const std::vector<Executable>& parts,
                       const std::vector<std::string>& names) {
  Executable e = finish(program::link_graphs(variants_of(parts)));
  for (const Executable& part : parts) e.notes.insert(part.notes.begin(), part.notes.end());
  e.notes[kVariants] = json_text(Json{{"kind", "graphs"}, {"graphs", names}});
  describe_shards(e);
  return e;
}

Executable link_generation(const std::vector<Executable>& parts, bool separate_anchors) {
  const std::vector<program::Variant> variants = variants_of(parts);
  Executable e =
      finish(separate_anchors ? program::link_parts(variants) : program::link_buckets(variants));
  e.notes = parts.back().notes;
  describe_shards(e);
  return e;
}

Symbols symbols_of(const ir::Graph& graph) {
  Symbols symbols;
  for (const ir::Value* v : graph.inputs()) symbols.inputs[v->name()] = v->type.symbols;
  for (const ir::Value* v : graph.outputs()) symbols.outputs[v->name()] = v->type.symbols;
  return symbols;
}

namespace {

using program::Anchor;

// Finds the size that each dimension of an anchor follows.
class Dimensions {
 public:
  Dimensions(const std::vector<Executable>& parts, const Symbols& symbols,
             const OutputShapes& output_shapes, const std::vector<std::string>& exact)
      : parts_(parts), symbols_(symbols), output_shapes_(output_shapes), exact_(exact) {}

  Json names() const {
    Json list = Json::array();
    for (const Size& s : sizes_) list.push_back(s.name);
    return list;
  }

  // Returns an entry for each dimension: the name of the size that it follows, or null if all parts
  // have the same size.
  Json of_input(size_t anchor) {
    Json dims = Json::array();
    std::vector<std::string>& own = inputs_.emplace_back();
    const Anchor& first = parts_[0].program.inputs[anchor];
    for (size_t d = 0; d < first.shape.size(); d++) {
      const Sizes sizes = sizes_of(anchor, d, &program::Program::inputs);
      if (constant(sizes)) {
        dims.push_back(nullptr);
        own.emplace_back();
        continue;
      }
      std::string name = symbol(symbols_.inputs, first.name, d);
      if (name.empty()) name = fmt::format("{}:{}", first.name, d);
      add(name, sizes);
      own.push_back(name);
      dims.push_back(name);
    }
    return dims;
  }

  // If there are several sizes: computes for each one the output shapes at which only this size is
  // that of the largest shape, and all other sizes are those of the smallest shape.
  void probe() {
    if (sizes_.size() < 2) return;
    for (const Size& varies : sizes_) {
      std::vector<int64_t> sizes;
      for (const Size& s : sizes_)
        sizes.push_back(&s == &varies ? s.of_parts.back() : s.of_parts.front());
      add_probe(std::move(sizes), probes_);
    }
  }

  Json of_output(size_t anchor, const std::set<size_t>* sized_axes) {
    Json dims = Json::array();
    const Anchor& first = parts_[0].program.outputs[anchor];
    for (size_t d = 0; d < first.shape.size(); d++) {
      const Sizes sizes = sizes_of(anchor, d, &program::Program::outputs);
      std::optional<Json> found =
          follows(first.name, d, sizes, symbol(symbols_.outputs, first.name, d));
      // A fraction of a size, rounded up, may be right at some sizes and wrong at others.
      if (sized_axes && sized_axes->contains(d) &&
          !(found && (!found->is_object() || (*found)["over"] == 1) &&
            agrees(*found, first.name, d, sizes[0], between()))) {
        found.reset();
        if (masks_decide(first.name, d, sizes.back())) found = Json();
      }
      if (!found)
        fail(ErrorCode::unimplemented,
             "output '{}': dimension {} is {} at the shapes of the model and follows no size of an "
             "input, so that results could not be cropped: compile it for one shape, or let the "
             "shapes differ in one dimension",
             first.name, d, fmt::join(sizes, ", "));
      dims.push_back(*found);
    }
    return dims;
  }

 private:
  using Sizes = std::vector<int64_t>;  // one per part

  struct Probe {
    std::vector<int64_t> sizes;  // in the order of sizes_
    std::map<std::string, Shape> outputs;
  };

  // A size that varies between the parts.
  struct Size {
    std::string name;
    Sizes of_parts;
  };

  Sizes sizes_of(size_t anchor, size_t d, std::vector<Anchor> program::Program::* list) const {
    Sizes sizes;
    for (const Executable& e : parts_) sizes.push_back((e.program.*list)[anchor].shape[d]);
    return sizes;
  }
  static bool constant(const Sizes& sizes) {
    return std::ranges::all_of(sizes, [&](int64_t s) { return s == sizes[0]; });
  }
  static std::string symbol(const std::map<std::string, std::vector<std::string>>& all,
                            const std::string& name, size_t d) {
    const auto found = all.find(name);
    return found == all.end() || d >= found->second.size() ? "" : found->second[d];
  }

  void add(const std::string& name, const Sizes& sizes) {
    const auto found = std::ranges::find(sizes_, name, &Size::name);
    if (found != sizes_.end()) return;  // fix_shapes() has checked that they agree
    sizes_.push_back({name, sizes});
  }

  // Returns the first of these candidates that agrees with all probes: null if the dimension is the
  // same in all parts, the size with the same name and values, another size with the same values,
  // or a result of scale(). Returns nothing if there is none.
  std::optional<Json> follows(const std::string& output, size_t d, const Sizes& sizes,
                              const std::string& name) const {
    std::vector<Json> candidates;
    if (constant(sizes)) candidates.emplace_back(nullptr);
    for (const Size& s : sizes_)
      if (s.name == name && s.of_parts == sizes) candidates.emplace_back(name);
    for (const Size& s : sizes_)
      if (s.of_parts == sizes) candidates.emplace_back(s.name);
    for (const Size& s : sizes_)
      if (const Json scaled = scale(sizes, s); !scaled.is_null()) candidates.push_back(scaled);
    for (const Json& candidate : candidates)
      if (agrees(candidate, output, d, sizes[0], probes_)) return candidate;
    return std::nullopt;
  }

  bool agrees(const Json& candidate, const std::string& output, size_t d, int64_t fixed,
              const std::vector<Probe>& probes) const {
    return std::ranges::all_of(probes, [&](const Probe& p) {
      const auto found = p.outputs.find(output);
      return found == p.outputs.end() || d >= found->second.size() ||
             found->second[d] == size_at(candidate, p.sizes, fixed);
    });
  }

  // Adds the output shapes at these sizes, unless the model cannot have these sizes: then no
  // request has them either.
  void add_probe(std::vector<int64_t> sizes, std::vector<Probe>& to) const {
    std::map<std::string, Shape> inputs;
    for (size_t a = 0; a < inputs_.size(); a++) {
      const Anchor& anchor = parts_[0].program.inputs[a];
      if (anchor.data != program::kNoData) continue;
      Shape& shape = inputs[anchor.name] = anchor.shape;
      for (size_t d = 0; d < shape.size(); d++)
        if (!inputs_[a][d].empty()) shape[d] = sizes[number(inputs_[a][d])];
    }
    try {
      to.push_back({std::move(sizes), output_shapes_(inputs)});
    } catch (const Error&) {
    }
  }

  // The output shapes at sizes between those of the parts and below them.
  const std::vector<Probe>& between() {
    for (size_t i = between_.empty() ? 0 : sizes_.size(); i < sizes_.size(); i++) {
      const int64_t least = sizes_[i].of_parts.front(), most = sizes_[i].of_parts.back();
      std::vector<int64_t> sizes;
      for (const Size& s : sizes_) sizes.push_back(s.of_parts.back());
      for (const int64_t size : std::set{int64_t{1}, int64_t{2}, least - 1, least + 1,
                                         (least + most) / 2, (least + most) / 2 + 1, most - 1}) {
        sizes[i] = size;
        if (size > 0 && size < most) add_probe(sizes, between_);
      }
    }
    return between_;
  }

  // Whether the program knows all that changes the size of the dimension: sizes with a mask, and
  // sizes that are exact. It does not know how many places of other sizes are padding.
  bool masks_decide(const std::string& output, size_t d, int64_t largest) {
    return std::ranges::all_of(between(), [&](const Probe& p) {
      for (size_t i = 0; i < sizes_.size(); i++) {
        const bool known = std::ranges::count(exact_, sizes_[i].name) != 0 ||
                           std::ranges::count(parts_[0].program.inputs,
                                              std::string(program::kRealPlaces) + sizes_[i].name,
                                              &Anchor::name) != 0;
        if (p.sizes[i] != sizes_[i].of_parts.back() && known) return true;
      }
      const auto found = p.outputs.find(output);
      return found == p.outputs.end() || d >= found->second.size() || found->second[d] == largest;
    });
  }

  int64_t size_at(const Json& follows, const std::vector<int64_t>& sizes, int64_t fixed) const {
    if (follows.is_null()) return fixed;
    if (follows.is_string()) return sizes[number(follows.get<std::string>())];
    const int64_t times = follows["times"], over = follows["over"], plus = follows["plus"];
    return (times * sizes[number(follows["of"].get<std::string>())] + over - 1) / over + plus;
  }

  size_t number(const std::string& name) const {
    return static_cast<size_t>(std::ranges::find(sizes_, name, &Size::name) - sizes_.begin());
  }

  // Returns the numbers with which (times * size + over - 1) / over + plus is the dimension in
  // every part, or null if there are none with a `plus` from -64 to 64.
  static Json scale(const Sizes& sizes, const Size& size) {
    const Sizes& from = size.of_parts;
    constexpr int64_t kMostPlus = 64;
    for (size_t k = 1; k < sizes.size(); k++) {
      if (from[k] == from[0]) continue;
      const int64_t rise = std::abs(sizes[k] - sizes[0]), run = std::abs(from[k] - from[0]);
      if (rise == 0 || (sizes[k] > sizes[0]) != (from[k] > from[0])) return nullptr;
      const int64_t divisor = std::gcd(rise, run), times = rise / divisor, over = run / divisor;
      const auto scaled = [&](int64_t part) { return (times * part + over - 1) / over; };
      const int64_t plus = sizes[0] - scaled(from[0]);
      if (std::abs(plus) > kMostPlus) return nullptr;
      for (size_t i = 0; i < sizes.size(); i++)
        if (scaled(from[i]) + plus != sizes[i]) return nullptr;
      return {{"of", size.name}, {"times", times}, {"over", over}, {"plus", plus}};
    }
    return nullptr;
  }

  const std::vector<Executable>& parts_;
  const Symbols& symbols_;
  const OutputShapes& output_shapes_;
  const std::vector<std::string>& exact_;
  std::vector<Size> sizes_;
  std::vector<std::vector<std::string>> inputs_;  // names of sizes by input and dimension, or ""
  std::vector<Probe> probes_, between_;
};

Json shapes_of(const std::vector<Anchor>& anchors) {
  Json shapes = Json::object();
  for (const Anchor& a : anchors) shapes[a.name] = a.shape;
  return shapes;
}

}  // namespace

Executable link_shapes(const std::vector<Executable>& parts, const Symbols& symbols,
                       const std::map<std::string, Padding>& padding,
                       const OutputShapes& output_shapes, const std::vector<std::string>& exact,
                       const std::map<std::string, std::set<size_t>>& sized_axes) {
  Executable e = finish(program::link_buckets(variants_of(parts)));
  const program::Program& first = parts[0].program;
  Dimensions dimensions(parts, symbols, output_shapes, exact);
  Json inputs = Json::object(), outputs = Json::object(), buckets = Json::array();
  for (size_t i = 0; i < first.inputs.size(); i++)
    inputs[first.inputs[i].name] = {{"shape", dimensions.of_input(i)}};
  dimensions.probe();
  for (size_t i = 0; i < first.outputs.size(); i++) {
    const auto sized = sized_axes.find(first.outputs[i].name);
    outputs[first.outputs[i].name] = {
        {"shape", dimensions.of_output(i, sized == sized_axes.end() ? nullptr : &sized->second)}};
  }
  for (const auto& [name, pad] : padding) {
    if (!inputs.contains(name))
      fail(ErrorCode::invalid_argument, "`pad_values`: the model has no input '{}'", name);
    inputs[name]["pad"] = pad.mask ? Json("mask") : Json(pad.value);
  }
  for (const Executable& part : parts)
    buckets.push_back(
        {{"inputs", shapes_of(part.program.inputs)}, {"outputs", shapes_of(part.program.outputs)}});
  e.notes = parts.back().notes;
  Json note = {{"kind", "shapes"},
               {"dimensions", dimensions.names()},
               {"inputs", inputs},
               {"outputs", outputs},
               {"buckets", buckets}};
  if (!exact.empty()) note["exact"] = exact;
  e.notes[kVariants] = json_text(note);
  describe_shards(e);
  return e;
}

}  // namespace poprt::compiler
