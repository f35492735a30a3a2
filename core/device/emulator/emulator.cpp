#include "device/emulator/emulator.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "base/checked.h"
#include "base/denormals.h"
#include "base/thread_pool.h"
#include "device/emulator/control.h"
#include "device/emulator/memory.h"
#include "device/emulator/parallel_work.h"
#include "device/emulator/section.h"
#include "device/emulator/sharded.h"
#include "device/environment.h"
#include "device/thread_count.h"
#include "kernels/calls/custom.h"
#include "kernels/common/instruction_set.h"
#include "kernels/kernel.h"
#include "program/shards.h"

namespace poprt::device {
namespace {

using program::Buffer;
using program::Instruction;
using program::Program;
using program::Space;

// The nanoseconds of work between two checks whether the run was interrupted.
constexpr double kPieceWork = 5e6;

// The function of an instruction without tasks, because kernels do not check for that.
void run_nothing(const void*, void* const*, int64_t, int64_t, std::byte*) noexcept {}

struct StepClock {
  int64_t runs = 0, total_ns = 0, min_ns = std::numeric_limits<int64_t>::max();
};

int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Weights are mapped read-only and inputs belong to the caller, so a program from a file must not
// use them as operands that a kernel writes.
void check_written(const Program& p, const Instruction& in, size_t outputs) {
  for (size_t i = in.operands.size() - outputs; i < in.operands.size(); i++) {
    const uint32_t id = in.operands[i];
    if (id == program::kNoBuffer) continue;
    const Space space = p.buffers[id].space;
    if (space == Space::weights || space == Space::input)
      fail(ErrorCode::data_loss, "kernel '{}' would write its operand {}, which is {}",
           p.kernels[in.kernel], i, space == Space::weights ? "a constant" : "an input");
  }
}

class Emulator final : public Engine {
 public:
  Emulator(const Image& image, const LoadOptions& options);

  void run(Flow flow, const void* const* inputs, void* const* outputs) noexcept override;
  std::optional<Error> take_failure() override;
  std::vector<InstructionProfile> profile() const override;
  int threads() const noexcept override { return pool_ ? pool_->threads() : 1; }

 private:
  bool prepare(const std::vector<Instruction>& list, std::string_view flow,
               const LoadOptions& options, Section& section);
  static std::unique_ptr<Region> make_region(const Instruction& in, program::Control control,
                                             std::span<Region* const> others, uint32_t other,
                                             void* const* data);
  void* place(const Buffer& buffer) const;
  template <bool kProfile>
  void run_section(const Section& section) noexcept;
  void run_in_pieces(const PreparedCall& step) noexcept;
  void poison() noexcept;

