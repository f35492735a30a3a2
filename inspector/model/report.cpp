#include "model/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "base/error.h"
#include "base/json.h"
#include "model/format.h"
#include "model/graph_query.h"
#include "model/stable_order.h"
#include "model/tensor_statistics.h"

namespace poprt::inspector {
namespace {

int64_t whole(uint64_t n) { return static_cast<int64_t>(std::min<uint64_t>(n, INT64_MAX)); }

std::string cell_text(const Cell& cell) {
  struct Visitor {
    std::string operator()(const std::string& s) const { return s; }
    std::string operator()(int64_t n) const { return std::to_string(n); }
    std::string operator()(double x) const { return number_text(x); }
    std::string operator()(bool b) const { return b ? "yes" : "no"; }
    std::string operator()(std::monostate) const { return "-"; }
  };
  return std::visit(Visitor{}, cell);
}

// JSON has no infinite values and no NaN, so they are the words of the text.
nlohmann::ordered_json json_of(const Cell& cell) {
  if (const auto* x = std::get_if<double>(&cell); x && !std::isfinite(*x)) return cell_text(cell);
  return std::visit(
      [](const auto& value) -> nlohmann::ordered_json {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>)
          return nullptr;
        else
          return value;
      },
      cell);
}

// Columns on the screen, not bytes.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

Table summary(const Document& d) {
  Table t{"summary", {"property", "value"}, {}};
  const auto add = [&](const char* name, std::string value) {
    t.rows.push_back({std::string(name), std::move(value)});
  };
  add("file", printable(d.title()));
  add("kind", document_kind_name(d.kind));
  add("bytes", std::to_string(d.bytes));
  if (!d.error.empty()) add("error", d.error);
  for (const std::string& p : d.problems) add("problem", p);
  if (d.graph) {
    add("graph", d.graph->name());
    add("nodes", std::to_string(d.graph->operator_count()));
    add("edges", std::to_string(d.graph->edge_count()));
    add("groups", std::to_string(d.graph->groups().size() - 1));
    add("weights", std::to_string(d.graph->weight_bytes()));
    for (const auto& [domain, version] : d.ir->opsets)
      add("opset", fmt::format("{} {}", domain.empty() ? "ai.onnx" : printable(domain), version));
  }
  if (d.popef) {
    add("blobs", std::to_string(d.popef->blobs().size()));
    add("models", std::to_string(d.popef->metadata().size()));
    add("anchors", std::to_string(d.popef->anchors().size()));
  }
  if (d.program) {
    add("instructions", std::to_string(d.program->instructions().size()));
    add("arena", std::to_string(d.program->arena_bytes()));
    add("program weights", std::to_string(d.program->weights_bytes()));
    if (d.program->stored_weights_bytes() < d.program->weights_bytes())
      add("program weights in the file", std::to_string(d.program->stored_weights_bytes()));
    if (d.programs.size() > 1) add("programs", std::to_string(d.programs.size()));
    for (const ProgramPart& part : d.program->parts()) add("part", part.name);
  }
  if (d.recording) add("series", std::to_string(d.recording->series().size()));
  return t;
}

// Adds a column "ns" if times are known.
void add_times(Table& t, const ProgramProfile* profile) {
  if (profile) t.columns.push_back("ns");
}

Table nodes_table(const GraphModel& g, const std::string& filter, const ProgramProfile* profile) {
  Table t{"graph", {"operator", "name", "group", "inputs", "outputs", "weight_bytes"}, {}};
  add_times(t, profile);
  const auto times = profile ? node_times(g, *profile) : std::vector<double>();
  const auto values = [&](const std::vector<int>& ids) {
    std::vector<std::string> words;
    for (const int v : ids)
      words.push_back(v == kNone ? "_" : g.value(v).name + ":" + g.value(v).type);
    return fmt::format("{}", fmt::join(words, ", "));
  };
  const std::vector<int> found = search_nodes(g, filter);
  for (size_t i = 0; i < g.nodes().size(); i++) {
    if (!filter.empty() && !std::binary_search(found.begin(), found.end(), static_cast<int>(i)))
      continue;
    const GraphNode& n = g.nodes()[i];
    t.rows.push_back({n.op, n.name, g.group(n.group).path, values(n.inputs), values(n.outputs),
                      whole(n.weight_bytes)});
    if (profile) t.rows.back().push_back(times[i]);
  }
  return t;
}

Table operators_table(const GraphModel& g) {
  Table t{"operators", {"operator", "nodes"}, {}};
  for (const auto& [op, count] : g.operator_counts()) t.rows.push_back({op, whole(count)});
  return t;
}

Table weights_table(const GraphModel& g) {
  Table t{"weights", {"name", "type", "bytes", "reader"}, {}};
  for (const int id : largest_weights(g, SIZE_MAX)) {
    const GraphValue& v = g.value(id);
    t.rows.push_back({v.name, v.type, whole(v.bytes), g.node(v.consumers[0]).name});
  }
  return t;
}

std::vector<Table> node_tables(const GraphModel& g, const std::string& name) {
  const int id = g.find(name);
  if (id == kNone) fail(ErrorCode::not_found, "there is no node or value with the name '{}'", name);
  const GraphNode& n = g.node(id);
  std::vector<std::string> others;
  for (const GraphNode& other : g.nodes())
    if (other.kind == NodeKind::op && other.name == name) others.push_back(other.key);
  if (n.kind == NodeKind::op && others.size() > 1)
    fail(ErrorCode::invalid_argument, "{} nodes have the name '{}'; the inspector names them {}",
         others.size(), name, fmt::join(others, ", "));
  Table t{"node",
          {"property", "value"},
          {{std::string("name"), n.name},
           {std::string("operator"), n.op},
           {std::string("group"), g.group(n.group).path}}};
  for (const auto& [key, value] : n.attributes) t.rows.push_back({"attribute " + key, value});
  if (const auto doc = g.documentation(id)) {
    t.rows.push_back({std::string("since opset"), int64_t{doc->since}});
    t.rows.push_back({std::string("documentation"), printable(doc->text)});
  }
  std::vector<Table> tables = {std::move(t)};
  Table values{"values", {"role", "name", "type", "bytes", "constant"}, {}};
  const auto add = [&](const char* role, const std::vector<int>& ids) {
    for (size_t i = 0; i < ids.size(); i++)
      if (ids[i] != kNone) {
        const GraphValue& v = g.value(ids[i]);
        values.rows.push_back(
            {fmt::format("{} {}", role, i), v.name, v.type, whole(v.bytes), v.constant.defined()});
      }
  };
  add("input", n.inputs);
  add("output", n.outputs);
  tables.push_back(std::move(values));
  for (const int v : n.inputs)
    if (v != kNone && g.value(v).constant.defined())
      tables.push_back(statistics_table(g.value(v).name, g.value(v).constant));
  return tables;
}

Table anchors_table(const PopefFile& p, const std::string& filter) {
  Table t{
      "anchors",
      {"name", "direction", "dtype", "shape", "bytes", "programs", "per_replica", "handle", "data"},
      {}};
  for (const size_t i : p.anchor_rows(filter, AnchorColumn::direction, false)) {
    const AnchorRow& a = p.anchors()[i];
    t.rows.push_back({a.name, a.direction, a.dtype, a.shape, whole(a.bytes), a.programs,
                      a.per_replica, a.handle, a.data});
  }
  return t;
}

Table blobs_table(const PopefFile& p) {
  Table t{
      "blobs", {"offset", "size", "type", "name", "payload_bytes", "raw_bytes", "compressed"}, {}};
  for (const BlobRow& b : p.blobs())
    t.rows.push_back({whole(b.offset), whole(b.size), b.type, b.name, whole(b.payload_bytes),
                      whole(b.raw_bytes), b.compressed});
  return t;
}

std::vector<Table> data_tables(const PopefFile& p) {
  Table t{"data", {"name", "executable", "dtype", "shape", "tensors", "bytes"}, {}};
  for (const DataRow& d : p.data())
    t.rows.push_back({d.name, d.executable, d.dtype, d.shape, whole(d.tensors), whole(d.bytes)});
  std::vector<Table> tables = {std::move(t)};
  for (size_t i = 0; i < p.data().size(); i++)
    tables.push_back(statistics_table(p.data()[i].name, p.tensor(i)));
  return tables;
}

Table opaque_table(const PopefFile& p) {
  Table t{"opaque", {"name", "executable", "bytes", "contents"}, {}};
  for (size_t i = 0; i < p.opaque().size(); i++)
    t.rows.push_back({p.opaque()[i].name, p.opaque()[i].executable, whole(p.opaque()[i].bytes),
                      p.opaque_text(i, 4096)});
  return t;
}

Table metadata_table(const PopefFile& p) {
  Table t{"metadata", {"model", "property", "value"}, {}};
  for (size_t i = 0; i < p.metadata().size(); i++)
    for (const auto& [key, value] : p.metadata_rows(i)) t.rows.push_back({whole(i), key, value});
  return t;
}

// Title of a table for one of several programs in a file.
std::string title_of(const char* what, const std::string& program) {
  return program.empty() ? what : fmt::format("{} of {}", what, program);
}

std::string part_name(const ProgramModel& p, const InstructionRow& row) {
  const int part = row.flow == "main" ? p.part_of(row.index) : -1;
  return part < 0 ? "" : p.parts()[static_cast<size_t>(part)].name;
}

Table program_table(const ProgramModel& p, const std::string& title, const std::string& filter,
                    const ProgramProfile* profile) {
  Table t{title_of("program", title),
          {"flow", "index", "kernel", "name", "operands", "weight_bytes", "live_bytes"},
          {}};
  add_times(t, profile);
  const bool parts = !p.parts().empty();
  if (parts) t.columns.push_back("part");
  for (const size_t i : p.rows(filter)) {
    const InstructionRow& r = p.instructions()[i];
    std::vector<std::string> operands;
    for (const OperandRow& o : r.operands)
      operands.push_back(fmt::format("{}+{} {}{}", o.space, o.offset, o.type,
                                     o.stored.empty() ? "" : ", stored as " + o.stored));
    t.rows.push_back({r.flow, whole(r.index), r.kernel, r.name,
                      fmt::format("{}", fmt::join(operands, ", ")), whole(r.weight_bytes),
                      whole(r.flow == "main" ? p.live_bytes()[r.index] : 0)});
    if (profile)
      t.rows.back().push_back(r.flow == "main" && r.index < profile->instructions.size()
                                  ? profile->instructions[r.index]
                                  : 0.0);
    if (parts) t.rows.back().push_back(part_name(p, r));
  }
  return t;
}

// The variants, of which a run executes one, or the parts of the IPUs.
Table parts_table(const ProgramModel& p, const std::string& title, const ProgramProfile* profile) {
  Table t{title_of("parts", title),
          {"name", "ipu", "first", "last", "instructions", "weight_bytes", "arena_begin",
           "arena_bytes", "most_bytes"},
          {}};
  add_times(t, profile);
  for (const ProgramPart& part : p.parts()) {
    t.rows.push_back({part.name, part.ipu, whole(part.first), whole(part.last),
                      whole(part.last - part.first - 1), whole(part.weights_bytes),
                      whole(part.arena_begin), whole(part.arena_bytes), whole(part.most_bytes)});
    if (!profile) continue;
    double sum = 0;
    for (size_t i = part.first; i <= part.last && i < profile->instructions.size(); i++)
      sum += profile->instructions[i];
    t.rows.back().push_back(sum);
  }
  return t;
}

Table memory_table(const ProgramModel& p, const std::string& title) {
  Table t{title_of("memory", title),
          {"name", "offset", "bytes", "first", "last", "buffers", "at_peak"},
          {}};
  std::vector<const ArenaInterval*> order;
  for (const ArenaInterval& i : p.intervals()) order.push_back(&i);
  stable_order(order, [](auto* a, auto* b) { return a->bytes > b->bytes; });
  const int peak = static_cast<int>(p.peak());
  for (const ArenaInterval* i : order)
    t.rows.push_back({i->name, whole(i->offset), whole(i->bytes), int64_t{i->first},
                      int64_t{i->last}, whole(i->buffers.size()),
                      i->first <= peak && peak <= i->last});
  return t;
}

Table passes_table(const Compilation& c) {
  Table t{"passes",
          {"stage", "pass", "rewrites", "ms", "nodes_before", "nodes_after", "added", "removed",
           "changed"},
          {}};
  for (const PassStep& s : c.steps)
    t.rows.push_back({s.stage, s.name, s.rewrites, s.milliseconds, whole(s.nodes_before),
                      whole(s.nodes_after), whole(s.added), whole(s.removed), whole(s.changed)});
  return t;
}

// The changes of one pass, node by node.
Table step_table(const Compilation& c, int step) {
  if (step < 0 || static_cast<size_t>(step) >= c.steps.size())
    fail(ErrorCode::out_of_range, "expected a pass from 0 to {}, found {}", c.steps.size() - 1,
         step);
  const PassStep& s = c.steps[static_cast<size_t>(step)];
  Table t{"changes of " + s.name, {"change", "operator", "name", "was"}, {}};
  if (!s.changes) return t;
  const GraphModel& before = *c.steps[static_cast<size_t>(step) - 1].graph;
  for (const int n : s.changes->removed)
    t.rows.push_back({std::string(change_name(Change::removed)), std::string(), before.node(n).name,
                      before.node(n).op});
  for (size_t i = 0; i < s.changes->after.size(); i++) {
    if (s.changes->after[i] == Change::none) continue;
    const GraphNode& n = s.graph->nodes()[i];
    const int was = s.changes->before[i];
    t.rows.push_back({std::string(change_name(s.changes->after[i])), n.op, n.name,
                      was == kNone ? std::string() : before.node(was).op});
  }
  return t;
}

Table history_table(const Compilation& c, int node) {
  Table t{"history", {"step", "pass", "what", "name"}, {}};
  for (const NodeEvent& e : history_of(c, 0, node))
    t.rows.push_back(
        {int64_t{e.step}, c.steps[static_cast<size_t>(e.step)].name, event_text(e), e.node});
  return t;
}

bool holds(const std::vector<Cell>& row, const std::string& filter) {
  return filter.empty() || std::any_of(row.begin(), row.end(), [&](const Cell& c) {
           return contains_text(cell_text(c), filter);
         });
}

}  // namespace

