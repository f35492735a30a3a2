// All engines in one process, in turn: latency, agreement, opening and compile time of one model.
//
//   compare_peers_engines ORT_LIBRARY MODEL.onnx MODEL.popef THREADS SECONDS [open] [inputs=DIR]
//                         [rtol=X] [atol=X] [sizes=any] [compile] [nudged=MODEL.onnx]
//                         [openvino=LIBRARY] [f32] [bf16=MODEL.popef]
//
// With `openvino`, OpenVINO runs the model in f32 and, unless `f32` is given, in its default
// precision, which is bf16 on a CPU that has it. With `bf16`, poprt also runs that executable.
// `rms_...` of these is the difference from poprt's f32 results.
//
// Inputs are random, or the bytes of DIR/NAME. If the size of a result depends on data, its real
// part and its shape are compared. sizes=any lets ONNX Runtime allocate all outputs, and compares
// nothing. `rms` is the root mean square of the difference as a part of that of the results,
// `rms_itself` the same between ONNX Runtime's own results with and without its optimizations, or
// of the nudged model if that is more (only if something is beyond rtol and atol). Prints one
// JSON object. Latency: rounds of A, then B, with a pause between them long enough for ONNX
// Runtime's workers to stop spinning; each round's median counts once. With `open`, also times
// opening the PopEF until ready and creating the session, with `compile` compiling, each several
// times in turn. ONNX Runtime also opens a saved optimised model whose packed weights it maps, and
// OpenVINO its cache.
#include <poprt/poprt.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>

#include "openvino.h"
#include "ort.h"

namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point t) {
  return std::chrono::duration<double, std::milli>(Clock::now() - t).count();
}