  Image image_;
  Memory arena_, scratch_;
  uint64_t scratch_bytes_ = 0;  // per thread
  std::array<Section, 3> sections_;
  std::vector<const kernels::Kernel*> kernels_;
  std::vector<std::shared_ptr<const void>> params_;
  // An instruction that may fail. The name of `named` is put in front of the message of an error;
  // `named` is null if the message already contains it.
  struct Fallible {
    decltype(kernels::Plan::take_failure) take;
    const void* params;
    const Instruction* named;
  };
  std::vector<Fallible> fallible_;
  const Region* exceeded_ = nullptr;  // the loop that ended the last run
  std::unique_ptr<ThreadPool> pool_;
  bool profiling_ = false;
  bool poisons_ = false;           // POPRT_POISON_MEMORY
  std::vector<StepClock> clocks_;  // of the main flow
};

void* Emulator::place(const Buffer& buffer) const {
  switch (buffer.space) {
    case Space::arena: return arena_.data() + buffer.offset;
    // Kernels only read weights; the array of operands has one type for all.
    case Space::weights: return const_cast<std::byte*>(image_.weights.data()) + buffer.offset;
    case Space::input:
    case Space::output: break;
  }
  return nullptr;  // each run sets it
}

Emulator::Emulator(const Image& image, const LoadOptions& options) : image_(image) {
  const Program& p = *image_.program;
  program::verify(p);
  if (image_.weights.size() < p.weights_bytes)
    fail(ErrorCode::data_loss, "the program needs {} bytes of weights, {} are there",
         p.weights_bytes, image_.weights.size());
  const int threads = threads_for(options.threads);

  kernels_.reserve(p.kernels.size());
  for (const std::string& name : p.kernels) {
    kernels_.push_back(kernels::find_kernel(name));
    if (!kernels_.back() && !program::control_of(name))
      fail(ErrorCode::failed_precondition, "needs kernel '{}', made by a newer poprt?", name);
  }
  arena_ = Memory(p.arena_bytes, "device arena");
  LoadOptions used_options = options;
  used_options.threads = threads;
  bool parallel = prepare(p.load, "load", used_options, sections_[0]);
  parallel |= prepare(p.main, "main", used_options, sections_[1]);
  parallel |= prepare(p.save, "save", used_options, sections_[2]);
  const int used = parallel ? threads : 1;
  scratch_ = Memory(checked_mul<uint64_t>(scratch_bytes_, used), "kernel scratch");
  if (parallel)
    pool_ =
        options.threads == 0 ? ThreadPool::shared(threads) : std::make_unique<ThreadPool>(threads);
  profiling_ = options.profile;
  if (profiling_) clocks_.resize(p.main.size());
  poisons_ = environment_int("POPRT_POISON_MEMORY", 0, 1) == 1;
}

// `others` has the previous regions by position; `other` is the position of the other end.
std::unique_ptr<Region> Emulator::make_region(const Instruction& in, program::Control control,
                                              std::span<Region* const> others, uint32_t other,
                                              void* const* data) {
  auto region = std::make_unique<Region>();
  region->kind = control;
  region->other = other;
  region->data = data;
  switch (control) {
    case program::Control::if_region: region->when = decode_if(in).when; break;
    case program::Control::case_region:
      region->number = static_cast<uint32_t>(decode_case(in).number);
      break;
    case program::Control::loop: {
      const program::ControlLoop loop = decode_loop(in);
      region->most = loop.most;
      region->limit = loop.limit;
      region->name = in.name;
      break;
    }
    case program::Control::shard:
    case program::Control::transfer: break;
    case program::Control::end: region->begin = others[other]; break;
  }
  return region;
}

// Returns true if other threads are worthwhile.
bool Emulator::prepare(const std::vector<Instruction>& list, std::string_view flow,
                       const LoadOptions& options, Section& section) {
  const int threads = options.threads;
  const Program& p = *image_.program;
  size_t slot_count = 0;
  for (const Instruction& in : list) slot_count += in.operands.size();
  section.slots.resize(slot_count);
  section.steps.reserve(list.size());
  const std::vector<uint32_t> other = program::match_regions(p, list, flow);
  std::vector<Region*> region_of(list.size());
  params_.reserve(params_.size() + list.size());

  struct Use {
    Space space;
    uint32_t anchor, slot;
    uint64_t offset;
  };
  std::vector<Use> uses;
  std::vector<kernels::Operand> operands;
  uint32_t slot = 0;
  ParallelWork parallel_work(section);
  for (size_t i = 0; i < list.size(); i++) {
    const Instruction& in = list[i];
    operands.clear();
    void* const* data = section.slots.data() + slot;
    for (const uint32_t id : in.operands) {
      if (id == program::kNoBuffer) {
        operands.emplace_back();
      } else {
        const Buffer& b = p.buffers[id];
        operands.push_back({true, b.dtype, b.shape, b.bytes});
        section.slots[slot] = place(b);
        if (b.space == Space::input || b.space == Space::output)
          uses.push_back({b.space, b.index, slot, b.offset});
      }
      slot++;
    }
    if (const auto control = program::control_of(p.kernels[in.kernel])) {
      auto region = make_region(in, *control, region_of, other[i], data);
      region_of[i] = region.get();
      section.steps.push_back({nullptr, region.get(), data, 0, 1, false});
      parallel_work.control(*region);
      section.regions.push_back(std::move(region));
      continue;
    }
    try {
      kernels::Plan plan = kernels_[in.kernel]->prepare(
          {operands, in.ints, in.floats, threads, options.reproducible});
      POPRT_ASSERT(plan.run && plan.tasks >= 0 && plan.rounds >= 1 &&
                   plan.outputs <= in.operands.size());
      check_written(p, in, plan.outputs);
      if (plan.tasks == 0) {
        plan.run = run_nothing;
        plan.scratch_bytes = 0;
      }
      const bool parallel = threads > 1 && is_worth_threads(plan);
      if (parallel) parallel_work.add(plan.work);
      int64_t piece = 0;
      if (plan.work > kPieceWork) {
        const double tasks = static_cast<double>(plan.tasks) * static_cast<double>(plan.rounds);
        piece = std::max<int64_t>(1, static_cast<int64_t>(tasks * (kPieceWork / plan.work)));
      }
      section.steps.push_back(
          {plan.run, plan.params.get(), data, plan.tasks, plan.rounds, parallel, piece});
      if (plan.take_failure)
        fallible_.push_back(
            {plan.take_failure, plan.params.get(),
             p.kernels[in.kernel] == kernels::calls::Custom::kKernel ? nullptr : &in});
      params_.push_back(std::move(plan.params));
      scratch_bytes_ = std::max(scratch_bytes_, align_up(plan.scratch_bytes, 64));
    } catch (Error& e) {
      e.add_context(fmt::format("{} instruction {} '{}'", flow, i, in.name));
      throw;
    }
  }
  const bool any_parallel = parallel_work.finish();

  // Sorted by anchor, so that a run reads the caller's pointers and the patches sequentially.
  std::sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) {
    return std::tuple(a.space, a.anchor, a.slot) < std::tuple(b.space, b.anchor, b.slot);
  });
  for (const Use& use : uses) {
    auto& anchors = use.space == Space::input ? section.inputs : section.outputs;
    const auto at = static_cast<uint32_t>(section.patches.size());
    if (anchors.empty() || anchors.back().anchor != use.anchor)
      anchors.push_back({use.anchor, at, at});
    section.patches.push_back({use.slot, use.offset});
    anchors.back().end = at + 1;
  }
  return any_parallel;
}

