#include "popef/dump.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "base/json.h"
#include "popef/error.h"
#include "popef/metadata_fields.h"
#include "popef/model.h"

namespace poprt::popef {
namespace {

// The describe functions return the contents of files as JSON, from which the JSON output and the
// texts are made.
using Json = nlohmann::ordered_json;

Json describe(const TensorInfo& info) {
  return {{"data_type", data_type_name(info.dataType())},
          {"shape", info.shape()},
          {"bytes", info.sizeInBytes()}};
}

Json describe(const Anchor& anchor) {
  Json j = {{"name", anchor.name()},
            {"type", tensor_type_name(anchor.type())},
            {"handle", anchor.handle()}};
  j.update(describe(anchor.tensorInfo()));
  j["per_replica"] = anchor.isPerReplica();
  j["programs"] = anchor.programs();
  return j;
}

Json describe(const std::vector<Option>& options) {
  Json j = Json::array();  // not an object, because the order is significant and names may repeat
  for (const Option& o : options) j.push_back({{"name", o.name()}, {"value", o.value()}});
  return j;
}

Json describe(const std::vector<const Anchor*>& anchors) {
  Json j = Json::array();
  for (const Anchor* a : anchors) j.push_back(describe(*a));
  return j;
}

// The metadata of the ONNX model (compiler/onnx_metadata.h): strings by name. Null if the file does
// not have it or it is invalid.
Json describe_onnx(const Reader& reader, const std::string& executable) {
  constexpr uint64_t kLongest = 1 << 20;
  for (const OpaqueReader& o : reader.opaqueBlobs()) {
    if (o.name != "onnx_metadata" || o.executable != executable || o.size() > kLongest) continue;
    std::string content(o.size(), '\0');
    o.read(0, std::as_writable_bytes(std::span(content)));
    Json entries = try_parse_ordered_json(content);
    if (entries.is_object() && std::all_of(entries.begin(), entries.end(),
                                           [](const Json& value) { return value.is_string(); }))
      return entries;
  }
  return nullptr;
}

// The estimate of option `estimate` (docs/chip.md). Null if it is too large or is not an object.
Json describe_estimate(const OpaqueReader& blob) {
  constexpr uint64_t kLongest = 16 << 20;
  if (blob.size() > kLongest) return nullptr;
  std::string content(blob.size(), '\0');
  blob.read(0, std::as_writable_bytes(std::span(content)));
  Json estimate = try_parse_ordered_json(content);
  return estimate.is_object() ? estimate : Json();
}

// The metadata of a model, with the anchors that the caller must connect or, if a part of the model
// is missing, the reason why it is incomplete.
Json describe_model(const ModelBuilder& builder, const Metadata& m) {
  Json j;
  for_each_metadata_field([&](const auto& f) { j[std::string(f.name)] = (m.*f.get)(); });
  j["engine_options"] = describe(m.engineOptions());
  j["device_options"] = describe(m.deviceOptions());
  const ProgramFlow& flow = m.programFlow();
  j["program_flow"] = {{"load", flow.load()}, {"main", flow.main()}, {"save", flow.save()}};
  Json programs = Json::object();
  const std::map<uint32_t, std::string> sorted(m.programsMap().begin(), m.programsMap().end());
  for (const auto& [index, name] : sorted) programs[std::to_string(index)] = name;
  j["programs"] = std::move(programs);
  try {
    const auto model = builder.createModel(m.executable());
    j["user_inputs"] = describe(model->getUserInputAnchors());
    j["user_outputs"] = describe(model->getUserOutputAnchors());
  } catch (const Error& e) {
    j["incomplete"] = e.what();
  }
  Json anchors = Json::array();
  for (const Anchor& a : m.anchors()) anchors.push_back(describe(a));
  j["anchors"] = std::move(anchors);
  return j;
}

Json describe_data(const TensorDataInfo& info, const std::string& executable,
                   const BlobData& data) {
  Json j = {{"name", info.name()}, {"executable", executable}};
  j.update(describe(info.tensorInfo()));
  j["source"] = data.blob().source;
  j["payload_offset"] = data.blob().payload_offset;
  return j;
}

Json describe(const std::shared_ptr<Reader>& reader, const std::string& title) {
  Json j = {{"file", title}};
  Json blobs = Json::array();
  for (const BlobInfo& b : reader->blobs())
    blobs.push_back({{"type", blob_type_name(b.type)},
                     {"version", fmt::format("{}.{}", b.major, b.minor)},
                     {"name", b.name},
                     {"offset", b.offset},
                     {"bytes", b.size},
                     {"payload_offset", b.payload_offset},
                     {"payload_bytes", b.payload_bytes},
                     {"raw_bytes", b.raw_bytes},
                     {"compressed", b.compressed}});
  j["bytes"] = reader->parsedBytes();  // includes unknown blobs
  Json executables = Json::array();
  for (const ExecutableReader& e : reader->executables())
    executables.push_back({{"name", e.name},
                           {"bytes", e.size()},
                           {"stored_bytes", e.blob().payload_bytes},
                           {"compressed", e.blob().compressed},
                           {"payload_offset", e.blob().payload_offset}});
  j["executables"] = std::move(executables);
  const ModelBuilder builder(reader);
  Json models = Json::array();
  for (const Metadata& m : reader->metadata()) {
    models.push_back(describe_model(builder, m));
    if (Json onnx = describe_onnx(*reader, m.executable()); !onnx.is_null())
      models.back()["onnx"] = std::move(onnx);
  }
  j["models"] = std::move(models);
  Json tensors = Json::array(), feeds = Json::array(), opaque = Json::array();
  for (const TensorReader& t : reader->tensors())
    tensors.push_back(describe_data(t.info, t.executable, t));
  for (const FeedReader& f : reader->feeds()) {
    feeds.push_back(describe_data(f.info, f.executable, f));
    feeds.back()["tensors"] = f.info.numTensors();
  }
  for (const OpaqueReader& o : reader->opaqueBlobs()) {
    opaque.push_back({{"name", o.name}, {"executable", o.executable}, {"bytes", o.size()}});
    if (o.name == "poprt.estimate")
      if (Json estimate = describe_estimate(o); !estimate.is_null())
        opaque.back()["estimate"] = std::move(estimate);
    constexpr uint64_t kLongest = 1 << 16;
    // Of the other opaque blobs, only class labels and the distribution over IPUs are printed.
    if (!o.name.starts_with("class_labels/") && o.name != "poprt.shards") continue;
    if (o.size() > kLongest) continue;
    std::string labels(o.size(), '\0');
    o.read(0, std::as_writable_bytes(std::span(labels)));
    opaque.back()["text"] = labels;
  }
  j["tensors"] = std::move(tensors);
  j["feeds"] = std::move(feeds);
  j["opaque_blobs"] = std::move(opaque);
  j["blobs"] = std::move(blobs);
  Json warnings = reader->warnings();
  for (const std::string& w : builder.warnings()) warnings.push_back(w);
  j["warnings"] = std::move(warnings);
  return j;
}

// Names come from the file and are printed on a terminal, so control characters are escaped.
std::string text(const Json& value) {
  if (!value.is_string()) return json_text(value);
  std::string out;
  for (const char c : value.get_ref<const std::string&>()) {
    const auto u = static_cast<unsigned char>(c);
    if (u < 0x20 || u == 0x7f) {
      out += fmt::format("\\x{:02x}", u);
    } else {
      out += c;
    }
  }
  return out;
}

std::string list(const Json& values) {
  std::string out;
  for (const Json& v : values) out += (out.empty() ? "" : ",") + text(v);
  return "[" + out + "]";
}

// The main numbers of an estimate. Its content is from the file, so any key may be absent or have
// another type.
std::string estimate_line(const Json& estimate) {
  const auto value = [](const Json& from, const char* key) {
    return from.is_object() && from.contains(key) ? from[key] : Json();
  };
  const Json target = value(value(estimate, "target"), "name"), fits = value(estimate, "fits"),
             trust = value(value(value(estimate, "quality"), "cycles"), "trust");
  const auto word = [](const Json& json) {
    return json.is_null()           ? std::string("?")
           : json.is_number_float() ? fmt::format("{:.6g}", json.get<double>())
                                    : text(json);
  };
  return fmt::format("Estimate for {}: {} cycles [{}], {} ms, {} samples/s, {}", word(target),
                     word(value(estimate, "cycles")), word(trust),
                     word(value(estimate, "milliseconds")), word(value(estimate, "throughput")),
                     fits == Json(true)    ? "fits"
                     : fits == Json(false) ? "does not fit"
                                           : "?");
}

std::string counted(uint64_t n, std::string_view noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

class Printer {
 public:
  template <class... Args>
  void line(int indent, fmt::format_string<Args...> format, Args&&... args) {
    out_.append(static_cast<size_t>(indent) * 2, ' ');
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_ += '\n';
  }
  void head(const Json& j) {
    line(0, "{}: {}, {} bytes", text(j["file"]), counted(j["blobs"].size(), "blob"),
         text(j["bytes"]));
  }

  void anchors(int indent, const Json& list_of_anchors) {
    size_t width = 0;
    for (const Json& a : list_of_anchors) width = std::max(width, text(a["name"]).size());
    for (const Json& a : list_of_anchors)
      line(indent, "{:<{}}  {:<5} {}  {} bytes", text(a["name"]), width, text(a["data_type"]),
           list(a["shape"]), text(a["bytes"]));
    if (list_of_anchors.empty()) line(indent, "none");
  }

  void summary(const Json& j) {
    for (const Json& e : j["executables"]) {
      const std::string stored =
          e["compressed"].get<bool>() ? fmt::format(", stored as {}", text(e["stored_bytes"])) : "";
      line(0, "Executable {}: {} bytes{} at offset {}", text(e["name"]), text(e["bytes"]), stored,
           text(e["payload_offset"]));
    }
    for (const Json& m : j["models"]) {
      line(0, "Model {}: {}, {} (version {}), {}", text(m["executable"]),
           counted(m["replication_factor"], "replica"), counted(m["num_ipus"], "IPU"),
           text(m["ipu_version"]), m["is_inference"].get<bool>() ? "inference" : "training");
      if (m.contains("incomplete")) {
        line(1, "Incomplete: {}", text(m["incomplete"]));
        continue;
      }
      line(1, "Anchors, user-provided");
      line(2, "Inputs");
      anchors(3, m["user_inputs"]);
      line(2, "Outputs");
      anchors(3, m["user_outputs"]);
      const size_t others =
          m["anchors"].size() - m["user_inputs"].size() - m["user_outputs"].size();
      if (others != 0) line(1, "Anchors, others: {}", others);
    }
    for (const Json& t : j["tensors"])
      line(0, "Tensor {}: {}{}, {} bytes", text(t["name"]), text(t["data_type"]), list(t["shape"]),
           text(t["bytes"]));
    for (const Json& f : j["feeds"])
      line(0, "Feed {}: {} of {}{}, {} bytes each", text(f["name"]),
           counted(f["tensors"], "tensor"), text(f["data_type"]), list(f["shape"]),
           text(f["bytes"]));
    for (const Json& o : j["opaque_blobs"]) {
      line(0, "Opaque {}: {} bytes, for executable {}", text(o["name"]), text(o["bytes"]),
           text(o["executable"]));
      if (o.contains("text")) line(1, "{}", text(o["text"]));
      if (o.contains("estimate")) line(1, "{}", estimate_line(o["estimate"]));
    }
    for (const Json& w : j["warnings"]) line(0, "Warning: {}", text(w));
  }

  void options(std::string_view title, const Json& values) {
    line(1, "{}:{}", title, values.empty() ? " none" : "");
    for (const Json& o : values) line(2, "{} = {}", text(o["name"]), text(o["value"]));
  }

  void metadata(const Json& j) {
    for (const Json& m : j["models"]) {
      line(0, "Metadata of executable {}", text(m["executable"]));
      for_each_metadata_field([&](const auto& f) {
        if (f.name != "executable") line(1, "{}: {}", f.name, text(m[std::string(f.name)]));
      });
      options("engine_options", m["engine_options"]);
      options("device_options", m["device_options"]);
      const Json& flow = m["program_flow"];
      line(1, "program_flow: load {} main {} save {}", list(flow["load"]), list(flow["main"]),
           list(flow["save"]));
      for (const auto& [index, name] : m["programs"].items())
        line(2, "program {}: {}", index, text(name));
      if (m.contains("onnx")) {
        line(1, "onnx:");
        for (const auto& [key, value] : m["onnx"].items())
          line(2, "{}: {}", text(Json(key)), text(value));
      }
      line(1, "Anchors: {}", m["anchors"].size());
      for (const Json& a : m["anchors"])
        line(2, "{} {} {}{}, {} bytes, handle '{}', programs {}{}", text(a["type"]),
             text(a["name"]), text(a["data_type"]), list(a["shape"]), text(a["bytes"]),
             text(a["handle"]), list(a["programs"]),
             a["per_replica"].get<bool>() ? ", per replica" : "");
    }
    if (j["models"].empty()) line(0, "no metadata");
  }

  void user_anchors(const Json& j) {
    for (const Json& m : j["models"]) {
      line(0, "Model {}", text(m["executable"]));
      if (m.contains("incomplete")) {
        line(1, "Incomplete: {}", text(m["incomplete"]));
        continue;
      }
      for (const auto& [title, key] :
           {std::pair("Inputs", "user_inputs"), std::pair("Outputs", "user_outputs")}) {
        line(1, "{} (user-provided): {}", title, m[key].size());
        for (const Json& a : m[key]) {
          line(2, "Name: {}", text(a["name"]));
          line(3, "TensorInfo: {{ dtype: {}, sizeInBytes: {}, shape: {} }}", text(a["data_type"]),
               text(a["bytes"]), list(a["shape"]));
          line(3, "Programs: {}", list(a["programs"]));
          line(3, "Handle: {}", text(a["handle"]));
          line(3, "IsPerReplica: {}", text(a["per_replica"]));
        }
      }
    }
    if (j["models"].empty()) line(0, "no metadata");
  }

  void blobs(const Json& j) {
    for (const Json& b : j["blobs"])
      line(0, "Blob at offset {}: {} bytes, {}{}{}, version {}, payload {} bytes at offset {}{}",
           text(b["offset"]), text(b["bytes"]), text(b["type"]), b["name"] == "" ? "" : " ",
           text(b["name"]), text(b["version"]), text(b["payload_bytes"]), text(b["payload_offset"]),
           b["compressed"].get<bool>() ? fmt::format(", {} unpacked", text(b["raw_bytes"])) : "");
  }

  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

// Returns the result of Reader::verify() as one line.
std::string verification(const Reader& reader, const std::string& title) {
  const size_t without = reader.verify(), all = reader.blobs().size();
  const std::string found = without == 0 ? "all checksums are right"
                            : without == all
                                ? "no blob has a checksum"
                                : fmt::format("{} without checksum, the others are right", without);
  return fmt::format("{}: {}, {} bytes, {}\n", text(Json(title)), counted(all, "blob"),
                     reader.parsedBytes(), found);
}

}  // namespace

std::string dump(const std::shared_ptr<Reader>& reader, const std::string& title,
                 DumpFormat format) {
  if (format == DumpFormat::verify) return verification(*reader, title);
  const Json j = describe(reader, title);
  // Names need not be UTF-8, but JSON must be.
  if (format == DumpFormat::json) return json_text(j, 2) + "\n";
  Printer printer;
  printer.head(j);
  if (format == DumpFormat::summary || format == DumpFormat::all) printer.summary(j);
  if (format == DumpFormat::user_anchors) printer.user_anchors(j);
  if (format == DumpFormat::metadata || format == DumpFormat::all) printer.metadata(j);
  if (format == DumpFormat::all) printer.blobs(j);
  return printer.take();
}

std::string dump(const std::string& path, DumpFormat format) {
  const auto reader = std::make_shared<Reader>();
  reader->parseFile(path);
  return dump(reader, path, format);
}

}  // namespace poprt::popef
