#include "onnx/export.h"

#include "onnx/elem_type.h"
#include "support.h"

namespace poprt::onnx {
namespace {

std::unique_ptr<ir::Graph> trip(const ir::Graph& g, const ExportOptions& options = {}) {
  const std::string bytes = export_bytes(g, options);
  return import_bytes(bytes_of(bytes));
}
pb::ModelProto exported(const ir::Graph& g) {
  pb::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(export_bytes(g)));
  return model;
}

// Nodes, attributes of all types, subgraph, symbols, omitted inputs and outputs, constants of every
// element type.
std::unique_ptr<ir::Graph> rich_graph() {
  auto g = std::make_unique<ir::Graph>("rich");
  g->opsets = {{"", 17}, {"custom", 2}};
  g->metadata = {{"producer_name", "p"}, {"doc_string", "d"},    {"graph.doc_string", "gd"},
                 {"prop.k", "v"},        {"model_version", "3"}, {"domain", "org.x"}};
  ir::Value* x =
      g->add_input("x", {DType::f32, true, {2, kUnknownDim, kUnknownDim}, {"", "N", ""}});
  ir::Value* anything = g->add_input("anything", {});
  for (int32_t type = 1; type <= 26; type++) {
    if (type == 24) continue;
    const DType dtype = dtype_from_elem_type(type);
    g->add_constant("c_" + std::string(dtype_name(dtype)), dtype == DType::string
                                                               ? Tensor::strings({2}, {"a", "b"})
                                                               : Tensor::zeros(dtype, {3}));
  }
  ir::Value* w = g->add_constant("w", Tensor::of<float>({2, 2}, {1, 2, 3, 4}));
  ir::Node* n = g->add_node("Op", "custom", {x, nullptr, w}, 2);
  n->name = "op";
  n->attributes["i"] = int64_t{-1};
  n->attributes["f"] = 0.1f;
  n->attributes["s"] = std::string("s\0t", 3);
  n->attributes["t"] = Tensor::of<int64_t>({2}, {5, 6});
  n->attributes["is"] = std::vector<int64_t>{1, 2};
  n->attributes["none"] = std::vector<int64_t>{};
  n->attributes["fs"] = std::vector<float>{1.5f};
  n->attributes["ss"] = std::vector<std::string>{"a", ""};
  n->attributes["ts"] = std::vector<Tensor>{Tensor::scalar(1.f), Tensor::zeros(DType::u8, {0, 2})};
  n->output(0)->type = ir::ValueType::of(DType::f16, {7});
  ir::Node* branch = g->add_node("If", "", {anything});
  auto sub = std::make_shared<ir::Graph>("sub");
  sub->parent = g.get();
  ir::Value* k = sub->add_constant("k", Tensor::scalar(2.f));
  ir::Node* add = sub->add_node("Add", "", {n->output(0), k});
  sub->add_output(add->output());
  branch->attributes["then_branch"] = sub;
  branch->attributes["list"] = std::vector<std::shared_ptr<ir::Graph>>{};
  g->add_output(n->output(0));
  g->add_output(branch->output());
  g->add_output(branch->output());
  return g;
}

TEST(Export, RoundTripsEverything) {
  const auto g = rich_graph();
  const auto once = trip(*g);
  EXPECT_EQ(difference(*once, *trip(*once)), "");
  EXPECT_EQ(ir::type_string(once->find("x")->type), "f32[2,N,?]");
  EXPECT_EQ(once->outputs().size(), 3u);
  EXPECT_EQ(once->metadata.at("graph.doc_string"), "gd");
}

TEST(Export, IsDeterministic) {
  EXPECT_EQ(export_bytes(*rich_graph()), export_bytes(*rich_graph()));
  const auto once = trip(*rich_graph());
  EXPECT_EQ(export_bytes(*once), export_bytes(*trip(*once)));
}

TEST(Export, KeepsOmittedInputsAndOutputs) {
  pb::ModelProto model = relu_model();
  add_node(*model.mutable_graph(), "LSTM", {"x", "", "y"}, {"", "h"});
  const auto g = import_proto(model);
  const pb::ModelProto out = exported(*g);
  EXPECT_EQ(out.graph().node(1).input(1), "");
  EXPECT_EQ(out.graph().node(1).output(0), "");
  EXPECT_EQ(out.graph().node(1).output(1), "h");
  EXPECT_EQ(difference(*g, *trip(*g)), "");
}

TEST(Export, ChoosesTheIrVersion) {
  ir::Graph g;
  ir::Value* x = g.add_input("x", ir::ValueType::of(DType::f32, {1}));
  g.add_output(g.add_node("Relu", "", {x})->output());
  // ONNX's docs/Versioning.md.
  const std::pair<int64_t, int64_t> expected[] = {{6, 4},   {9, 4},   {10, 5},  {11, 6},  {12, 7},
                                                  {14, 7},  {15, 8},  {18, 8},  {19, 9},  {20, 9},
                                                  {21, 10}, {23, 11}, {24, 12}, {25, 13}, {28, 14}};
  for (const auto& [opset, ir_version] : expected) {
    g.opsets = {{"", opset}};
    EXPECT_EQ(exported(g).ir_version(), ir_version) << opset;
  }
  g.opsets = {{"", 11}};
  g.metadata["ir_version"] = "9";
  EXPECT_EQ(exported(g).ir_version(), 9);
  g.metadata["ir_version"] = "nonsense";
  EXPECT_EQ(exported(g).ir_version(), 6);
}

TEST(Export, ImportsOurDomainWhenUsed) {
  ir::Graph g;
  g.opsets = {{"", 17}};
  ir::Value* x = g.add_input("x", ir::ValueType::of(DType::f32, {1}));
  g.add_output(g.add_node("Silu", "poprt", {x})->output());
  EXPECT_EQ(trip(g)->opsets.at("poprt"), 1);
}

TEST(Export, KeepsNamesOfNestedGraphsApart) {
  ir::Graph g;
  g.opsets = {{"", 17}};
  ir::Value* x = g.add_input("x", ir::ValueType::of(DType::f32, {1}));
  ir::Node* n = g.add_node("If", "", {x});
  auto sub = std::make_shared<ir::Graph>("sub");
  sub->parent = &g;
  const std::string names[] = {"x"};
  ir::Value* const ins[] = {x};
  ir::Node* inner = sub->add_node("Neg", "", ins, 1, nullptr, names);
  sub->add_output(inner->output());
  n->attributes["then_branch"] = sub;
  g.add_output(n->output());
  const auto back = trip(g);
  const auto& body =
      **std::get_if<std::shared_ptr<ir::Graph>>(back->nodes()[0]->find_attr("then_branch"));
  EXPECT_EQ(body.nodes()[0]->input(0), back->find("x"));
  EXPECT_EQ(body.outputs()[0], body.nodes()[0]->output());
}

TEST(Export, NodesOfOneNameAreToldApart) {
  ir::Graph g;
  g.opsets = {{"", 17}};
  ir::Value* v = g.add_input("x", ir::ValueType::of(DType::f32, {1}));
  for (const char* name : {"n", "", "n", "n_0", "n", ""}) {
    ir::Node* node = g.add_node("Neg", "", {v});
    node->name = name;
    v = node->output();
  }
  v->type = ir::ValueType::of(DType::f32, {1});
  g.add_output(v);
  const auto back = trip(g);
  std::vector<std::string> names;
  for (const ir::Node* n : back->nodes()) names.push_back(n->name);
  EXPECT_EQ(names, (std::vector<std::string>{"n", "", "n_0", "n_0_0", "n_1", ""}));
}

// Of what nodes make, but for outputs and for what nobody knows the type of.
TEST(Export, ValueInfoIsOfWhatLiesBetween) {
  ir::Graph g("g");
  g.opsets[""] = 17;
  ir::Value* x = g.add_input("x", ir::ValueType::of(DType::f32, {2}));
  ir::Value* c = g.add_constant("c", Tensor::of<float>({2}, {1, 2}));
  const auto made = [&](const std::string& name, ir::Value* from, ir::ValueType type) {
    ir::Node* n = g.add_node("Add", "", {from, c}, 1);
    g.rename(n->output(), name);
    n->output()->type = std::move(type);
    return n->output();
  };
  ir::Value* known = made("known", x, ir::ValueType::of(DType::f32, {2}));
  ir::Value* typed = made("typed", known, {DType::f32, false, {}, {}});
  ir::Value* unknown = made("unknown", typed, {});
  g.add_output(made("y", unknown, ir::ValueType::of(DType::f32, {2})));
  const pb::ModelProto model = exported(g);
  std::vector<std::string> names;
  for (const auto& info : model.graph().value_info()) names.push_back(info.name());
  EXPECT_EQ(names, (std::vector<std::string>{"known", "typed"}));
}

// Numbers in the metadata that are none are taken for what is usual.
TEST(Export, NumbersOfTheMetadataMayBeMissing) {
  const auto versions = [](const std::map<std::string, std::string>& metadata) {
    ir::Graph g("g");
    g.opsets[""] = 15;
    g.metadata = metadata;
    g.add_output(g.add_node("Relu", "", {g.add_input("x", {})})->output());
    const pb::ModelProto model = exported(g);
    return std::pair(model.ir_version(), model.model_version());
  };
  EXPECT_EQ(versions({}), std::pair(int64_t{8}, int64_t{0}));
  EXPECT_EQ(versions({{"model_version", "7"}}), std::pair(int64_t{8}, int64_t{7}));
  for (const char* word : {"", "x", "7x", "7 ", "99999999999999999999"})
    EXPECT_EQ(versions({{"model_version", word}}), std::pair(int64_t{8}, int64_t{0})) << word;
}

TEST(Export, ValueInfoIsOptional) {
  ir::Graph g;
  g.opsets = {{"", 17}};
  ir::Value* x = g.add_input("x", ir::ValueType::of(DType::f32, {1}));
  ir::Node* n = g.add_node("Relu", "", {x});
  n->output()->type = ir::ValueType::of(DType::f32, {1});
  g.add_output(g.add_node("Relu", "", {n->output()})->output());
  EXPECT_EQ(trip(g)->nodes()[0]->output()->type.shape, (Shape{1}));
  EXPECT_FALSE(trip(g, {.value_info = false})->nodes()[0]->output()->type.has_shape);
}

TEST(Export, RefusesTypesThatOnnxLacks) {
  ir::Graph g;
  g.opsets = {{"", 17}};
  g.add_output(g.add_constant("q", Tensor::zeros(DType::f8_152, {1})));
  expect_error(ErrorCode::unimplemented, {"f8_152"}, [&] { export_bytes(g); });
  const TemporaryDirectory dir;
  EXPECT_THROW(export_file(g, dir / "m.onnx"), Error);
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

// Mapped weights are used where they lie: each begins at a multiple of 64, small ones stay inside.
TEST(Export, ExternalDataIsAlignedAndOfTheThreshold) {
  const TemporaryDirectory dir;
  ir::Graph g;
  g.opsets = {{"", 17}};
  for (const int64_t size : {3, 15, 16, 17, 33, 0, 64}) {
    Tensor t = Tensor::zeros(DType::f32, {size});
    for (float& v : t.mutable_values<float>()) v = static_cast<float>(size);
    g.add_output(g.add_constant("t" + std::to_string(size), t));
  }
  export_file(g, dir / "m.onnx", {.external_data = true, .external_threshold = 64});
  std::ifstream file(dir / "m.onnx", std::ios::binary);
  pb::ModelProto model;
  ASSERT_TRUE(model.ParseFromIstream(&file));
  uint64_t end = 0;
  std::map<std::string, uint64_t> outside;
  for (const auto& t : model.graph().initializer())
    for (const auto& e : t.external_data()) {
      if (e.key() == "location") EXPECT_EQ(e.value(), "m.onnx.data");
      if (e.key() == "offset") {
        const uint64_t offset = std::stoull(e.value());
        EXPECT_EQ(offset % 64, 0u) << t.name();
        EXPECT_GE(offset, end) << t.name();
        EXPECT_LT(offset, end + 64) << t.name() << " begins where it may";
        outside[t.name()] = end = offset;
      }
      if (e.key() == "length") end += std::stoull(e.value());
    }
  EXPECT_EQ(outside.size(), 4u) << "of 16 numbers and more";
  EXPECT_TRUE(outside.contains("t16"));
  EXPECT_EQ(std::filesystem::file_size(dir / "m.onnx.data"), end);
  EXPECT_EQ(difference(g, *import_file(dir / "m.onnx")), "");
}

TEST(Export, WritesFilesThatReadBack) {
  const TemporaryDirectory dir;
  const auto g = trip(*rich_graph());
  export_file(*g, dir / "m.onnx");
  EXPECT_EQ(difference(*g, *import_file(dir / "m.onnx")), "");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1);
  export_file(*g, dir / "e.onnx", {.external_data = true, .external_threshold = 1});
  EXPECT_TRUE(std::filesystem::exists(dir / "e.onnx.data"));
  EXPECT_EQ(difference(*g, *import_file(dir / "e.onnx")), "");
  expect_error(ErrorCode::not_found, {"missing"},
               [&] { export_file(*g, dir / "missing" / "m.onnx"); });
}

}  // namespace
}  // namespace poprt::onnx