void check(poprt_error* error) {
  if (!error) return;
  std::fprintf(stderr, "poprt: %s\n", poprt_error_message(error));
  std::exit(1);
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

std::string list(const std::vector<double>& v) {
  std::string s = "[";
  for (size_t i = 0; i < v.size(); i++) s += (i ? "," : "") + std::to_string(v[i]);
  return s + "]";
}

int onnx_type(poprt_dtype d) {
  switch (d) {
    case POPRT_DTYPE_F32: return 1;
    case POPRT_DTYPE_U8: return 2;
    case POPRT_DTYPE_S8: return 3;
    case POPRT_DTYPE_S32: return 6;
    case POPRT_DTYPE_S64: return 7;
    case POPRT_DTYPE_BOOL: return 9;
    case POPRT_DTYPE_F16: return 10;
    case POPRT_DTYPE_U16: return 4;
    case POPRT_DTYPE_S16: return 5;
    case POPRT_DTYPE_F64: return 11;
    case POPRT_DTYPE_U32: return 12;
    case POPRT_DTYPE_U64: return 13;
    default: std::fprintf(stderr, "no ONNX type for %s\n", poprt_dtype_name(d)); std::exit(1);
  }
}

openvino::Element openvino_type(poprt_dtype d) {
  using enum openvino::Element;
  switch (d) {
    case POPRT_DTYPE_F32: return f32;
    case POPRT_DTYPE_F64: return f64;
    case POPRT_DTYPE_F16: return f16;
    case POPRT_DTYPE_BOOL: return boolean;
    case POPRT_DTYPE_S8: return s8;
    case POPRT_DTYPE_S16: return s16;
    case POPRT_DTYPE_S32: return s32;
    case POPRT_DTYPE_S64: return s64;
    case POPRT_DTYPE_U8: return u8;
    case POPRT_DTYPE_U16: return u16;
    case POPRT_DTYPE_U32: return u32;
    case POPRT_DTYPE_U64: return u64;
    default: std::fprintf(stderr, "no OpenVINO type for %s\n", poprt_dtype_name(d)); std::exit(1);
  }
}

struct Memory {
  explicit Memory(size_t bytes)
      : size(bytes), data(static_cast<char*>(std::aligned_alloc(64, (bytes + 127) / 64 * 64))) {
    std::memset(data, 0, bytes);
  }
  size_t size;
  char* data;
};

template <class T>
double element(const void* p, size_t i) {
  T v;
  std::memcpy(&v, static_cast<const char*>(p) + i * sizeof(T), sizeof(T));
  return static_cast<double>(v);
}

double half(const void* p, size_t i) {
  uint16_t h;
  std::memcpy(&h, static_cast<const char*>(p) + i * 2, 2);
  const int e = h >> 10 & 31, m = h & 1023;
  const double v = e == 31 ? (m ? NAN : INFINITY) : std::ldexp(e ? m + 1024 : m, (e ? e : 1) - 25);
  return h & 0x8000 ? -v : v;
}

double value(poprt_dtype d, const void* p, size_t i) {
  switch (d) {
    case POPRT_DTYPE_F32: return element<float>(p, i);
    case POPRT_DTYPE_F64: return element<double>(p, i);
    case POPRT_DTYPE_F16: return half(p, i);
    case POPRT_DTYPE_S8: return element<int8_t>(p, i);
    case POPRT_DTYPE_U16: return element<uint16_t>(p, i);
    case POPRT_DTYPE_S16: return element<int16_t>(p, i);
    case POPRT_DTYPE_S32: return element<int32_t>(p, i);
    case POPRT_DTYPE_U32: return element<uint32_t>(p, i);
    case POPRT_DTYPE_S64: return element<int64_t>(p, i);
    case POPRT_DTYPE_U64: return element<uint64_t>(p, i);
    default: return element<uint8_t>(p, i);
  }
}

constexpr std::string_view kShape = ":shape";

size_t elements(const std::vector<int64_t>& shape) {
  size_t count = 1;
  for (const int64_t n : shape) count *= static_cast<size_t>(n);
  return count;
}

// The index of element k of a tensor of shape `real` that is stored in a tensor of shape `room`.
size_t place_in(const std::vector<int64_t>& room, const std::vector<int64_t>& real, size_t k) {
  size_t at = 0, stride = 1;
  for (size_t d = room.size(); d-- > 0;) {
    const auto n = static_cast<size_t>(real[d]);
    at += k % n * stride;
    k /= n;
    stride *= static_cast<size_t>(room[d]);
  }
  return at;
}

std::string text(const std::vector<int64_t>& shape) {
  std::string s;
  for (const int64_t d : shape) s += (s.empty() ? "[" : ",") + std::to_string(d);
  return s.empty() ? "[]" : s + "]";
}

// The difference of results from a reference: elements beyond rtol and atol, and the total.
struct Difference {
  double rtol, atol;
  size_t mismatches = 0;
  double worst = 0, squares = 0, reference = 0;

  void add(double x, double y) {
    if (x == y || (x != x && y != y)) return void(reference += std::isfinite(y) ? y * y : 0);
    const double difference = std::fabs(x - y), bound = atol + rtol * std::fabs(y);
    mismatches += !(difference <= bound);
    worst = std::max(worst, std::isfinite(difference) ? difference / bound : 1e9);
    squares += std::isfinite(difference) ? difference * difference : 1e30;
    reference += std::isfinite(y) ? y * y : 0;
  }
  // Root mean square of the difference, as a part of that of the results.
  double rms() const { return reference > 0 ? std::sqrt(squares / reference) : squares > 0; }
};

void read_file(const std::string& path, Memory& to) {
  std::FILE* f = std::fopen(path.c_str(), "rb");
  if (!f || std::fread(to.data, 1, to.size, f) != to.size) {
    std::fprintf(stderr, "%s: cannot read %zu bytes\n", path.c_str(), to.size);
    std::exit(1);
  }
  std::fclose(f);
}

poprt_runner* open(const char* popef, int threads) {
  poprt_executable* executable = nullptr;
  check(poprt_executable_open(popef, &executable));
  poprt_runner_options options = {};
  options.struct_size = sizeof(options);
  options.threads = threads;
  poprt_runner* runner = nullptr;
  check(poprt_runner_create(executable, &options, &runner));
  poprt_executable_free(executable);
  return runner;
}

struct Settings {
  const char *model, *popef;
  int threads;
  double seconds;
  bool opening = false, compiling = false, any_size = false, f32 = false;
  std::string directory, nudged, openvino, bf16;
  double rtol = 1e-3, atol = 1e-4;

  explicit Settings(char** argv)
      : model(argv[2]), popef(argv[3]), threads(std::atoi(argv[4])), seconds(std::atof(argv[5])) {}

  void read(const std::string& word) {
    const std::string key = word.substr(0, word.find('=') + 1), setting = word.substr(key.size());
    if (word == "open") opening = true;
    if (word == "compile") compiling = true;
    if (word == "f32") f32 = true;
    if (key == "inputs=") directory = setting;
    if (key == "rtol=") rtol = std::stod(setting);
    if (key == "atol=") atol = std::stod(setting);
    if (key == "nudged=") nudged = setting;
    if (key == "openvino=") openvino = setting;
    if (key == "bf16=") bf16 = setting;
    if (key == "sizes=") any_size = setting == "any";
  }
};

openvino::Api::Properties openvino_properties(const Settings& s, bool f32) {
  openvino::Api::Properties p = {{"INFERENCE_NUM_THREADS", std::to_string(s.threads)},
                                 {"PERFORMANCE_HINT", "LATENCY"},
                                 {"NUM_STREAMS", "1"}};
  if (f32) p.emplace_back("INFERENCE_PRECISION_HINT", "f32");
  return p;
}

// Milliseconds, each several times in turn.
struct Opening {
  std::vector<double> poprt, ort, ort_saved, compile, compile_in_memory, openvino, openvino_cached;

  Opening(const ort::Api& api, const openvino::Api* peer, const Settings& s) {
    const std::string again = std::string(s.popef) + ".again", saved = again + ".onnx",
                      cache = again + ".cache";
    const std::string weights = saved.substr(saved.rfind('/') + 1) + ".data";
    api.save(s.model, saved.c_str(), weights.c_str(), s.threads);
    const auto timed = [&](std::vector<double>& to, const auto& call) {
      const auto t = Clock::now();
      const auto made = call();
      to.push_back(ms_since(t));
      return made;
    };
    auto cached = openvino_properties(s, true);
    cached.emplace_back("CACHE_DIR", cache);
    if (peer) peer->close(peer->open(s.model, cached));
    for (int i = 0; i < 5; i++) {
      api.release(timed(ort_saved, [&] { return api.session(saved.c_str(), s.threads, false); }));
      if (peer) {
        peer->close(
            timed(openvino, [&] { return peer->open(s.model, openvino_properties(s, true)); }));
        peer->close(timed(openvino_cached, [&] { return peer->open(s.model, cached); }));
      }
      auto t = Clock::now();
      poprt_runner_free(open(s.popef, s.threads));
      poprt.push_back(ms_since(t));
      t = Clock::now();
      api.release(api.session(s.model, s.threads));
      ort.push_back(ms_since(t));
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
      if (!s.compiling) continue;
      std::remove(again.c_str());  // removing a large file takes time
      poprt_compiler* compiler = nullptr;
      t = Clock::now();
      check(poprt_compiler_create(nullptr, &compiler));
      check(poprt_compiler_compile_to_popef(compiler, s.model, again.c_str()));
      compile.push_back(ms_since(t));
      poprt_executable* executable = nullptr;
      t = Clock::now();
      check(poprt_compiler_compile_file(compiler, s.model, &executable));
      compile_in_memory.push_back(ms_since(t));
      poprt_executable_free(executable);
      poprt_compiler_free(compiler);
    }
    std::remove(again.c_str());
    std::filesystem::remove(saved);
    std::filesystem::remove(saved + ".data");
    std::filesystem::remove_all(cache);
  }
};

// One model open in both engines, with the same inputs.
class Comparison {
 public:
  Comparison(const ort::Api& api, const Settings& settings)
      : api_(api),
        s_(settings),
        runner_(open(s_.popef, s_.threads)),
        session_(api.session(s_.model, s_.threads)) {
    make_inputs();
    make_outputs();
  }

  void run_poprt() const {
    check(poprt_runner_execute_indexed(runner_, inputs_.data(), outputs_.data()));
  }

  void run_ort() {
    for (size_t k = 0; k < made_.size(); k++) {
      if (!made_[k] || !out_values_[k]) continue;
      api_.release(out_values_[k]);
      out_values_[k] = nullptr;
    }
    api_.run(session_, in_names_, in_values_, out_names_, out_values_);
  }

  void open_openvino(const openvino::Api& api) {
    openvino_ = &api;
    for (const bool f32 : {true, false}) {
      if (!f32 && s_.f32) continue;
      openvino::Model& model = openvino_models_[f32 ? 0 : 1];
      model = api.open(s_.model, openvino_properties(s_, f32));
      for (size_t i = 0; i < inputs_.size(); i++) {
        const poprt_anchor* a = poprt_runner_input(runner_, i);
        api.set_input(model, in_names_[i], openvino_type(poprt_anchor_dtype(a)),
                      {poprt_anchor_shape(a), poprt_anchor_shape(a) + poprt_anchor_rank(a)},
                      const_cast<void*>(inputs_[i]));
      }
    }
  }
  void run_openvino(bool f32) const { openvino_->run(openvino_models_[f32 ? 0 : 1]); }
  // The difference between OpenVINO's and poprt's results. Requires a run of both.
  double rms_openvino(bool f32) const {
    Difference difference{s_.rtol, s_.atol};
    for (const Compared& c : compared_) {
      if (c.shape) continue;
      const poprt_anchor* a = poprt_runner_output(runner_, c.output);
      const poprt_dtype d = poprt_anchor_dtype(a);
      const auto [data, bytes] =
          openvino_->output(openvino_models_[f32 ? 0 : 1], poprt_anchor_name(a));
      if (bytes != sizes_[c.output]) return INFINITY;
      const size_t count = sizes_[c.output] * 8 / static_cast<size_t>(poprt_dtype_bits(d));
      for (size_t k = 0; k < count; k++)
        difference.add(value(d, data, k), value(d, outputs_[c.output], k));
    }
    return difference.rms();
  }

  // Opens another executable of the model, whose results have separate memory.
  void open_bf16() {
    bf16_ = open(s_.bf16.c_str(), s_.threads);
    for (const size_t size : sizes_) bf16_memory_.emplace_back(size);
    for (const Memory& m : bf16_memory_) bf16_outputs_.push_back(m.data);
  }
  void run_bf16() const {
    check(poprt_runner_execute_indexed(bf16_, inputs_.data(), bf16_outputs_.data()));
  }
  double rms_bf16() const {
    Difference difference{s_.rtol, s_.atol};
    for (const Compared& c : compared_) {
      const poprt_dtype d = poprt_anchor_dtype(poprt_runner_output(runner_, c.output));
      const size_t count = sizes_[c.output] * 8 / static_cast<size_t>(poprt_dtype_bits(d));
      for (size_t k = 0; k < count; k++)
        difference.add(value(d, bf16_outputs_[c.output], k), value(d, outputs_[c.output], k));
    }
    return difference.rms();
  }

  // Compares the results. Requires a run of both engines.
  Difference agreement() const {
    Difference difference{s_.rtol, s_.atol};
    for (size_t i = 0; i < compared_.size() && !s_.any_size; i++) compare(i, difference);
    return difference;
  }

  // If rounding decides, as in quantized models, ONNX Runtime differs from itself, too. The limit
  // is its difference for the same model without optimizations, or for the nudged model.
  double rms_itself() {
    const double plain = difference_to(s_.model, false).rms();
    if (s_.nudged.empty()) return plain;
    return std::max(plain, difference_to(s_.nudged.c_str(), true).rms());
  }

  // Whether a run with one thread gives the same bits.
  bool bit_equal() const {
    if (s_.threads == 1) return true;
    poprt_runner* single = open(s_.popef, 1);
    std::vector<Memory> memory;
    std::vector<void*> outputs;
    for (const size_t size : sizes_) {
      memory.emplace_back(size);
      outputs.push_back(memory.back().data);
    }
    check(poprt_runner_execute_indexed(single, inputs_.data(), outputs.data()));
    bool equal = true;
    for (size_t i = 0; i < sizes_.size(); i++)
      equal &= std::memcmp(outputs[i], outputs_[i], sizes_[i]) == 0;
    poprt_runner_free(single);
    return equal;
  }

 private:
  struct Compared {
    size_t output;
    std::optional<size_t> shape;
  };

  void make_inputs() {
    std::mt19937 rng(1);
    std::normal_distribution<float> normal;
    for (size_t i = 0; i < poprt_runner_input_count(runner_); i++) {
      const poprt_anchor* a = poprt_runner_input(runner_, i);
      Memory m(poprt_anchor_bytes(a));
      if (!s_.directory.empty())
        read_file(s_.directory + "/" + poprt_anchor_name(a), m);
      else if (poprt_anchor_dtype(a) == POPRT_DTYPE_F32)
        for (size_t k = 0; k < m.size / 4; k++) reinterpret_cast<float*>(m.data)[k] = normal(rng);
      else if (poprt_anchor_dtype(a) == POPRT_DTYPE_S64) {
        // Masks and token types are 0 or 1, and ids are below the size of a vocabulary.
        const int64_t limit = std::strcmp(poprt_anchor_name(a), "input_ids") == 0 ? 20000 : 2;
        for (size_t k = 0; k < m.size / 8; k++)
          reinterpret_cast<int64_t*>(m.data)[k] = static_cast<int64_t>(rng()) % limit;
      }
      in_names_.push_back(poprt_anchor_name(a));
      inputs_.push_back(m.data);
      in_values_.push_back(tensor_of(a, m));
    }
  }

  // A result whose size depends on data has room for the largest size here, and the output
  // "NAME:shape" has its real size; ONNX Runtime allocates such a tensor itself.
  std::map<std::string_view, size_t> shapes() const {
    std::map<std::string_view, size_t> found;  // name of a result -> output with its shape
    for (size_t i = 0; i < poprt_runner_output_count(runner_); i++) {
      const std::string_view name = poprt_anchor_name(poprt_runner_output(runner_, i));
      const auto of = name.substr(0, name.size() - std::min(name.size(), kShape.size()));
      for (size_t k = 0; k < i && name.ends_with(kShape); k++)
        if (poprt_anchor_name(poprt_runner_output(runner_, k)) == of) found[of] = i;
    }
    return found;
  }

  void make_outputs() {
    const auto shapes = this->shapes();
    for (size_t i = 0; i < poprt_runner_output_count(runner_); i++) {
      const poprt_anchor* a = poprt_runner_output(runner_, i);
      Memory m(poprt_anchor_bytes(a));
      outputs_.push_back(m.data);
      sizes_.push_back(m.size);
      theirs_.emplace_back(m.size);
      if (std::any_of(shapes.begin(), shapes.end(), [&](const auto& s) { return s.second == i; }))
        continue;
      const auto shape = shapes.find(poprt_anchor_name(a));
      made_.push_back(s_.any_size || shape != shapes.end());
      compared_.push_back({i, {}});
      if (shape != shapes.end()) compared_.back().shape = shape->second;
      out_names_.push_back(poprt_anchor_name(a));
      out_values_.push_back(made_.back() ? nullptr : tensor_of(a, theirs_.back()));
    }
  }

  ort::Value* tensor_of(const poprt_anchor* a, const Memory& m) const {
    return api_.tensor(m.data, m.size, poprt_anchor_shape(a), poprt_anchor_rank(a),
                       onnx_type(poprt_anchor_dtype(a)));
  }

  void compare(size_t i, Difference& difference) const {
    const size_t output = compared_[i].output;
    const poprt_anchor* a = poprt_runner_output(runner_, output);
    const poprt_dtype d = poprt_anchor_dtype(a);
    const std::vector<int64_t> room(poprt_anchor_shape(a),
                                    poprt_anchor_shape(a) + poprt_anchor_rank(a));
    std::vector<int64_t> real = room;
    const void* expected = theirs_[output].data;
    if (compared_[i].shape) {
      const auto* shape = static_cast<const int64_t*>(outputs_[*compared_[i].shape]);
      real.assign(shape, shape + room.size());
      expected = api_.data(out_values_[i]);
      const std::vector<int64_t> there = api_.shape(out_values_[i]);
      if (there != real) {
        std::fprintf(stderr, "'%s': %s here, %s there\n", out_names_[i], text(real).c_str(),
                     text(there).c_str());
        return difference.add(INFINITY, 0);
      }
    }
    const size_t count = elements(real);
    for (size_t k = 0; k < count; k++)
      difference.add(value(d, outputs_[output], place_in(room, real, k)), value(d, expected, k));
  }

  Difference difference_to(const char* path, bool optimize) {
    ort::Session* other = api_.session(path, s_.threads, optimize);
    std::vector<ort::Value*> again(out_values_.size(), nullptr);
    api_.run(other, in_names_, in_values_, out_names_, again);
    Difference difference{s_.rtol, s_.atol};
    for (size_t i = 0; i < compared_.size(); i++) {
      const poprt_dtype d = poprt_anchor_dtype(poprt_runner_output(runner_, compared_[i].output));
      const std::vector<int64_t> shape = api_.shape(out_values_[i]);
      const size_t count = api_.shape(again[i]) == shape ? elements(shape) : 0;
      for (size_t k = 0; k < count; k++)
        difference.add(value(d, api_.data(again[i]), k), value(d, api_.data(out_values_[i]), k));
      api_.release(again[i]);
    }
    api_.release(other);
    return difference;
  }

  const ort::Api& api_;
  const Settings& s_;
  poprt_runner* runner_;
  ort::Session* session_;
  std::vector<const char*> in_names_, out_names_;
  std::vector<ort::Value*> in_values_, out_values_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  std::vector<Memory> theirs_;
  std::vector<size_t> sizes_;  // of outputs, in bytes
  std::vector<Compared> compared_;
  std::vector<bool> made_;  // by ONNX Runtime, in each run
  const openvino::Api* openvino_ = nullptr;
  openvino::Model openvino_models_[2];  // f32, default
  poprt_runner* bf16_ = nullptr;
  std::vector<Memory> bf16_memory_;
  std::vector<void*> bf16_outputs_;
};

// The times of one engine in the rounds.
struct Times {
  std::string name;
  std::function<void()> run;
  std::vector<double> ms = {};
};

// Returns the median time of the runs that fit into the budget, at least three.
double round_of(const auto& run, double budget_ms) {
  std::vector<double> ms;
  run();
  const auto begin = Clock::now();
  while (ms.size() < 3 || ms_since(begin) < budget_ms) {
    // Very short models are timed in bundles, so that reading the clock does not count.
    const auto t = Clock::now();
    run();
    double took = ms_since(t);
    if (took < 0.05) {
      const auto t2 = Clock::now();
      for (int i = 0; i < 100; i++) run();
      took = ms_since(t2) / 100;
    }
    ms.push_back(took);
  }
  return median(ms);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fprintf(
        stderr,
        "usage: compare_peers_engines ORT_LIBRARY MODEL.onnx MODEL.popef THREADS SECONDS [open]\n");
    return 2;
  }
  Settings settings(argv);
  for (int i = 6; i < argc; i++) settings.read(argv[i]);
  const ort::Api api(argv[1]);
  std::optional<Opening> opening;
  std::optional<openvino::Api> peer;
  if (!settings.openvino.empty()) peer.emplace(settings.openvino.c_str());
  if (settings.opening) opening.emplace(api, peer ? &*peer : nullptr, settings);

  Comparison comparison(api, settings);
  comparison.run_poprt();
  comparison.run_ort();
  const Difference difference = comparison.agreement();
  const double rms_itself = difference.mismatches > 0 ? comparison.rms_itself() : 0;
  const bool bit_equal = comparison.bit_equal();

  constexpr int kRounds = 5;
  std::vector<Times> engines = {{"poprt", [&] { comparison.run_poprt(); }},
                                {"ort", [&] { comparison.run_ort(); }}};
  std::string differences;
  const auto add_difference = [&](const char* name, double rms) {
    char word[64];
    std::snprintf(word, sizeof word, ",\"rms_%s\":%.3g", name, std::isfinite(rms) ? rms : -1);
    differences += word;
  };
  if (peer) {
    comparison.open_openvino(*peer);
    for (const bool f32 : {true, false}) {
      if (!f32 && settings.f32) continue;
      const char* name = f32 ? "openvino" : "openvino_default";
      engines.push_back({name, [&, f32] { comparison.run_openvino(f32); }});
      engines.back().run();
      add_difference(name, comparison.rms_openvino(f32));
    }
  }
  if (!settings.bf16.empty()) {
    comparison.open_bf16();
    engines.push_back({"poprt_bf16", [&] { comparison.run_bf16(); }});
    engines.back().run();
    add_difference("poprt_bf16", comparison.rms_bf16());
  }
  const double budget_ms = settings.seconds * 1e3 / kRounds / static_cast<double>(engines.size());
  for (int r = 0; r < kRounds; r++)
    for (Times& engine : engines) {
      engine.ms.push_back(round_of(engine.run, budget_ms));
      // Workers of the peers spin after a run.
      std::this_thread::sleep_for(std::chrono::milliseconds(settings.threads > 1 ? 80 : 0));
    }
  std::printf("{\"ort_version\":\"%s\",\"openvino_version\":\"%s\"", api.version(),
              peer ? peer->version().c_str() : "");
  for (const Times& engine : engines)
    std::printf(",\"%s_ms\":%s", engine.name.c_str(), list(engine.ms).c_str());
  std::printf(
      ",\"mismatches\":%zu,\"worst\":%.4f,\"rms\":%.3g,\"rms_itself\":%.3g,\"bit_equal\":%s%s",
      difference.mismatches, difference.worst, difference.rms(), rms_itself,
      bit_equal ? "true" : "false", differences.c_str());
  if (opening)
    std::printf(
        ",\"open_poprt_ms\":%s,\"open_ort_ms\":%s,\"open_ort_saved_ms\":%s,"
        "\"open_openvino_ms\":%s,\"open_openvino_cached_ms\":%s,\"compile_poprt_ms\":%s,"
        "\"compile_in_memory_poprt_ms\":%s",
        list(opening->poprt).c_str(), list(opening->ort).c_str(), list(opening->ort_saved).c_str(),
        list(opening->openvino).c_str(), list(opening->openvino_cached).c_str(),
        list(opening->compile).c_str(), list(opening->compile_in_memory).c_str());
  std::printf("}\n");
  std::fflush(stdout);
  std::_Exit(0);
}
