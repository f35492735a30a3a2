// What the window shows, as tables: for the command line, for copying, for JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/diff.h"
#include "model/document.h"

namespace poprt::inspector {

using Cell = std::variant<std::string, int64_t, double, bool>;

struct Table {
  std::string name;
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;
};

// Columns aligned, a line per row.
std::string table_text(const Table& table);
// {"NAME": [{"column": cell ...}]} of all.
std::string tables_json(const std::vector<Table>& tables);
// Tab separated, for spreadsheets.
std::string table_tsv(const Table& table);

struct ReportOptions {
  std::string filter;  // rows that hold it
  std::string node;    // details of one node; with a compilation also what passes did to it
  int step = -1;       // of the passes: what this one added, removed and changed
  const ProgramProfile* profile = nullptr;  // times of instructions and nodes; null: none are known
  size_t executable = 0;                    // of a .popef with several, whose times they are
  size_t most = SIZE_MAX;
};

// Views of a document that report() takes.
std::vector<std::string> views_of(const Document& document);
// Throws invalid_argument for a view that this document has not; "all" is each of them.
// `compilation` is for passes, program and memory of a graph; null: they are not there.
std::vector<Table> report(const Document& document, std::string_view view,
                          const ReportOptions& options, const Compilation* compilation);
Table diff_table(const DocumentDiff& diff);
// Queues, and which of several models or shapes ran.
std::vector<Table> queues_tables(const TelemetryHistory& history);
Table statistics_table(const std::string& name, const Tensor& tensor);

}  // namespace poprt::inspector
