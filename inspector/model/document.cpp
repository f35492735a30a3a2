#include "model/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "compiler/driver.h"
#include "ir/text.h"
#include "model/format.h"
#include "model/overlay.h"
#include "model/run_input.h"
#include "ops/op.h"

namespace poprt::inspector {
namespace {

constexpr uint64_t kMostTextBytes = uint64_t{1} << 30;
constexpr size_t kMostPrograms = 64;  // programs that are shown of one file

std::string first_bytes(const std::filesystem::path& path) {
  std::array<char, 64> bytes{};
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), bytes.size());
  return {bytes.data(), static_cast<size_t>(std::max<std::streamsize>(0, file.gcount()))};
}

std::unique_ptr<ir::Graph> read_text(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  if (file->bytes().size() > kMostTextBytes)
    fail(ErrorCode::resource_exhausted, "{} bytes of text, at most {} are read",
         file->bytes().size(), kMostTextBytes);
  return ir::parse_text(
      {reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()});
}

void load_graph(Document& d, Progress& progress) {
  progress.step(0.1, "reading");
  auto graph =
      d.kind == DocumentKind::onnx ? compiler::read_model({.path = d.path}) : read_text(d.path);
  progress.step(0.6, "inferring shapes");
  try {
    // Inference runs on a copy, because incomplete types after an error could contradict those of
    // the model.
    auto inferred = graph->clone();
    ops::infer(*inferred);
    graph = std::move(inferred);
  } catch (const Error& e) {
    d.problems.push_back("only the shapes that the model declares are known: " +
                         printable(e.what()));
  }
  progress.step(0.8, "reading nodes");
  d.graph = std::make_shared<GraphModel>(*graph);
  d.ir = std::move(graph);
}

void load_popef(Document& d, Progress& progress) {
  progress.step(0.1, "reading blobs");
  d.popef = std::make_shared<PopefFile>(d.path);
  d.problems = d.popef->problems();
  if (d.popef->is_damaged()) d.damage = d.problems[0];
  progress.step(0.5, "reading the program");
  const size_t count = d.popef->executable_count();
  for (size_t i = 0; i < std::min(count, kMostPrograms); i++) {
    const std::string name = printable(d.popef->executable_name(i));
    progress.step(0.5 + 0.5 * static_cast<double>(i) / static_cast<double>(count),
                  "reading the program");
    try {
      const program::LoadedProgram loaded = d.popef->program(i);
      d.programs.push_back(
          {name, i,
           std::make_shared<ProgramModel>(loaded.program, d.popef->variants(i), loaded.narrow)});
    } catch (const Error& e) {
      d.problems.push_back(
          fmt::format("{} cannot be shown: {}",
                      count > 1 ? fmt::format("program '{}'", name) : std::string("the program"),
                      printable(e.what())));
    }
  }
  if (count > kMostPrograms)
    d.problems.push_back(
        fmt::format("of {} programs the first {} are shown", count, kMostPrograms));
  if (!d.programs.empty()) d.program = d.programs[0].program;
}

}  // namespace

const char* document_kind_name(DocumentKind kind) {
  static constexpr const char* names[] = {"ONNX", "PopEF", "IR text", "recording"};
  return names[static_cast<size_t>(kind)];
}

DocumentKind document_kind(const std::filesystem::path& path) {
  const std::string head = first_bytes(path);
  if (head.starts_with("PopEF") || head.starts_with("POPEF")) return DocumentKind::popef;
  if (head.starts_with(kRecordingHead)) return DocumentKind::recording;
  const std::string ending = path.extension().string();
  if (ending == ".onnx" || ending == ".pb") return DocumentKind::onnx;
  if (ending == ".popef") return DocumentKind::popef;
  if (ending == ".telemetry") return DocumentKind::recording;
  const size_t start = head.find_first_not_of(" \t\r\n");
  if (start != std::string::npos && (head.compare(start, 5, "graph") == 0 || head[start] == '#'))
    return DocumentKind::text;
  const bool binary = std::any_of(head.begin(), head.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t';
  });
  return binary ? DocumentKind::onnx : DocumentKind::text;
}

namespace {

// A one-line message with the name of the file.
std::string named(const std::filesystem::path& path, const std::string& message) {
  const std::string name = printable(path.filename().string()), line = printable(message);
  return line.find(name) == std::string::npos ? name + ": " + line : line;
}

}  // namespace

Document load_document(const std::filesystem::path& path, Progress& progress) {
  Document d;
  d.path = path;
  progress.step(0, "opening");
  try {
    std::error_code gone;
    d.changed = std::filesystem::last_write_time(path, gone);
    d.bytes = MappedFile::open(path)->bytes().size();
    if (is_input_file(path))
      fail(ErrorCode::invalid_argument,
           "this file is a picture or a tensor and not a model; drop it on the window while a "
           "model is shown to use it as an input");
    d.kind = document_kind(path);
    if (d.kind == DocumentKind::text && is_overlay_file(path))
      fail(ErrorCode::invalid_argument,
           "this file is not a model; if it has values of nodes, open it after the model, whose "
           "graph it colours");
    if (d.kind == DocumentKind::popef)
      load_popef(d, progress);
    else if (d.kind == DocumentKind::recording)
      d.recording = std::make_shared<TelemetryHistory>(read_recording(path));
    else
      load_graph(d, progress);
  } catch (const Error& e) {
    if (e.code() == ErrorCode::cancelled) throw;
    d.error = named(path, e.what());
  } catch (const std::exception& e) {
    d.error = named(path, e.what());
  }
  if (!d.damage.empty()) d.damage = named(path, d.damage);
  return d;
}

bool has_changed(const Document& d) {
  std::error_code error;
  const auto changed = std::filesystem::last_write_time(d.path, error);
  const auto bytes = std::filesystem::file_size(d.path, error);
  return error || changed != d.changed || bytes != d.bytes;
}

}  // namespace poprt::inspector
