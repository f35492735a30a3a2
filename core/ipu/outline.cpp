#include "ipu/outline.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ipu/calibration.h"
#include "ipu/vertices.h"

namespace poprt::ipu {
namespace {

constexpr double kExpensive = 1000, kCheap = 0.1;

// Operations [begin, begin + length).
struct Sequence {
  size_t begin = 0, length = 0;
  size_t end() const { return begin + length; }
  bool operator==(const Sequence&) const = default;
};

class Outliner {
 public:
  Outliner(ChipProgram& program, const Target& target, const ChipOptions& options)
      : program_(program), target_(target), options_(options) {
    for (size_t i = 0; i < program.ops.size(); i++) {
      const size_t same = program.ops[i].same_as;
      class_.push_back(same == SIZE_MAX ? i : same);
      for (const size_t o : program.ops[i].outputs) writer_[o] = i;
    }
    find_readers();
  }

  void run();

 private:
  // The tensors that cross the boundary of a sequence. `inputs` maps each tensor that the sequence
  // reads but does not compute to its last operation that reads it; `results` are the tensors that
  // it computes and that later operations or the host read.
  struct Boundary {
    std::map<size_t, size_t> inputs;
    std::set<size_t> results;
  };

  void find_readers();
  size_t owner(size_t tensor) const {
    const int64_t alias = program_.tensors[tensor].alias_of;
    return alias >= 0 ? static_cast<size_t>(alias) : tensor;
  }
  size_t equal_length(size_t earlier, size_t begin) const;
  Sequence earlier_of(size_t begin) const;
  Boundary boundary_of(const Sequence& s) const;
  double value_of(const Sequence& s, const Boundary& b) const;
  bool is_outlined(const Sequence& s) const {
    return value_of(s, boundary_of(s)) > options_.outline_threshold;
  }
  void mark(const Sequence& s, size_t earlier);
  Superstep copy_step(std::string_view what, int64_t bytes) const;
  ChipOp call_of(const Sequence& s);
  void redirect(const Sequence& s, size_t t, size_t from, size_t argument);
  void insert_calls(std::vector<Sequence> calls);

