// Measures alternately how much faster packed sequences are than padded ones.
//
//   packing_bench MODEL.onnx ITEMS [unpack|mask] [REQUESTS] [fp16]
//
// MODEL takes tokens [rows, length] and is compiled twice: unchanged, so that every sequence is
// padded to a row, and packed, with at most ITEMS sequences in the same rows. Lengths are
// distributed as in SQuAD: 0.4 of the row on average. unpack uses option pack_args. mask uses pass
// insert_attention_mask with input attention_mask, and removes outputs of rows (pooler_output).
// Both use one thread.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <poprt/poprt.hpp>
#include <string>
#include <vector>

#include "squad_lengths.h"
#include "turns.h"

namespace {

using poprt::bench::Clock, poprt::bench::kTurns, poprt::bench::print, poprt::bench::seconds_since;
using poprt::compiler::Compiler;
using poprt::compiler::CompilerOptions;

// Memory for `places` elements of the longest sequence in the descriptions.
struct Sequence {
  Sequence(const std::vector<poprt::DataDesc>& inputs, const std::vector<poprt::DataDesc>& outputs,
           std::size_t places, std::size_t longest, bool whole_outputs) {
    memory.reserve(inputs.size() + outputs.size());
    for (const auto& d : inputs) {
      const auto bytes = static_cast<std::size_t>(d.sizeInBytes) / longest * places;
      memory.emplace_back(bytes);
      for (std::size_t i = 0; i < bytes; i += bytes / places) memory.back()[i] = 1;
      in[d.name] = {memory.back().data(), bytes};
    }
    for (const auto& d : outputs) {
      const auto size = static_cast<std::size_t>(d.sizeInBytes);
      memory.emplace_back(whole_outputs ? size : size / longest * places);
      out[d.name] = {memory.back().data(), memory.back().size()};
    }
  }
  std::vector<std::vector<char>> memory;
  poprt::runtime::InputMemoryView in;
  poprt::runtime::OutputMemoryView out;
};

void measure(const std::string& model, const std::string& items, bool unpacks, int count,
             bool half) {
  CompilerOptions plain, packed;
  if (half) plain.options = packed.options = {{"precision", "fp16"}};
  const auto before = Compiler::compile(model, {}, plain);
  const auto shape = before->getInputs().at(0).shape;
  const auto rows = static_cast<std::size_t>(shape.at(0)),
             length = static_cast<std::size_t>(shape.at(1));
  if (unpacks) {
    packed.options["pack_args"] =
        "max_valid_num=" + items + "\nsegment_max_size=" + std::to_string(length);
  } else {
    packed.options["passes"] = "insert_attention_mask";
    for (const auto& d : before->getOutputs())
      if (d.shape.size() < 2 || static_cast<std::size_t>(d.shape[1]) != length)
        packed.options["remove_outputs"] = d.name;
  }
  const auto after = Compiler::compile(model, {}, packed);
  poprt::runtime::RuntimeConfig one;
  one.threads = 1;
  poprt::runtime::ModelRunner single(*before, one);
  poprt::runtime::PackRunnerConfig config(1000000, std::strtoul(items.c_str(), nullptr, 10));
  config.runner = one;
  config.algo = poprt::runtime::PackAlgorithm::FirstFit;
  if (!unpacks) config.enableSingleRowMode("attention_mask");
  poprt::runtime::PackRunner packs(*after, config);

  std::vector<Sequence> requests;
  double sum = 0;
  for (const long drawn : poprt::bench::squad_lengths(static_cast<long>(length), count)) {
    const auto n = static_cast<std::size_t>(drawn);
    sum += static_cast<double>(n);
    requests.emplace_back(packs.getExecuteInputs(), packs.getExecuteOutputs(), n, length, unpacks);
  }
  std::printf("rows of %zu, mean length %.1f\n", length, sum / count);
  Sequence whole(single.getExecuteInputs(), single.getExecuteOutputs(), rows * length,
                 rows * length, true);
  std::vector<double> padded, dense, ratio;
  for (int turn = 0; turn <= kTurns; turn++) {
    auto t = Clock::now();
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); i += rows)
      single.execute(whole.in, whole.out);
    const double a = count / seconds_since(t);
    t = Clock::now();
    std::vector<poprt::runtime::OutputFutureMemoryView> futures;
    for (Sequence& r : requests) futures.push_back(packs.executeAsync(r.in, r.out));
    for (auto& request : futures)
      for (auto& [name, future] : request) future.wait();
    const double b = count / seconds_since(t);
    if (turn == 0) continue;  // not counted, because it accesses memory for the first time
    padded.push_back(a);
    dense.push_back(b);
    ratio.push_back(b / a);
  }
  print("padded", padded, "samples/s");
  print("packed", dense, "samples/s");
  print("ratio", ratio, "");
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string kind = argc > 3 ? argv[3] : "unpack";
  if (argc < 3 || (kind != "unpack" && kind != "mask")) {
    std::fprintf(stderr, "usage: packing_bench MODEL.onnx ITEMS [unpack|mask] [REQUESTS] [fp16]\n");
    return 2;
  }
  measure(argv[1], argv[2], kind == "unpack", argc > 4 ? std::atoi(argv[4]) : 64, argc > 5);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "packing_bench: %s\n", e.what());
  return 1;
}
