// Measures the cost of an executable with several models or shapes, by turns with executables of
// one.
//
//   variants_bench fusion A.onnx B.onnx [RUNS]
//   variants_bench shapes MODEL.onnx NAME=d0,d1/e0,e1/... LENGTH [REQUESTS] [MAX_PADDING]
//
// fusion: runs the two models of one fused executable alternately, RUNS (default 10000) times each,
// and compares this with as many runs of the separate models. The difference per run is the cost of
// a switch. Also prints the sizes of weights and arenas.
//
// shapes: requests have lengths that are distributed as in SQuAD, on average 0.4 of LENGTH, the
// largest size in the option. Compares a runner of all shapes, including those that MAX_PADDING
// adds (0: none), with a runner of the largest shape, to which requests are padded. Also prints the
// sizes of the files and the time of opening them.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <poprt/poprt.hpp>
#include <string>
#include <vector>

#include "squad_lengths.h"
#include "turns.h"

namespace {

namespace fs = std::filesystem;
using poprt::Executable;
using poprt::bench::Clock, poprt::bench::kTurns, poprt::bench::print, poprt::bench::seconds_since;
using poprt::bench::squad_lengths;
using poprt::compiler::Compiler;
using poprt::compiler::CompilerOptions;
using poprt::runtime::ModelRunner;

std::size_t size_of(const poprt::DataDesc& d) { return static_cast<std::size_t>(d.sizeInBytes); }

// Memory of all anchors, and views of those whose names begin with `prefix`.
class Memory {
 public:
  Memory(const std::vector<poprt::DataDesc>& inputs, const std::vector<poprt::DataDesc>& outputs,
         const std::string& prefix) {
    for (const auto& d : inputs)
      if (d.name.rfind(prefix, 0) == 0 && d.name != "index")
        in[d.name] = {add(size_of(d)), size_of(d)};
    for (const auto& d : outputs)
      if (d.name.rfind(prefix, 0) == 0) out[d.name] = {add(size_of(d)), size_of(d)};
  }
  poprt::runtime::InputMemoryView in;
  poprt::runtime::OutputMemoryView out;