  ChipProgram& program_;
  const Target& target_;
  const ChipOptions& options_;
  std::vector<size_t> class_;  // the first equal operation
  std::unordered_map<size_t, size_t> writer_, last_reader_;
  std::unordered_map<size_t, std::vector<size_t>> earlier_;  // by class
};

void Outliner::find_readers() {
  for (size_t i = 0; i < program_.ops.size(); i++)
    for (const size_t t : program_.ops[i].inputs) last_reader_[t] = i;
  for (size_t t = 0; t < program_.tensors.size(); t++)
    if (program_.tensors[t].kind == TensorKind::output) last_reader_[t] = program_.ops.size();
}

// The number of operations from `begin` that are equal to those from `earlier`.
size_t Outliner::equal_length(size_t earlier, size_t begin) const {
  const int64_t ipu = program_.ops[begin].ipu;
  size_t n = 0;
  while (begin + n < class_.size() && earlier + n < begin &&
         class_[earlier + n] == class_[begin + n] && program_.ops[begin + n].ipu == ipu &&
         program_.ops[earlier + n].ipu == ipu)
    n++;
  return n;
}

// The earlier sequence that equals the operations from `begin`: the nearest one that ends where
// they begin, as layers do, or else the longest one.
Sequence Outliner::earlier_of(size_t begin) const {
  constexpr size_t kMost = 64;  // earlier operations that are compared
  const auto at = earlier_.find(class_[begin]);
  if (at == earlier_.end()) return {};
  Sequence best;
  const auto& places = at->second;
  for (size_t k = 0; k < std::min(places.size(), kMost); k++) {
    const size_t place = places[places.size() - 1 - k];
    const size_t length = equal_length(place, begin);
    if (place + length == begin && length > 1) return {place, length};
    if (length > best.length) best = {place, length};
  }
  return best;
}

Outliner::Boundary Outliner::boundary_of(const Sequence& s) const {
  Boundary b;
  for (size_t i = s.begin; i < s.end(); i++) {
    for (const size_t t : program_.ops[i].inputs) {
      const auto at = writer_.find(t);
      if (at == writer_.end() || at->second < s.begin) b.inputs[t] = i;
    }
    for (const size_t t : program_.ops[i].outputs) {
      const auto at = last_reader_.find(t);
      if (at != last_reader_.end() && at->second >= s.end()) b.results.insert(t);
    }
  }
  return b;
}

double Outliner::value_of(const Sequence& s, const Boundary& b) const {
  const auto root = [&](size_t t) {
    return std::sqrt(static_cast<double>(program_.tensors[t].bytes));
  };
  double value = 0;
  for (size_t i = s.begin; i < s.end(); i++) {
    const ChipOp& op = program_.ops[i];
    double bytes = 0;
    for (const size_t t : op.inputs) bytes += static_cast<double>(program_.tensors[t].bytes);
    const bool expensive = op.cost.plan || op.cost.steps.size() > 2;
    value += (expensive ? kExpensive : kCheap) * std::sqrt(bytes);
  }
  for (const auto& [t, last] : b.inputs) value -= root(t);
  for (const size_t t : b.results) value -= root(t);
  return value;
}

// The operation that copies the arguments of a call, whose operations then read the copies. The
// last operation copies the results.
ChipOp Outliner::call_of(const Sequence& s) {
  const Boundary b = boundary_of(s);
  ChipOp call;
  call.name = program_.ops[s.begin].name + ":call";
  call.type = "Call";
  call.ipu = program_.ops[s.begin].ipu;
  call.repeats = program_.ops[s.begin].repeats;
  int64_t inputs = 0, results = 0;
  for (const auto& [t, last] : b.inputs) {
    const size_t from = owner(t);
    ChipTensor argument = program_.tensors[from];
    if (argument.bytes == 0) continue;
    argument.name += ":argument";
    argument.kind = TensorKind::activation;
    inputs += argument.share;
    call.inputs.push_back(t);
    call.outputs.push_back(program_.tensors.size());
    redirect(s, t, from, program_.tensors.size());
    program_.tensors.push_back(std::move(argument));
  }
  for (const size_t t : b.results) results += program_.tensors[t].share;
  if (inputs) call.cost.steps.push_back(copy_step("copy of arguments", inputs));
  if (results)
    program_.ops[s.end() - 1].cost.steps.push_back(copy_step("copy of results", results));
  return call;
}

Superstep Outliner::copy_step(std::string_view what, int64_t bytes) const {
  const Calibration& c = calibration();
  Superstep step;
  step.what = what;
  step.sync = static_cast<int64_t>(c.sync);
  step.overhead = static_cast<int64_t>(c.step_overhead);
  step.compute = copy_cycles(target_, bytes, target_.memcpy_bytes);
  step.tiles = target_.tiles - options_.num_io_tiles;
  return step;
}

// The operations of a call read `argument` instead of tensor t, and their views are views of it.
void Outliner::redirect(const Sequence& s, size_t t, size_t from, size_t argument) {
  for (size_t i = s.begin; i < s.end(); i++) {
    std::ranges::replace(program_.ops[i].inputs, t, argument);
    for (const size_t o : program_.ops[i].outputs)
      if (program_.tensors[o].alias_of == static_cast<int64_t>(from))
        program_.tensors[o].alias_of = static_cast<int64_t>(argument);
  }
}

// Inserts the calls before their first operations; a call that contains another one is first.
void Outliner::insert_calls(std::vector<Sequence> calls) {
  std::ranges::sort(calls, [](const Sequence& a, const Sequence& b) {
    return std::tuple(b.length, a.begin) < std::tuple(a.length, b.begin);
  });
  const auto again = std::ranges::unique(calls);
  calls.erase(again.begin(), again.end());
  std::multimap<size_t, ChipOp> before;
  for (const Sequence& s : calls) before.emplace(s.begin, call_of(s));
  std::vector<ChipOp> ops;
  std::vector<size_t> place;
  for (size_t i = 0; i < program_.ops.size(); i++) {
    const auto [first, last] = before.equal_range(i);
    for (auto at = first; at != last; ++at) ops.push_back(std::move(at->second));
    place.push_back(ops.size());
    ops.push_back(std::move(program_.ops[i]));
  }
  for (ChipOp& op : ops)
    if (op.same_as != SIZE_MAX) op.same_as = place[op.same_as];
  program_.ops = std::move(ops);
}

void Outliner::mark(const Sequence& s, size_t earlier) {
  for (size_t i = 0; i < s.length; i++) program_.ops[s.begin + i].same_as = earlier + i;
}

void Outliner::run() {
  std::vector<Sequence> calls;
  for (ChipOp& op : program_.ops) op.same_as = SIZE_MAX;
  for (size_t i = 0; i < program_.ops.size();) {
    const Sequence earlier = earlier_of(i);
    Sequence s{i, earlier.length};
    if (s.length > 0 && is_outlined(s)) {
      mark(s, earlier.begin);
      calls.push_back({earlier.begin, s.length});
      calls.push_back(s);
    } else {
      s.length = 1;
    }
    for (size_t k = s.begin; k < s.end(); k++) earlier_[class_[k]].push_back(k);
    i = s.end();
  }
  insert_calls(std::move(calls));
}

}  // namespace

void outline(ChipProgram& program, const Target& target, const ChipOptions& options) {
  if (options.outline_threshold < 0) {
    for (ChipOp& op : program.ops) op.same_as = SIZE_MAX;
    return;
  }
  Outliner(program, target, options).run();
}

}  // namespace poprt::ipu