std::string table_text(const Table& table) {
  std::vector<size_t> widths;
  for (const std::string& c : table.columns) widths.push_back(width_of(c));
  std::vector<std::vector<std::string>> lines = {table.columns};
  for (const auto& row : table.rows) {
    lines.emplace_back();
    for (size_t c = 0; c < row.size(); c++) {
      lines.back().push_back(cell_text(row[c]));
      if (c + 1 < row.size())
        widths[c] = std::max(widths[c], std::min<size_t>(width_of(lines.back()[c]), 60));
    }
  }
  std::string text = table.name + "\n";
  for (const auto& line : lines) {
    text += " ";
    for (size_t c = 0; c < line.size(); c++) {
      text += " " + line[c];
      if (c + 1 < line.size())
        text.append(widths[c] + 1 - std::min(widths[c], width_of(line[c])), ' ');
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n";
  }
  return text;
}

std::string table_tsv(const Table& table) {
  std::string text = fmt::format("{}\n", fmt::join(table.columns, "\t"));
  for (const auto& row : table.rows) {
    for (size_t c = 0; c < row.size(); c++) text += (c ? "\t" : "") + cell_text(row[c]);
    text += "\n";
  }
  return text;
}

std::string tables_json(const std::vector<Table>& tables) {
  auto all = nlohmann::ordered_json::object();
  for (const Table& t : tables) {
    auto rows = nlohmann::ordered_json::array();
    for (const auto& row : t.rows) {
      auto object = nlohmann::ordered_json::object();
      for (size_t c = 0; c < row.size(); c++) object[t.columns[c]] = json_of(row[c]);
      rows.push_back(std::move(object));
    }
    all[t.name] = std::move(rows);
  }
  return json_text(all, 2);
}

Table statistics_table(const std::string& name, const Tensor& tensor) {
  Table t{"statistics of " + name, {"property", "value"}, {}};
  const TensorStatistics s = tensor_statistics(tensor);
  t.rows.push_back({std::string("type"), fmt::format("{} {}", dtype_name(tensor.dtype()),
                                                     dimensions_text(tensor.shape()))});
  t.rows.push_back({std::string("elements"), whole(s.elements)});
  if (!s.numeric) return t;
  if (s.examined < s.elements) t.rows.push_back({std::string("examined"), whole(s.examined)});
  if (s.has_finite() || s.examined == 0) {
    t.rows.push_back({std::string("least"), s.least});
    t.rows.push_back({std::string("most"), s.most});
    t.rows.push_back({std::string("mean"), s.mean});
    t.rows.push_back({std::string("deviation"), s.deviation});
  }
  t.rows.push_back({std::string("zeros"), whole(s.zeros)});
  t.rows.push_back({std::string("nans"), whole(s.nans)});
  t.rows.push_back({std::string("infinities"), whole(s.infinities)});
  t.rows.push_back({std::string("histogram"), fmt::format("{}", fmt::join(s.histogram, " "))});
  return t;
}

Table diff_table(const DocumentDiff& diff) {
  Table t{"diff", {"change", "category", "name", "left", "right"}, {}};
  for (const DiffRow& r : diff.rows)
    t.rows.push_back({std::string(change_name(r.change)), r.category, r.name, r.left, r.right});
  return t;
}

namespace {

Table variants_table(const TelemetryHistory& history) {
  Table t{"branches", {"model", "replica", "pid", "branch", "runs", "busy_ns"}, {}};
  for (const TelemetrySeries& s : history.series()) {
    const auto use = s.variant_use(history.first_time() - 1, history.last_time());
    for (size_t i = 0; i < use.size(); i++)
      t.rows.push_back({s.name, int64_t{s.replica}, whole(s.pid), s.variants[i], whole(use[i].runs),
                        whole(use[i].busy_ns)});
  }
  return t;
}

Table generators_table(const TelemetryHistory& history) {
  Table t{"generators",
          {"model", "replica", "pid", "alive", "slots", "busy", "waiting", "submitted", "ended",
           "prompt_tokens", "reused_tokens", "decode_tokens", "decode_steps",
           "prompt_tokens_per_second", "decode_tokens_per_second", "used_places", "places",
           "cache_bytes"},
          {}};
  for (const TelemetrySeries& s : history.series()) {
    if (s.samples.empty() || !s.samples.back().generator) continue;
    const TelemetrySample& last = s.samples.back();
    const runtime::GeneratorSnapshot& g = *last.generator;
    t.rows.push_back({s.name, int64_t{s.replica}, whole(s.pid), s.alive, whole(g.slots),
                      whole(g.busy), whole(g.waiting), whole(g.submitted), whole(g.ended),
                      whole(g.prompt_tokens), whole(g.reused_tokens), whole(g.decode_tokens),
                      whole(g.decode_steps), last.prompt_tokens_per_second,
                      last.decode_tokens_per_second, whole(g.used), whole(g.places()),
                      whole(g.cache_bytes)});
  }
  return t;
}

}  // namespace

std::vector<Table> queues_tables(const TelemetryHistory& history) {
  Table t{"queues",
          {"model", "replica", "pid", "alive", "completed", "failed", "requests_per_second",
           "p50_ns", "p99_ns", "queue", "direction", "fill", "capacity", "high_water", "stalls"},
          {}};
  const auto latency = [](double ns) { return ns < 0 ? Cell(std::monostate()) : Cell(ns); };
  for (const TelemetrySeries& s : history.series()) {
    if (s.samples.empty()) continue;
    const TelemetrySample& last = s.samples.back();
    for (size_t i = 0; i < s.queues.size(); i++) {
      const QueueState& q = s.queues[i];
      const QueueSample& now = last.queues[i];
      t.rows.push_back({s.name, int64_t{s.replica}, whole(s.pid), s.alive,
                        whole(last.all_completed), whole(last.all_failed), last.requests_per_second,
                        latency(last.p50_ns), latency(last.p99_ns), q.name,
                        std::string(q.is_output ? "output" : "input"), whole(now.fill),
                        whole(q.capacity), whole(now.high_water), whole(now.stalls)});
    }
  }
  std::vector<Table> tables = {std::move(t)};
  if (Table variants = variants_table(history); !variants.rows.empty())
    tables.push_back(std::move(variants));
  if (Table generators = generators_table(history); !generators.rows.empty())
    tables.push_back(std::move(generators));
  return tables;
}

std::vector<std::string> views_of(const Document& d) {
  std::vector<std::string> views = {"summary"};
  if (d.graph)
    views.insert(views.end(),
                 {"graph", "operators", "weights", "passes", "program", "parts", "memory"});
  if (d.popef) views.insert(views.end(), {"anchors", "blobs", "metadata", "data", "opaque"});
  if (d.popef && d.program) views.insert(views.end(), {"program", "parts", "memory"});
  if (d.recording) views.push_back("queues");
  return views;
}

std::vector<Table> report(const Document& d, std::string_view view, const ReportOptions& options,
                          const Compilation* compilation) {
  const auto views = views_of(d);
  std::vector<Table> tables;
  std::vector<NamedProgram> programs = d.programs;
  if (programs.empty() && compilation && compilation->program)
    programs.push_back({"", 0, program_model(*compilation)});
  if (programs.size() == 1) programs[0].name.clear();  // a single program needs no name
  const auto add = [&](std::vector<Table> more) {
    for (Table& t : more) {
      std::erase_if(t.rows, [&](const auto& row) {
        return t.name != "graph" && !holds(row, options.filter);
      });
      if (t.rows.size() > options.most) t.rows.resize(options.most);
      tables.push_back(std::move(t));
    }
  };
  if (!options.node.empty()) {
    if (!d.graph)
      fail(ErrorCode::invalid_argument, "{} has no graph, so no node '{}'", d.title(),
           options.node);
    auto node = node_tables(*d.graph, options.node);
    if (compilation && !compilation->steps.empty())
      node.push_back(history_table(*compilation, d.graph->find(options.node)));
    return node;
  }
  if (view != "all" && std::find(views.begin(), views.end(), view) == views.end())
    fail(ErrorCode::invalid_argument, "{} has no view '{}', it has {}", d.title(), view,
         fmt::join(views, ", "));
  const auto wants = [&](std::string_view name) {
    return (view == "all" || view == name) &&
           std::find(views.begin(), views.end(), name) != views.end();
  };
  if (wants("summary")) add({summary(d)});
  if (wants("graph")) add({nodes_table(*d.graph, options.filter, options.profile)});
  if (wants("operators")) add({operators_table(*d.graph)});
  if (wants("weights")) add({weights_table(*d.graph)});
  if (wants("anchors")) add({anchors_table(*d.popef, options.filter)});
  if (wants("blobs")) add({blobs_table(*d.popef)});
  if (wants("metadata")) add({metadata_table(*d.popef)});
  if (wants("data")) add(data_tables(*d.popef));
  if (wants("opaque")) add({opaque_table(*d.popef)});
  if (wants("passes") && compilation)
    add({options.step >= 0 ? step_table(*compilation, options.step) : passes_table(*compilation)});
  for (const NamedProgram& p : programs) {
    const ProgramProfile* times = p.executable == options.executable ? options.profile : nullptr;
    if (wants("program")) add({program_table(*p.program, p.name, options.filter, times)});
    if (wants("parts") && !(view == "all" && p.program->parts().empty()))
      add({parts_table(*p.program, p.name, times)});
    if (wants("memory")) add({memory_table(*p.program, p.name)});
  }
  if (wants("queues")) add(queues_tables(*d.recording));
  return tables;
}

}  // namespace poprt::inspector
