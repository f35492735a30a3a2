#include "model/variant_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "base/json.h"
#include "base/shape.h"
#include "model/format.h"

namespace poprt::inspector {
namespace {

using Json = nlohmann::json;

// Calls `read(json)` and returns the result, or nothing if the blob does not have the expected
// form.
template <class T, class F>
T read_blob(std::string_view text, F&& read) {
  T made;
  const Json json = try_parse_json(text);
  if (json.is_discarded()) return made;
  try {
    read(json, made);
  } catch (const Json::exception&) {
    return {};
  }
  return made;
}

// Returns the size of each named dimension of one bucket, in the order of the names.
std::string sizes_text(const Json& json, const Json& bucket) {
  std::map<std::string, int64_t> sizes;
  for (const auto& [anchor, what] : json.at("inputs").items()) {
    const Json& shape = what.at("shape");
    for (size_t d = 0; d < shape.size(); d++)
      if (shape[d].is_string()) sizes[shape[d]] = bucket.at("inputs").at(anchor).at(d);
  }
  std::vector<std::string> words;
  for (const std::string name : json.at("dimensions"))
    if (sizes.contains(name)) words.push_back(fmt::format("{} {}", printable(name), sizes[name]));
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

std::vector<std::string> variant_names(std::string_view variants) {
  using Names = std::vector<std::string>;
  return read_blob<Names>(variants, [](const Json& json, Names& names) {
    if (json.at("kind") == "graphs")
      for (const std::string name : json.at("graphs"))
        names.push_back(fmt::format("graph{} {}", names.size(), printable(name)));
    if (json.at("kind") == "shapes")
      for (const Json& bucket : json.at("buckets")) names.push_back(sizes_text(json, bucket));
  });
}

std::vector<std::string> bucket_shapes(std::string_view variants, const std::string& anchor) {
  using Shapes = std::vector<std::string>;
  return read_blob<Shapes>(variants, [&](const Json& json, Shapes& shapes) {
    if (json.at("kind") != "shapes") return;
    for (const Json& bucket : json.at("buckets")) {
      const bool input = bucket.at("inputs").contains(anchor);
      shapes.push_back(
          dimensions_text(bucket.at(input ? "inputs" : "outputs").at(anchor).get<Shape>()));
    }
  });
}

TextRows variant_rows(std::string_view variants) {
  TextRows rows;
  const auto names = variant_names(variants);
  for (size_t i = 0; i < names.size(); i++) {
    const bool graph = names[i].starts_with(fmt::format("graph{} ", i));
    rows.emplace_back(fmt::format("{} {}", graph ? "graph" : "shapes", i),
                      graph ? names[i].substr(names[i].find(' ') + 1) : names[i]);
  }
  return rows;
}

TextRows shard_rows(std::string_view shards) {
  return read_blob<TextRows>(shards, [](const Json& json, TextRows& rows) {
    for (const Json& s : json.at("shards")) {
      const int64_t stage = s.value("stage", int64_t{-1});  // -1 if the program is not pipelined
      rows.emplace_back(
          fmt::format("part {}", rows.size()),
          fmt::format("IPU {}{}: {}, weights {}, memory {}", s.at("ipu").get<int64_t>(),
                      stage < 0 ? "" : fmt::format(", stage {}", stage),
                      counted(s.at("instructions").get<size_t>(), "instruction"),
                      bytes_text(s.at("weights_bytes").get<uint64_t>()),
                      bytes_text(s.at("arena_bytes").get<uint64_t>())));
    }
    size_t number = 0;
    for (const Json& t : json.at("transfers")) {
      const std::vector<int64_t> to = t.at("to");
      rows.emplace_back(
          fmt::format("transfer {}", number++),
          fmt::format("{} {} {}, {}: part {} to {}", printable(t.at("name").get<std::string>()),
                      printable(t.at("dtype").get<std::string>()),
                      dimensions_text(t.at("shape").get<Shape>()),
                      bytes_text(t.at("bytes").get<uint64_t>()), t.at("from").get<int64_t>(),
                      fmt::join(to, ", ")));
    }
  });
}

}  // namespace poprt::inspector