// Runs an instruction that is so long that interrupt() must take effect before its end.
void Emulator::run_in_pieces(const PreparedCall& step) noexcept {
  struct Context {
    const Emulator* self;
    const PreparedCall* step;
    int64_t first;
  };
  Context context{this, &step, 0};
  const auto run = [](void* c, int64_t begin, int64_t end, int worker) noexcept {
    const auto& [self, s, first] = *static_cast<const Context*>(c);
    std::byte* const scratch =
        self->scratch_.data() + self->scratch_bytes_ * static_cast<uint64_t>(worker);
    for (int64_t t = begin; t < end && !self->interrupted();) {
      const int64_t to = end - t > s->piece ? t + s->piece : end;
      s->run(s->params, s->data, first + t, first + to, scratch);
      t = to;
    }
  };
  if (!step.parallel) return run(&context, 0, step.tasks * step.rounds, 0);
  for (int64_t round = 0; round < step.rounds && !interrupted(); round++) {
    context.first = round * step.tasks;
    pool_->parallel_for(step.tasks, run, &context);
  }
}

template <bool kProfile>
void Emulator::run_section(const Section& section) noexcept {
  struct Context {
    const PreparedCall* step;
    int64_t first;  // the first task of the round
    std::byte* scratch;
    uint64_t stride;
  };
  Context context{nullptr, 0, scratch_.data(), scratch_bytes_};
  bool awake = section.parallel;
  if (awake) pool_->begin_run();
  for (size_t index = 0; index < section.steps.size(); index++) {
    const PreparedCall& step = section.steps[index];
    if (interrupted()) [[unlikely]]
      break;
    if (!step.run) {
      auto& region = *static_cast<Region*>(const_cast<void*>(step.params));
      const size_t next = steer(region, index);
      if (next == kFailed) [[unlikely]] {
        exceeded_ = region.kind == program::Control::end ? region.begin : &region;
        break;
      }
      if (region.parallel && next == index && !awake) {
        awake = true;
        pool_->begin_run();
      }
      index = next;
      continue;
    }
    [[maybe_unused]] int64_t start = 0;
    if constexpr (kProfile) start = now_ns();
    if (step.piece) [[unlikely]] {
      run_in_pieces(step);
    } else if (!step.parallel) {
      step.run(step.params, step.data, 0, step.tasks * step.rounds, context.scratch);
    } else {
      context.step = &step;
      for (int64_t round = 0; round < step.rounds; round++) {
        context.first = round * step.tasks;
        pool_->parallel_for(
            step.tasks,
            [](void* c, int64_t begin, int64_t end, int worker) noexcept {
              const auto& [s, first, scratch, stride] = *static_cast<const Context*>(c);
              s->run(s->params, s->data, first + begin, first + end,
                     scratch + stride * static_cast<uint64_t>(worker));
            },
            &context);
      }
    }
    if constexpr (kProfile) {
      StepClock& clock = clocks_[index];
      const int64_t took = now_ns() - start;
      clock.runs++;
      clock.total_ns += took;
      clock.min_ns = std::min(clock.min_ns, took);
    }
  }
  if (awake) pool_->end_run();
}