 private:
  void* add(std::size_t bytes) {
    memory_.emplace_back(bytes + 64);
    return memory_.back().data();
  }
  std::vector<std::vector<char>> memory_;
};

poprt::runtime::RuntimeConfig one_thread() {
  poprt::runtime::RuntimeConfig config;
  config.threads = 1;
  return config;
}

void fusion(const std::string& a, const std::string& b, int runs) {
  const auto first = Compiler::compile(a, {}, {}), second = Compiler::compile(b, {}, {});
  const auto both = std::make_shared<Executable>(Executable::fuse({first, second}));
  const auto bytes = [](const Executable& e, auto of) {
    return static_cast<double>(of(e.handle())) / 1e6;
  };
  std::printf("weights: %.1f + %.1f MB alone, %.1f MB fused\n",
              bytes(*first, poprt_executable_weights_bytes),
              bytes(*second, poprt_executable_weights_bytes),
              bytes(*both, poprt_executable_weights_bytes));
  std::printf(
      "arena:   %.1f + %.1f MB alone, %.1f MB fused\n", bytes(*first, poprt_executable_arena_bytes),
      bytes(*second, poprt_executable_arena_bytes), bytes(*both, poprt_executable_arena_bytes));
  ModelRunner alone_a(first, one_thread()), alone_b(second, one_thread()),
      fused(both, one_thread());
  Memory ma(first->getInputs(), first->getOutputs(), ""),
      mb(second->getInputs(), second->getOutputs(), ""),
      m0(both->getInputs(), both->getOutputs(), "graph0/"),
      m1(both->getInputs(), both->getOutputs(), "graph1/");
  std::vector<double> alone, switching, difference;
  for (int turn = 0; turn <= kTurns; turn++) {
    auto t = Clock::now();
    for (int i = 0; i < runs; i++) alone_a.execute(ma.in, ma.out);
    for (int i = 0; i < runs; i++) alone_b.execute(mb.in, mb.out);
    const double apart = seconds_since(t) / (2 * runs) * 1e6;
    t = Clock::now();
    for (int i = 0; i < runs; i++) {
      fused.execute(m0.in, m0.out);
      fused.execute(m1.in, m1.out);
    }
    const double together = seconds_since(t) / (2 * runs) * 1e6;
    if (turn == 0) continue;  // warms the caches
    alone.push_back(apart);
    switching.push_back(together);
    difference.push_back(together - apart);
  }
  print("a run alone", alone, "us");
  print("a run after a switch", switching, "us");
  print("a switch costs", difference, "us");
}

// Requests of one length. Shapes are those of the anchors with `longest` replaced by `length`.
struct Request {
  Request(const std::vector<poprt::DataDesc>& inputs, const std::vector<poprt::DataDesc>& outputs,
          long length, long longest) {
    const auto bytes = [&](const poprt::DataDesc& d) {
      std::size_t n = size_of(d);
      for (const auto dim : d.shape)
        if (dim == longest)
          n = n / static_cast<std::size_t>(longest) * static_cast<std::size_t>(length);
      return n;
    };
    for (const auto& d : inputs)
      if (d.name != "poprt.bucket") {
        memory.emplace_back(bytes(d));
        in[d.name] = {memory.back().data(), memory.back().size()};
      }
    for (const auto& d : outputs) {
      memory.emplace_back(bytes(d));
      out[d.name] = {memory.back().data(), memory.back().size()};
    }
  }
  std::vector<std::vector<char>> memory;
  poprt::runtime::InputMemoryView in;
  poprt::runtime::OutputMemoryView out;
};

void shapes(const std::string& model, const std::string& option, long longest, int count,
            double max_padding) {
  CompilerOptions several, one;
  several.options = {{"input_shape", option}};
  several.maxPadding = max_padding;
  one.options = {{"input_shape",
                  option.substr(0, option.find('=') + 1) + option.substr(option.rfind('/') + 1)}};
  const std::string folder = (fs::temp_directory_path() / "variants_bench").string();
  const std::string file[] = {folder + ".one.popef", folder + ".several.popef"};
  Compiler::compileAndExport(model, {}, file[0], one);
  const auto begin = Clock::now();
  Compiler::compileAndExport(model, {}, file[1], several);
  std::printf("compiled in %.1f s\n", seconds_since(begin));
  const auto size = [&](int i) { return static_cast<double>(fs::file_size(file[i])); };
  std::printf("files: %.1f MB of one shape, %.1f MB of several: %.4f\n", size(0) / 1e6,
              size(1) / 1e6, size(1) / size(0));
  std::vector<double> opening;
  for (int i = 0; i < 21; i++) {
    const auto t = Clock::now();
    const Executable opened{file[1]};
    opening.push_back(seconds_since(t) * 1e3);
  }
  print("opening", opening, "ms");
  const Executable padded{file[0]}, bucketed{file[1]};
  ModelRunner single(padded, one_thread()), buckets(bucketed, one_thread());
  const auto list = squad_lengths(longest, count);
  std::vector<Request> requests;
  for (const long n : list)
    requests.emplace_back(bucketed.getInputs(), bucketed.getOutputs(), n, longest);
  Request whole(padded.getInputs(), padded.getOutputs(), longest, longest);
  std::vector<double> before, after, ratio;
  for (int turn = 0; turn < kTurns; turn++) {
    auto t = Clock::now();
    for (int i = 0; i < count; i++) single.execute(whole.in, whole.out);
    before.push_back(count / seconds_since(t));
    t = Clock::now();
    for (Request& r : requests) buckets.execute(r.in, r.out);
    after.push_back(count / seconds_since(t));
    ratio.push_back(after.back() / before.back());
  }
  print("the largest shape alone", before, "requests/s");
  print("several shapes", after, "requests/s");
  print("ratio", ratio, "");
  for (const auto& f : file) fs::remove(f);
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string kind = argc > 1 ? argv[1] : "";
  if (kind == "fusion" && argc >= 4) {
    fusion(argv[2], argv[3], argc > 4 ? std::atoi(argv[4]) : 10000);
  } else if (kind == "shapes" && argc >= 5) {
    shapes(argv[2], argv[3], std::atol(argv[4]), argc > 5 ? std::atoi(argv[5]) : 100,
           argc > 6 ? std::atof(argv[6]) : 0);
  } else {
    std::fprintf(stderr,
                 "usage: variants_bench fusion A.onnx B.onnx [RUNS] | shapes MODEL.onnx "
                 "NAME=SHAPE/SHAPE LENGTH [REQUESTS] [MAX_PADDING]\n");
    return 2;
  }
  return 0;
} catch (const poprt::Error& e) {
  std::fprintf(stderr, "variants_bench: %s\n", e.what());
  return 1;
}
