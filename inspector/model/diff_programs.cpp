#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "model/diff.h"
#include "model/diff_rows.h"
#include "model/format.h"
#include "model/pass_history.h"

namespace poprt::inspector {
namespace {

// Smaller parts of a run are never a difference.
constexpr double kLeastDifference = 0.01;

Texts kernels_of(const ProgramModel& program) {
  Texts texts;
  for (const auto& [kernel, count] : program.kernel_counts()) texts[kernel] = std::to_string(count);
  return texts;
}

// Kernels by node. The kernels of several instructions of one node are concatenated.
Texts instructions_of(const ProgramModel& program) {
  Texts texts;
  for (const InstructionRow& row : program.instructions()) {
    if (row.flow != "main" || row.name.empty()) continue;
    std::string& text = texts[row.name];
    text += (text.empty() ? "" : ", ") + row.kernel;
  }
  return texts;
}

struct NodeTime {
  double ns = 0, noise = 0;
};

std::map<std::string, NodeTime> times_of(const ProgramProfile& profile) {
  std::map<std::string, NodeTime> times;
  for (size_t i = 0; i < profile.names.size(); i++) {
    times[profile.names[i]].ns += profile.instructions[i];
    if (i < profile.noise.size()) times[profile.names[i]].noise += profile.noise[i];
  }
  return times;
}

void add_times(const ProgramProfile& left, const ProgramProfile& right,
               std::vector<DiffRow>& rows) {
  const double noise = std::max(left.run_noise_ns + right.run_noise_ns,
                                std::max(left.run_ns, right.run_ns) * kLeastDifference);
  const bool same = std::abs(left.run_ns - right.run_ns) <= noise;
  rows.push_back({"time", "whole run", duration_text(left.run_ns),
                  duration_text(right.run_ns) +
                      (same ? fmt::format(", equal within {} of noise", duration_text(noise)) : ""),
                  same ? Change::none : Change::changed, kNone, kNone});
  const auto a = times_of(left), b = times_of(right);
  std::vector<std::pair<double, std::string>> order;
  for (const auto* side : {&a, &b})
    for (const auto& [name, time] : *side) {
      if (side == &b && a.contains(name)) continue;
      const NodeTime x = a.contains(name) ? a.at(name) : NodeTime{},
                     y = b.contains(name) ? b.at(name) : NodeTime{};
      const double difference = std::abs(x.ns - y.ns);
      if (difference > std::max(left.run_ns, right.run_ns) * kLeastDifference &&
          difference > x.noise + y.noise)
        order.emplace_back(difference, name);
    }
  std::sort(order.begin(), order.end(), std::greater<>());
  for (const auto& [difference, name] : order)
    rows.push_back({"time", name, a.contains(name) ? duration_text(a.at(name).ns) : "",
                    b.contains(name) ? duration_text(b.at(name).ns) : "",
                    !a.contains(name)   ? Change::added
                    : !b.contains(name) ? Change::removed
                                        : Change::changed,
                    kNone, kNone});
}

// Returns the fastest of several measurements, because other load only makes them slower, and how
// far their median is above it.
std::pair<double, double> fastest_and_noise(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return {times[0], times[times.size() / 2] - times[0]};
}

ProgramProfile merged_profile(const std::vector<ProgramProfile>& turns) {
  ProgramProfile made = turns[0];
  std::vector<double> times;
  for (const ProgramProfile& t : turns) times.push_back(t.run_ns);
  std::tie(made.run_ns, made.run_noise_ns) = fastest_and_noise(times);
  made.noise.resize(made.instructions.size());
  for (size_t k = 0; k < made.instructions.size(); k++) {
    times.clear();
    for (const ProgramProfile& t : turns)
      if (k < t.instructions.size()) times.push_back(t.instructions[k]);
    std::tie(made.instructions[k], made.noise[k]) = fastest_and_noise(times);
  }
  return made;
}

}  // namespace

bool is_of_programs(const DiffRow& row) {
  return row.category == "program" || row.category == "instruction" || row.category == "time" ||
         (row.category == "memory" && row.name != "file");
}

std::vector<DiffRow> diff_programs(const Measured& left, const Measured& right) {
  std::vector<DiffRow> rows;
  if (left.profile && right.profile) add_times(*left.profile, *right.profile, rows);
  if (!left.program || !right.program) return rows;
  const ProgramModel &a = *left.program, &b = *right.program;
  const auto peak = [](const ProgramModel& p) {
    return p.live_bytes().empty() ? std::string("0 B") : bytes_text(p.live_bytes()[p.peak()]);
  };
  add_number(rows, "memory", "arena", bytes_text(a.arena_bytes()), bytes_text(b.arena_bytes()));
  add_number(rows, "memory", "most in use", peak(a), peak(b));
  add_number(rows, "memory", "packed weights", bytes_text(a.weights_bytes()),
             bytes_text(b.weights_bytes()));
  add_number(rows, "program", "instructions", std::to_string(a.instructions().size()),
             std::to_string(b.instructions().size()));
  add_texts(kernels_of(a), kernels_of(b), "program", rows);
  add_texts(instructions_of(a), instructions_of(b), "instruction", rows);
  return rows;
}

std::pair<Measured, Measured> measure_documents(const Document& left, const Compilation* left_made,
                                                const Document& right,
                                                const Compilation* right_made, double seconds,
                                                Progress& progress) {
  constexpr int kTurns = 6;
  const Document* documents[] = {&left, &right};
  const Compilation* made[] = {left_made, right_made};
  std::array<Measured, 2> sides;
  std::array<program::LoadedProgram, 2> programs;
  std::array<Compilation, 2> compiled;
  for (size_t i = 0; i < 2; i++) {
    const Document& d = *documents[i];
    if (d.popef) {
      programs[i] = d.popef->program();
    } else {
      if (!d.ir) fail(ErrorCode::invalid_argument, "{} has no program", d.title());
      if (!made[i]) {
        std::string assumed;
        compiled[i] = compile_with_history(
            *d.ir, options_for_inspection(*d.ir, assumed), &progress.cancel,
            [&](double done, std::string_view what) { progress.step(done / 2, what); });
        compiled[i].error = error_with_assumed(compiled[i].error, assumed);
        made[i] = &compiled[i];
      }
      if (!made[i]->program)
        fail(ErrorCode::failed_precondition, "{} does not compile: {}", d.title(), made[i]->error);
      programs[i] = program::load_in_memory(*made[i]->program, made[i]->weights);
    }
    sides[i].program = std::make_shared<ProgramModel>(programs[i].program);
  }
  if (seconds <= 0) return {sides[0], sides[1]};
  std::array<std::vector<ProgramProfile>, 2> turns;
  for (int turn = 0; turn < kTurns; turn++)
    for (size_t i = 0; i < 2; i++)
      turns[i].push_back(profile_program(programs[i], seconds / kTurns, progress));
  for (size_t i = 0; i < 2; i++)
    sides[i].profile = std::make_shared<ProgramProfile>(merged_profile(turns[i]));
  return {sides[0], sides[1]};
}

}  // namespace poprt::inspector
