// A file that is open: what it is, everything that could be read of it, and what is wrong with it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "model/graph_model.h"
#include "model/pass_history.h"
#include "model/popef_file.h"
#include "model/program_model.h"
#include "model/task.h"
#include "model/telemetry_history.h"

namespace poprt::inspector {

enum class DocumentKind { onnx, popef, text, recording };
const char* document_kind_name(DocumentKind kind);

struct NamedProgram {
  std::string name;       // of its executable
  size_t executable = 0;  // in the file
  std::shared_ptr<const ProgramModel> program;
};

struct Document {
  std::filesystem::path path;
  DocumentKind kind = DocumentKind::text;
  uint64_t bytes = 0;
  std::filesystem::file_time_type changed;
  std::string error;                  // why it could not be opened at all; empty otherwise
  std::vector<std::string> problems;  // with what was opened

  std::shared_ptr<const ir::Graph> ir;          // .onnx and text
  std::shared_ptr<const GraphModel> graph;      // of the same
  std::shared_ptr<const PopefFile> popef;       // .popef
  std::shared_ptr<const ProgramModel> program;  // .popef: of its first executable
  std::vector<NamedProgram> programs;           // .popef: of all that can be read
  std::shared_ptr<TelemetryHistory> recording;

  std::string title() const { return path.filename().string(); }
};

// By what the file begins with, then by its name.
DocumentKind document_kind(const std::filesystem::path& path);

// Never throws for what is in the file, but Error(cancelled).
Document load_document(const std::filesystem::path& path, Progress& progress);

// True when the file has another time or size than it had, or is gone.
bool has_changed(const Document& document);

}  // namespace poprt::inspector
