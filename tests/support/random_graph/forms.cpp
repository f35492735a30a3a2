#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "base/half.h"
#include "compiler/compiler.h"
#include "device/emulator/emulator.h"
#include "program/link.h"
#include "program/serialize.h"
#include "support/random_graph/random_graph.h"

namespace poprt::test {
namespace {

using Results = std::map<std::string, Tensor>;
using program::LoadedProgram;

Tensor fed(const Tensor& given, DType wanted) {
  if (given.dtype() == wanted) return given;
  if (given.dtype() != DType::f32 || wanted != DType::f16)
    fail(ErrorCode::internal, "an input has become {}", dtype_name(wanted));
  Tensor halves = Tensor::zeros(DType::f16, given.shape());
  const auto* from = static_cast<const float*>(given.data());
  auto* const to = static_cast<f16_t*>(halves.mutable_data());
  std::transform(from, from + element_count(given.shape()), to, [](float v) { return to_f16(v); });
  return halves;
}

// Runs twice, because the second run finds the memory that the first one has written. `variant` is
// the number of one of several variants: its anchors have the prefix, and those of the other
// variants are left out.
Results run(const LoadedProgram& loaded, const Feeds& feeds, int threads,
            const std::string& prefix = "", const uint32_t* variant = nullptr) {
  device::Image image;
  image.program = std::make_shared<program::Program>(loaded.program);
  image.weights = loaded.weights;
  device::LoadOptions options;
  options.threads = threads;
  const auto engine = device::EmulatedDevice().load(image, options);
  std::vector<Tensor> inputs;
  std::vector<const void*> in;
  for (const program::Anchor& a : loaded.program.inputs) {
    const bool is_index = a.name == program::kGraphIndex || a.name == program::kBucketIndex;
    const bool mine = a.name.starts_with(prefix) && !(is_index && variant);
    if (mine) inputs.push_back(fed(feeds.at(a.name.substr(prefix.size())), a.dtype));
    in.push_back(mine ? inputs.back().data() : is_index ? variant : nullptr);
  }
  Results results;
  std::vector<void*> out;
  for (const program::Anchor& a : loaded.program.outputs) {
    Tensor t = Tensor::zeros(a.dtype, a.shape);
    const bool mine = a.name.starts_with(prefix);
    out.push_back(mine ? t.mutable_data() : nullptr);
    if (mine) results[a.name.substr(prefix.size())] = t;
  }
  const size_t stages = engine->stages();
  std::vector<std::byte> memory(engine->frame_bytes() + 64);
  std::byte* const frame =
      memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64;
  for (int often = 0; often < 2; often++) {
    if (stages == 1) engine->run(device::Flow::main, in.data(), out.data());
    for (size_t s = 0; stages > 1 && s < stages; s++)
      engine->run_stage(s, in.data(), out.data(), frame);
  }
  return results;
}

std::string difference(const Results& wanted, const Results& got) {
  if (got.size() != wanted.size()) return "other outputs";
  for (const auto& [name, t] : wanted)
    if (const auto found = got.find(name); found == got.end() || !t.same_as(found->second))
      return fmt::format("other bits of '{}'", name);
  return "";
}

compiler::Executable compiled(const RandomGraph& g, const compiler::Options& options) {
  const auto graph = g.graph->clone();
  compiler::convert(*graph, options);
  return compiler::compile(*graph, options);
}

LoadedProgram loaded(const compiler::Executable& e) {
  return program::load_in_memory(e.program, e.weights);
}

// Compares the results of the executable after it is written and read.
std::string check_written(const compiler::Executable& e, const Feeds& feeds,
                          const Results& wanted) {
  const auto bytes = std::make_shared<std::vector<std::byte>>();
  program::write_executable(
      [&](std::span<const std::byte> piece) {
        bytes->insert(bytes->end(), piece.begin(), piece.end());
      },
      e.program, e.weights, e.notes, e.narrow);
  return difference(wanted, run(program::read_executable(*bytes, bytes), feeds, 2));
}

std::string check_linked(const LoadedProgram& one, const Feeds& feeds, const Results& wanted) {
  const auto variant = [&](std::string prefix) {
    return program::Variant{&one.program, one.weights, std::move(prefix)};
  };
  const auto check = [&](const program::Linked& linked, const std::string& prefix) {
    const LoadedProgram all = program::load_in_memory(linked.program, linked.weights);
    const uint32_t second = 1;
    return difference(wanted, run(all, feeds, 2, prefix, &second));
  };
  const std::vector<program::Variant> graphs = {variant("graph0/"), variant("graph1/")};
  if (const std::string found = check(program::link_graphs(graphs), "graph1/"); !found.empty())
    return "fused: " + found;
  if (one.program.state_bytes) return "";  // several shapes with state are documented as refused
  const std::vector<program::Variant> shapes = {variant(""), variant("")};
  const std::string found = check(program::link_buckets(shapes), "");
  return found.empty() ? "" : "of two shapes: " + found;
}

// Returns nullopt if the graph cannot be cut for several IPUs, as the documentation allows.
std::optional<compiler::Executable> cut(const RandomGraph& g, const compiler::Options& options) {
  try {
    return compiled(g, options);
  } catch (const Error& e) {
    if (e.code() == ErrorCode::unimplemented || e.code() == ErrorCode::invalid_argument)
      return std::nullopt;
    throw;
  }
}

}  // namespace

std::string check_forms(const RandomGraph& g, bool halves, ComparedForms& compared) {
  compiler::Options options;
  if (halves) options.precision = compiler::Precision::fp16;
  compiler::Executable alone;
  try {
    alone = compiled(g, options);
  } catch (const Error&) {
    return "";  // check_graph() tests which graphs may be refused
  }
  const LoadedProgram one = loaded(alone);
  const Results wanted = run(one, g.feeds, 1);
  if (const std::string found = check_written(alone, g.feeds, wanted); !found.empty())
    return "written and read: " + found;
  compared.files++;
  if (std::string found = check_linked(one, g.feeds, wanted); !found.empty()) return found;
  compared.linked++;
  for (const int64_t ipus : {2, 3})
    for (const bool pipelining : {false, true}) {
      compiler::Options several = options;
      several.num_ipus = several.batches_per_step = ipus;
      several.virtual_graph = compiler::VirtualGraph::automatic;
      several.pipelining = pipelining;
      const auto shared = cut(g, several);
      if (!shared) continue;
      const std::string where = fmt::format("{} IPUs{}: ", ipus, pipelining ? ", pipelined" : "");
      if (const std::string found = difference(wanted, run(loaded(*shared), g.feeds, 2));
          !found.empty())
        return where + found;
      if (const std::string found = check_written(*shared, g.feeds, wanted); !found.empty())
        return where + "written and read: " + found;
      compared.on_several_ipus++;
    }
  return "";
}

}  // namespace poprt::test
