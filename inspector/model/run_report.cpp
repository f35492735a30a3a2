#include "model/run_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/format.h"
#include "model/tensor_statistics.h"

namespace poprt::inspector {

std::vector<Table> run_tables(const RunResult& result, size_t top,
                              const std::vector<std::string>& classes) {
  std::vector<Table> tables = {
      {"run", {"property", "value"}, {{std::string("load_ms"), result.load_ms}}},
      {"values", {"role", "name", "type", "least", "most", "mean", "nans", "infinities"}, {}}};
  tables[0].rows.push_back({std::string("run_ms"), result.run_ms});
  if (result.warm_runs > 0) {
    tables[0].rows.push_back({std::string("warm_median_ms"), result.warm_ms});
    tables[0].rows.push_back({std::string("warm_runs"), int64_t{result.warm_runs}});
  }
  const auto add = [&](const char* role, const std::vector<NamedTensor>& list) {
    for (const NamedTensor& t : list) {
      const TensorStatistics s = tensor_statistics(t.tensor);
      const bool has_range = s.has_finite() || s.examined == 0;
      const auto shown = [&](double x) { return has_range ? Cell(x) : Cell(std::monostate()); };
      tables[1].rows.push_back(
          {std::string(role), t.name,
           fmt::format("{} {}", dtype_name(t.tensor.dtype()), dimensions_text(t.tensor.shape())),
           shown(s.least), shown(s.most), shown(s.mean), static_cast<int64_t>(s.nans),
           static_cast<int64_t>(s.infinities)});
    }
  };
  add("input", result.inputs);
  add("output", result.outputs);
  for (const NamedTensor& t : result.outputs) {
    Table ranks{"top of " + t.name, {"rank", "index", "value"}, {}};
    const bool named = !classes.empty() && row_length(t.tensor) == std::ssize(classes);
    if (named) ranks.columns.insert(ranks.columns.end(), {"softmax", "class"});
    const std::vector<int64_t> order = top_elements(t.tensor, 0, top);
    const auto softmax = named ? softmax_of(t.tensor, 0, order) : std::vector<double>();
    for (size_t n = 0; n < order.size(); n++) {
      const int64_t i = order[n];
      ranks.rows.push_back({static_cast<int64_t>(n) + 1, i, tensor_values(t.tensor, i, 1)[0]});
      if (!named) continue;
      ranks.rows.back().push_back(softmax[n]);
      ranks.rows.back().push_back(classes[static_cast<size_t>(i)]);
    }
    if (!ranks.rows.empty()) tables.push_back(std::move(ranks));
  }
  return tables;
}

std::vector<Table> difference_tables(const std::vector<TensorDifference>& differences,
                                     const std::vector<NamedTensor>& outputs, size_t most) {
  std::vector<Table> tables = {{"differences",
                                {"output", "agrees", "elements", "differing", "largest",
                                 "largest_relative", "rms", "rms_right", "problem"},
                                {}}};
  for (const TensorDifference& d : differences) {
    tables[0].rows.push_back({d.name, d.agrees(), static_cast<int64_t>(d.elements),
                              static_cast<int64_t>(d.differing), d.largest, d.largest_relative,
                              d.rms, d.rms_right, d.problem});
    const auto output = std::find_if(outputs.begin(), outputs.end(),
                                     [&](const NamedTensor& t) { return t.name == d.name; });
    if (d.worst.empty() || output == outputs.end()) continue;
    Table elements{"differing elements of " + d.name, {"index", "left", "right", "difference"}, {}};
    for (const DifferingElement& e : d.worst) {
      if (elements.rows.size() == most) break;
      elements.rows.push_back(
          {coordinates_text(output->tensor.shape(), e.index), e.left, e.right, e.difference});
    }
    tables.push_back(std::move(elements));
  }
  return tables;
}

Table bench_table(const BenchSettings& settings, const BenchResult& r) {
  Table t{"benchmark", {"property", "value"}, {}};
  const auto add = [&](const char* name, Cell value) {
    t.rows.push_back({std::string(name), std::move(value)});
  };
  add("clients", int64_t{settings.clients});
  add("in_flight", int64_t{settings.in_flight});
  add("requests", static_cast<int64_t>(r.requests));
  add("seconds", r.seconds);
  add("requests_per_second", r.per_second());
  for (const auto& [name, q] :
       {std::pair("least_ms", 0.0), std::pair("median_ms", 0.5), std::pair("p90_ms", 0.9),
        std::pair("p99_ms", 0.99), std::pair("most_ms", 1.0)})
    add(name, r.latency(q));
  return t;
}

}  // namespace poprt::inspector
