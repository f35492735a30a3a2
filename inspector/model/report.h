// The contents of the views as tables: for the command line, for copying, for JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/diff.h"
#include "model/document.h"

namespace poprt::inspector {

// Without a value, it is "-" in a text and null in JSON.
using Cell = std::variant<std::string, int64_t, double, bool, std::monostate>;

struct Table {
  std::string name;
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;
};

// Aligned columns, one line per row.
std::string table_text(const Table& table);
// {"NAME": [{"column": cell ...}]} for all tables.
std::string tables_json(const std::vector<Table>& tables);
// Tab-separated text for spreadsheets.
std::string table_tsv(const Table& table);

struct ReportOptions {
  std::string filter;  // only rows that contain this text
  std::string node;    // details of one node; with a compilation also its changes by passes
  int step = -1;       // index of the pass whose changes are listed
  const ProgramProfile* profile = nullptr;  // times of instructions and nodes; null: unknown
  // The executable that `profile` belongs to, for a .popef file with several.
  size_t executable = 0;
  size_t most = SIZE_MAX;
};

// The views of a document that report() accepts.
std::vector<std::string> views_of(const Document& document);
// "all" selects every view. `compilation` is needed for the passes, program, parts and memory of a
// graph; if it is null, they are omitted. Throws invalid_argument for a view that the document does
// not have, and out_of_range for a step that the compilation does not have.
std::vector<Table> report(const Document& document, std::string_view view,
                          const ReportOptions& options, const Compilation* compilation);
Table diff_table(const DocumentDiff& diff);
// The queues, how often each of several models or shapes ran, and generators of texts.
std::vector<Table> queues_tables(const TelemetryHistory& history);
Table statistics_table(const std::string& name, const Tensor& tensor);

}  // namespace poprt::inspector