// Fills the memory that a run must write before it reads it with bytes 0xFF, which are NaN in f64,
// f32, f16 and bf16, and -1 in signed integers.
void Emulator::poison() noexcept {
  const uint64_t state = image_.program->state_bytes;
  std::memset(arena_.data() + state, 0xFF, arena_.bytes() - state);
  if (scratch_.bytes()) std::memset(scratch_.data(), 0xFF, scratch_.bytes());
}

void Emulator::run(Flow flow, const void* const* inputs, void* const* outputs) noexcept {
  if (poisons_ && flow == Flow::main) [[unlikely]]
    poison();
  Section& section = sections_[static_cast<size_t>(flow)];
  const Patch* patches = section.patches.data();
  void** slots = section.slots.data();
  for (const auto& [anchor, begin, end] : section.inputs) {
    auto* base = static_cast<std::byte*>(const_cast<void*>(inputs[anchor]));
    if (!base) continue;  // an anchor of a variant that this run does not take
    for (uint32_t i = begin; i < end; i++) slots[patches[i].slot] = base + patches[i].offset;
  }
  for (const auto& [anchor, begin, end] : section.outputs) {
    auto* base = static_cast<std::byte*>(outputs[anchor]);
    if (!base) continue;
    for (uint32_t i = begin; i < end; i++) slots[patches[i].slot] = base + patches[i].offset;
  }
  const FlushDenormals flush;
  if (profiling_ && flow == Flow::main)
    run_section<true>(section);
  else
    run_section<false>(section);
}

std::optional<Error> Emulator::take_failure() {
  std::optional<Error> first;
  if (exceeded_) first = limit_error(*std::exchange(exceeded_, nullptr));
  for (const Fallible& step : fallible_) {
    std::optional<Error> failure = step.take(step.params);
    if (!failure || first) continue;
    if (step.named) failure->add_context(fmt::format("node '{}'", step.named->name));
    first = std::move(failure);
  }
  return first;
}

std::vector<InstructionProfile> Emulator::profile() const {
  std::vector<InstructionProfile> rows;
  for (size_t i = 0; i < clocks_.size(); i++) {
    const Instruction& in = image_.program->main[i];
    const StepClock& c = clocks_[i];
    rows.push_back({in.name, image_.program->kernels[in.kernel], sections_[1].steps[i].parallel,
                    c.runs, c.total_ns, c.runs ? c.min_ns : 0});
  }
  return rows;
}

}  // namespace

std::unique_ptr<Engine> EmulatedDevice::load(const Image& image, const LoadOptions& options) {
  kernels::warn_of_unknown_isa();
  const auto load_one = [](const Image& i, const LoadOptions& o) -> std::unique_ptr<Engine> {
    return std::make_unique<Emulator>(i, o);
  };
  if (program::has_shards(*image.program)) return load_shards(image, options, load_one);
  return load_one(image, options);
}

}  // namespace poprt::device
