#include <fmt/format.h>

#include "ipu/planner.h"

namespace poprt::ipu {

std::string plan_text(const Target& target, const Plan& plan, const PlanOptions& options,
                      const std::string& name) {
  const int64_t tiles = options.tiles ? options.tiles : target.tiles;
  const auto bound =
      static_cast<int64_t>(options.memory_proportion * static_cast<double>(target.bytes_per_tile));
  const Split& s = plan.split;
  const PlanCost& c = plan.cost;
  std::string out = fmt::format("Planning {}: per-tile memory limit {} bytes across {} tiles\n",
                                name, bound, tiles);
  out += fmt::format("  method {}{}{}\n", method_name(plan.method),
                     plan.swapped ? ", operands swapped" : "",
                     plan.flattened ? ", kernel expanded to channels" : "");
  out += fmt::format(
      "  split: groups {}, batch {}, field {} x {}, kernel rows {}, input channels {}, output "
      "channels {}, serial input channels {}, serial output channels {}\n",
      s.groups, s.batch, s.rows, s.width, s.kernel, s.in, s.out, s.serial_in, s.serial_out);
  out +=
      fmt::format("  tile: field {} x {}, input channels {}, output channels {}, groups {}\n",
                  plan.work.rows, plan.work.width, plan.work.in, plan.work.out, plan.work.groups);
  const auto row = [&](const char* what, int64_t cycles, int64_t bytes) {
    out += fmt::format("  {:<28} {:>10} cycles {:>10} bytes\n", what, cycles, bytes);
  };
  row("broadcast", s.broadcast() ? c.input_exchange : 0, s.broadcast() ? c.input_bytes : 0);
  row("rearrangement before slice", 0, 0);
  row("dynamic slice", c.slice, 0);
  row("transform", c.transform, c.transform ? c.input_bytes : 0);
  row("exchange, input", s.broadcast() ? 0 : c.input_exchange, s.broadcast() ? 0 : c.input_bytes);
  row("exchange, weight", c.weight_exchange, c.weight_exchange ? c.weight_bytes : 0);
  row("exchange, reduce", c.reduce_exchange, c.reduce_bytes);
  row("tile level transform", 0, 0);
  row("inputs cast", 0, 0);
  row("compute", c.compute, c.partial_bytes);
  row("reduction", c.reduce, c.reduce_bytes);
  row("dynamic update", c.update, 0);
  row("add in place", c.add, 0);
  row("output cast", c.cast, 0);
  row("total", c.total, c.temporary_bytes);
  if (!plan.within_memory)
    out += "  no plan is within the memory limit; this one needs the least memory\n";
  return out;
}

}  // namespace poprt::ipu
