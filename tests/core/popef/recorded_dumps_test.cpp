// Files of many kinds as their readers see them: the models that are built, the warnings about
// omitted parts, and the printed text. A lost check or another choice changes a line.
#include <gtest/gtest.h>

#include "core/popef/support.h"
#include "popef/dump.h"
#include "popef/error.h"
#include "popef/model.h"
#include "support/recorded_lines.h"

namespace poprt::popef {
namespace {

// Random blobs of few names, so that several have the same one: metadata with anchors, executables,
// and data that fits or does not.
std::string random_file(uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  const std::string models[] = {"m", "m2", ""}, names[] = {"x", "w", "y"};
  const TensorInfo infos[] = {{DataType::F16, {4}}, {DataType::F32, {1, 2}}, {DataType::S8, {}}};
  std::ostringstream out;
  Writer writer(out);
  const size_t count = 1 + below(7);
  std::set<std::string> executables;
  for (size_t i = 0; i < count; i++) {
    const std::string& model = models[below(3)];
    const std::string& name = names[below(3)];
    const TensorInfo& info = infos[below(3)];
    switch (i < 2 ? i : below(6)) {
      case 0: {
        Metadata m;
        m.setExecutable(model.empty() ? "m" : model);
        m.programFlow().setLoad({0});
        m.programFlow().setMain({1, 2});
        for (size_t k = below(4); k-- > 0;)
          m.anchors().push_back(Anchor(names[k], below(5) ? "handle" : "", infos[below(3)],
                                       static_cast<TensorType>(below(3)),
                                       {static_cast<uint32_t>(below(4))}, below(3) == 0));
        if (below(2)) m.setProgramsMap({{2, "two"}, {1, "one"}});
        if (below(2)) m.setEngineOptions({{"key", "value"}, {"b", ""}});
        m.setIsInference(below(2) == 0);
        m.setReplicationFactor(static_cast<uint32_t>(1 + below(2)));
        m.setNumIpus(static_cast<uint32_t>(1 + below(2)));
        writer.write(m);
        break;
      }
      case 1:
        if (const std::string& e = model.empty() ? models[0] : model; executables.insert(e).second)
          writer.createExecutable(e, below(4) == 0)->stream << "program of " << e;
        break;
      case 2:
      case 3: {
        const std::string data(info.sizeInBytes(), 'd');
        writer.createTensorData({name, info}, model)->write(data.data(), data.size());
        break;
      }
      case 4: {
        const FeedDataInfo feed(name, info, 1 + below(2));
        const std::string data(feed.sizeInBytes(), 'f');
        writer.createFeedData(feed, model)->write(data.data(), data.size());
        break;
      }
      default:
        writer.createOpaqueBlob(below(2) ? "onnx_metadata" : "notes", model)->stream
            << (below(2) ? R"({"producer_name": "p", "doc": "d"})" : R"({"a": 1})");
    }
  }
  writer.close();
  return out.str();
}

std::string names_of(const std::vector<const Anchor*>& anchors) {
  std::string names;
  for (const Anchor* a : anchors) names += " " + a->name();
  return names;
}

void add_model(const Model& m, test::MessageCounts& messages) {
  std::string line = "taken: inputs" + names_of(m.getUserInputAnchors()) + "; outputs" +
                     names_of(m.getUserOutputAnchors()) + "; tensors";
  for (const auto& t : m.tensors) line += " " + t.info.name() + (t.executable.empty() ? "" : "!");
  line += "; feeds";
  for (const auto& f : m.feeds) line += " " + f.info.name() + (f.executable.empty() ? "" : "!");
  messages.add(line + fmt::format("; {} opaque", m.opaqueBlobs.size()));
}

TEST(RecordedDumps, ModelsOfRandomFiles) {
  test::RecordedLines found;
  test::MessageCounts messages, warned;
  for (uint32_t seed = 0; seed < 1200; seed++) {
    const auto reader = std::make_shared<Reader>();
    parse(*reader, random_file(seed));
    const ModelBuilder builder(reader);
    try {
      if (seed % 3 == 0)
        for (const auto& m : builder.createModels()) add_model(*m, messages);
      else
        add_model(seed % 3 == 1 ? *builder.createModel() : *builder.createModel("m"), messages);
    } catch (const Error& e) {
      messages.add(e.message());
    }
    for (const std::string& w : builder.warnings()) warned.add(w);
  }
  messages.write(found["models"]);
  warned.write(found["warnings"]);
  test::expect_recorded(found, POPRT_TEST_DATA "/popef_models.txt",
                        "Which models random files hold: recorded_dumps_test.cpp.");
}

TEST(RecordedDumps, EveryFormatOfAFewFiles) {
  test::RecordedLines whole, sweep;
  std::vector<std::pair<std::string, std::string>> files = {{"sample", sample_file()},
                                                            {"compressed", sample_file(true)}};
  for (uint32_t seed = 1; seed <= 12; seed++)
    files.emplace_back(fmt::format("random {}", seed), random_file(seed));
  const std::pair<const char*, DumpFormat> formats[] = {{"summary", DumpFormat::summary},
                                                        {"metadata", DumpFormat::metadata},
                                                        {"all", DumpFormat::all},
                                                        {"json", DumpFormat::json},
                                                        {"user anchors", DumpFormat::user_anchors}};
  for (const auto& [name, bytes] : files)
    for (const auto& [format_name, format] : formats) {
      const auto reader = std::make_shared<Reader>();
      parse(*reader, bytes);
      std::istringstream text(dump(reader, name + ".popef", format));
      // The texts of a few files are recorded in full, because users read them.
      const bool few = name == "sample" || name == "compressed" || name == "random 1";
      auto& lines = few ? whole[name + ", " + format_name] : sweep[name];
      for (std::string line; std::getline(text, line);)
        lines.insert(fmt::format("{:03} {}", lines.size(), line));
    }
  test::expect_recorded(whole, POPRT_TEST_DATA "/popef_dumps.txt",
                        "How files are printed: recorded_dumps_test.cpp.");
  test::expect_digests(sweep, POPRT_TEST_DATA "/popef_dumps_of_random_files.txt",
                       "How random files are printed: recorded_dumps_test.cpp.");
}

}  // namespace
}  // namespace poprt::popef
