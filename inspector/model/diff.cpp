#include "model/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "model/diff_rows.h"
#include "model/format.h"
#include "model/tensor_statistics.h"

namespace poprt::inspector {
namespace {

std::string node_text(const GraphModel& g, const GraphNode& n) {
  std::string text = n.op + "(";
  for (size_t i = 0; i < n.inputs.size(); i++) {
    if (i > 0) text += ", ";
    text += n.inputs[i] == kNone ? "_" : g.value(n.inputs[i]).name;
  }
  text += ")";
  if (!n.outputs.empty() && n.outputs[0] != kNone) text += " : " + g.value(n.outputs[0]).type;
  for (const auto& [key, value] : n.attributes)
    text += fmt::format(" {}={}", key, shortened(value, 60));
  return text;
}

// Describes a node without the types of its values.
std::string untyped(const GraphModel& g, const GraphNode& n) {
  std::string text = n.op;
  for (const int v : n.inputs) text += v == kNone ? "|_" : "|" + g.value(v).name;
  for (const auto& [key, value] : n.attributes) text += "|" + key + "=" + value;
  return text;
}

std::string tensor_text(const Tensor& t) {
  return fmt::format("{} {}", dtype_name(t.dtype()), dimensions_text(t.shape()));
}

// Describes how the right tensor differs from a left one of the same type.
std::string difference_text(const Tensor& left, const Tensor& right) {
  constexpr int64_t kRun = 1 << 14;
  if (!is_float(left.dtype()) && !is_integer(left.dtype()))
    return tensor_text(right) + ", other contents";
  int64_t differing = 0;
  double largest = 0;
  for (int64_t first = 0; first < left.count(); first += kRun) {
    const int64_t count = std::min(kRun, left.count() - first);
    for (const double d : element_differences(left, right, first, count)) {
      if (d == 0) continue;
      differing++;
      largest = std::max(largest, std::abs(d));
    }
  }
  return fmt::format("{}, {} of {} elements differ, by at most {}", tensor_text(right), differing,
                     left.count(), number_text(largest));
}

using Tensors = std::map<std::string, Tensor, NaturalLess>;

void add_tensors(const Tensors& left, const Tensors& right, const char* category,
                 DocumentDiff& diff, Progress& progress) {
  size_t done = 0;
  for (const auto& [name, a] : left) {
    progress.step(static_cast<double>(done++) / static_cast<double>(left.size()),
                  "comparing tensors");
    const auto found = right.find(name);
    if (found == right.end()) {
      diff.rows.push_back({category, name, tensor_text(a), "", Change::removed, kNone, kNone});
      continue;
    }
    const Tensor& b = found->second;
    if (a.dtype() != b.dtype() || a.shape() != b.shape())
      diff.rows.push_back(
          {category, name, tensor_text(a), tensor_text(b), Change::changed, kNone, kNone});
    else if (a.data() != b.data() && !a.same_as(b))
      diff.rows.push_back(
          {category, name, tensor_text(a), difference_text(a, b), Change::changed, kNone, kNone});
  }
  for (const auto& [name, b] : right)
    if (!left.contains(name))
      diff.rows.push_back({category, name, "", tensor_text(b), Change::added, kNone, kNone});
}

Tensors weights_of(const GraphModel& g) {
  Tensors weights;
  for (const GraphValue& v : g.values())
    if (v.constant.defined()) weights.emplace(v.name, v.constant);
  return weights;
}

std::map<std::string, int> readers_of(const GraphModel& g) {
  std::map<std::string, int> readers;
  for (const GraphValue& v : g.values())
    if (v.constant.defined() && !v.consumers.empty()) readers.emplace(v.name, v.consumers[0]);
  return readers;
}

void diff_graphs(const GraphModel& left, const GraphModel& right, DocumentDiff& diff,
                 Progress& progress) {
  diff.graph = changes_between(left, right);
  for (const int n : diff.graph.removed)
    diff.rows.push_back(
        {"node", left.node(n).name, node_text(left, left.node(n)), "", Change::removed, n, kNone});
  for (size_t i = 0; i < diff.graph.after.size(); i++) {
    if (diff.graph.after[i] == Change::none) continue;
    const GraphNode& now = right.nodes()[i];
    const int before = diff.graph.before[i];
    const bool types = before != kNone && untyped(left, left.node(before)) == untyped(right, now);
    diff.rows.push_back({types ? "shape" : "node", now.name,
                         before == kNone ? "" : node_text(left, left.node(before)),
                         node_text(right, now), diff.graph.after[i], before, static_cast<int>(i)});
  }
  const size_t first = diff.rows.size();
  add_tensors(weights_of(left), weights_of(right), "weight", diff, progress);
  // The row of a weight refers to the first node that reads it.
  const auto before = readers_of(left), after = readers_of(right);
  const auto reader = [](const std::map<std::string, int>& readers, const std::string& name) {
    const auto found = readers.find(name);
    return found == readers.end() ? kNone : found->second;
  };
  for (size_t i = first; i < diff.rows.size(); i++) {
    DiffRow& row = diff.rows[i];
    row.left_node = reader(before, row.name);
    row.right_node = reader(after, row.name);
    if (row.right_node == kNone || row.change != Change::changed) continue;
    Change& node = diff.graph.after[static_cast<size_t>(row.right_node)];
    if (node == Change::none) node = Change::changed;
  }
}

std::string anchor_text(const AnchorRow& a) {
  return fmt::format("{} {} {} programs {} handle {}{}", a.direction, a.dtype, a.shape, a.programs,
                     a.handle, a.per_replica ? " per replica" : "");
}

// Names the rows of a file. Several models in one file may have anchors and blobs of the same name,
// so their rows begin with the name of the model if one of the two files has several.
struct RowNames {
  std::map<std::string, std::string> labels;  // by model; empty if each file has one model
  std::string operator()(const std::string& model, const std::string& name) const {
    const auto label = labels.find(model);
    return label == labels.end() ? name : label->second + ": " + name;
  }
};

std::vector<std::string> models_of(const PopefFile& file) {
  std::vector<std::string> names;
  for (const auto& metadata : file.metadata()) names.push_back(printable(metadata.executable()));
  return names;
}

// Returns the names of rows of the left and of the right file. Models of one name are compared, and
// the others in their order: a model may have another name in the other file. Its rows begin with
// the name that it has in the left file.
std::pair<RowNames, RowNames> row_names(const PopefFile& left, const PopefFile& right) {
  const std::vector<std::string> from = models_of(left), to = models_of(right);
  RowNames x, y;
  if (from.size() <= 1 && to.size() <= 1) return {x, y};
  std::vector<std::string> renamed;
  for (const std::string& name : from) {
    x.labels[name] = name;
    if (std::ranges::find(to, name) == to.end()) renamed.push_back(name);
  }
  size_t next = 0;
  for (const std::string& name : to) {
    const bool known = x.labels.contains(name) || next == renamed.size();
    y.labels[name] = known ? name : renamed[next++];
  }
  return {x, y};
}

Texts anchors_of(const PopefFile& file, const RowNames& names) {
  Texts texts;
  for (const AnchorRow& row : file.anchors()) texts[names(row.model, row.name)] = anchor_text(row);
  return texts;
}

Texts metadata_of(const PopefFile& file, const RowNames& names) {
  Texts texts;
  for (size_t i = 0; i < file.metadata().size(); i++)
    for (const auto& [name, value] : file.metadata_rows(i))
      texts[names(printable(file.metadata()[i].executable()), name)] = value;
  return texts;
}

// Formats a text for a table row.
std::string one_line(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (!blank || (!line.empty() && line.back() != ' ')) line += blank ? ' ' : c;
  }
  return line;
}

// Long blobs are represented by their start and a checksum.
Texts opaque_of(const PopefFile& file, const RowNames& names) {
  constexpr size_t kMost = 4096;
  Texts texts;
  for (size_t i = 0; i < file.opaque().size(); i++) {
    const OpaqueRow& row = file.opaque()[i];
    std::string& text = texts[names(row.executable, row.name)];
    text = one_line(file.opaque_text(i, kMost));
    if (const uint64_t bytes = row.bytes; bytes > kMost / 4)
      text =
          fmt::format("{}, checksum {:016x}: {}", bytes_text(bytes), file.opaque_checksum(i), text);
  }
  return texts;
}

Tensors data_of(const PopefFile& file, const RowNames& names) {
  Tensors tensors;
  for (size_t i = 0; i < file.data().size(); i++)
    tensors[names(file.data()[i].executable, file.data()[i].name)] = file.tensor(i);
  return tensors;
}

void diff_popef(const PopefFile& left, const PopefFile& right, DocumentDiff& diff,
                Progress& progress) {
  const auto [x, y] = row_names(left, right);
  add_texts(anchors_of(left, x), anchors_of(right, y), "anchor", diff.rows);
  add_texts(metadata_of(left, x), metadata_of(right, y), "metadata", diff.rows);
  add_texts(opaque_of(left, x), opaque_of(right, y), "opaque", diff.rows);
  add_tensors(data_of(left, x), data_of(right, y), "data", diff, progress);
}

}  // namespace

const char* change_name(Change change) {
  static constexpr const char* names[] = {"same", "added", "removed", "changed"};
  return names[static_cast<size_t>(change)];
}

DocumentDiff diff_documents(const Document& left, const Document& right, Progress& progress) {
  DocumentDiff diff;
  progress.step(0, "comparing");
  if (left.graph && right.graph) diff_graphs(*left.graph, *right.graph, diff, progress);
  if (left.popef && right.popef) diff_popef(*left.popef, *right.popef, diff, progress);
  add_number(diff.rows, "memory", "file", bytes_text(left.bytes), bytes_text(right.bytes));
  for (DiffRow& row : diff_programs({left.program, nullptr}, {right.program, nullptr}))
    diff.rows.push_back(std::move(row));
  return diff;
}

}  // namespace poprt::inspector
