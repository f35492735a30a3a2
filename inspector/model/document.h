// An open file: its kind, the parts that could be read, and its errors.
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
  std::string name;       // name of the executable
  size_t executable = 0;  // index in the file
  std::shared_ptr<const ProgramModel> program;
};

struct Document {
  std::filesystem::path path;
  DocumentKind kind = DocumentKind::text;
  uint64_t bytes = 0;
  std::filesystem::file_time_type changed;
  std::string error;                  // why it could not be opened; else empty
  std::vector<std::string> problems;  // errors in parts of an opened file
  std::string damage;                 // why a part of a PopEF file cannot be read; else empty

  std::shared_ptr<const ir::Graph> ir;          // .onnx and IR text
  std::shared_ptr<const GraphModel> graph;      // .onnx and IR text
  std::shared_ptr<const PopefFile> popef;       // .popef
  std::shared_ptr<const ProgramModel> program;  // .popef: the first of `programs`
  std::vector<NamedProgram> programs;           // .popef: the readable ones of the first 64
  std::shared_ptr<TelemetryHistory> recording;

  std::string title() const { return path.filename().string(); }
};

// Determined by the first bytes of the file, then by the ending of its name, and otherwise by
// whether it begins with text.
DocumentKind document_kind(const std::filesystem::path& path);

// Errors in the file are stored in the document. Throws only Error(cancelled).
Document load_document(const std::filesystem::path& path, Progress& progress);

// Whether the file has a different time or size, or is missing.
bool has_changed(const Document& document);

}  // namespace poprt::inspector
