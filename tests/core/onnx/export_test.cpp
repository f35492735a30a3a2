#include "onnx/export.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

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

// Importers need the type of an attribute, even of one whose field is not empty.
TEST(Export, EveryAttributeHasItsType) {
  ir::Graph g;
  g.opsets = {{"", 17}};
  ir::Value* x = g.add_input("x", ir::ValueType::of(DType::f32, {1}));
  ir::Node* n = g.add_node("Custom", "ai.graphcore", {x});
  const auto body = [&] {
    auto sub = std::make_shared<ir::Graph>("sub");
    sub->parent = &g;
    sub->add_output(sub->add_node("Relu", "", {x})->output());
    return sub;
  };
  n->attributes["i"] = int64_t{0};
  n->attributes["f"] = 0.0f;
  n->attributes["s"] = std::string();
  n->attributes["t"] = Tensor::of<float>({1}, {1});
  n->attributes["g"] = body();
  n->attributes["is"] = std::vector<int64_t>{};
  n->attributes["fs"] = std::vector<float>{};
  n->attributes["ss"] = std::vector<std::string>{};
  n->attributes["ts"] = std::vector<Tensor>{};
  n->attributes["gs"] = std::vector<std::shared_ptr<ir::Graph>>{body()};
  g.add_output(n->output());
  const pb::ModelProto model = exported(g);
  std::map<std::string, pb::AttributeProto::AttributeType> types;
  for (const pb::AttributeProto& a : model.graph().node(0).attribute()) types[a.name()] = a.type();
  const std::map<std::string, pb::AttributeProto::AttributeType> expected = {
      {"i", pb::AttributeProto::INT},      {"f", pb::AttributeProto::FLOAT},
      {"s", pb::AttributeProto::STRING},   {"t", pb::AttributeProto::TENSOR},
      {"g", pb::AttributeProto::GRAPH},    {"is", pb::AttributeProto::INTS},
      {"fs", pb::AttributeProto::FLOATS},  {"ss", pb::AttributeProto::STRINGS},
      {"ts", pb::AttributeProto::TENSORS}, {"gs", pb::AttributeProto::GRAPHS}};
  EXPECT_EQ(types, expected);
}

TEST(Export, AnInputWithAValueIsAnInitializerOnly) {
  ir::Graph g;
  g.opsets = {{"", 17}};
  ir::Value* x = g.add_input("x", ir::ValueType::of(DType::f32, {1}));
  ir::Value* w = g.add_input("w", ir::ValueType::of(DType::f32, {1}));
  w->set_constant(Tensor::of<float>({1}, {3}));
  g.add_output(g.add_node("Add", "", {x, w})->output());
  const pb::ModelProto model = exported(g);
  ASSERT_EQ(model.graph().input_size(), 1);
  EXPECT_EQ(model.graph().input(0).name(), "x");
  ASSERT_EQ(model.graph().initializer_size(), 1);
  EXPECT_EQ(model.graph().initializer(0).name(), "w");
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
  for (const auto& [opset, ir_version] : expected) {
    g.opsets = {{"ai.onnx", opset}};
    const auto model = exported(g);
    EXPECT_EQ(model.ir_version(), ir_version) << opset;
    ASSERT_EQ(model.opset_import_size(), 1);
    EXPECT_EQ(model.opset_import(0).domain(), "");
    EXPECT_EQ(model.opset_import(0).version(), opset);
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

TEST(Export, NamesOfNestedGraphsAreUnique) {
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

TEST(Export, RenamesNodesWithEqualNames) {
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

// Types of the results of nodes, except for outputs and for values of unknown type.
TEST(Export, ValueInfoListsIntermediateValuesOfKnownType) {
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

// Invalid numbers in the metadata are replaced by the defaults.
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

// Mapped weights are used in place: each begins at a multiple of 64. Small ones stay in the model.
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

// Small pieces of a file are collected up to 64 KiB. The length of a name moves the begin of a
// large tensor over this limit.
TEST(Export, CollectedPiecesStayInTheirOrder) {
  constexpr size_t kGather = size_t{1} << 16, kLarge = kGather + 1;
  const TemporaryDirectory dir;
  const auto graph_with_name = [&](size_t length) {
    ir::Graph g;
    g.opsets = {{"", 17}};
    Tensor small = Tensor::zeros(DType::u8, {40000}), large = Tensor::zeros(DType::u8, {kLarge});
    std::ranges::fill(small.mutable_values<uint8_t>(), uint8_t{0x55});
    std::ranges::fill(large.mutable_values<uint8_t>(), uint8_t{0xaa});
    g.add_constant("small", small);
    g.add_output(g.add_constant(std::string(length, 'n'), large));
    return export_bytes(g);
  };
  const auto begin_of_large = [](const std::string& bytes) { return bytes.size() - kLarge; };
  // The name occurs twice: as an initializer and as an output.
  const size_t near = (kGather - begin_of_large(graph_with_name(12000))) / 2 + 12000;
  bool below = false, above = false;
  for (size_t length = near - 6; length < near + 12; length++) {
    const std::string bytes = graph_with_name(length);
    below = below || begin_of_large(bytes) < kGather;
    above = above || begin_of_large(bytes) > kGather + 8;
    const auto g = import_bytes(bytes_of(bytes));
    export_file(*g, dir / "m.onnx");
    std::ifstream file(dir / "m.onnx", std::ios::binary);
    const std::string written((std::istreambuf_iterator<char>(file)), {});
    EXPECT_TRUE(written == export_bytes(*g)) << "a name of " << length << " bytes";
  }
  EXPECT_TRUE(below && above);
}

TEST(Export, ReplacesNoFileOfItsSources) {
  const TemporaryDirectory dir;
  const auto g = trip(*rich_graph());
  export_file(*g, dir / "a.onnx", {.external_data = true, .external_threshold = 1});
  const ExportOptions plain = {.sources = {dir / "a.onnx"}};
  const ExportOptions external = {
      .external_data = true, .external_threshold = 1, .sources = {dir / "a.onnx"}};
  for (const char* name : {"a.onnx", "a.onnx.data"})
    expect_error(ErrorCode::invalid_argument, {name, "would be overwritten; give another path"},
                 [&] { export_file(*g, dir / name, plain); });
  // A model whose external data would have the name of that of the source.
  std::filesystem::rename(dir / "a.onnx", dir / "b.onnx");
  ExportOptions renamed = external;
  renamed.sources = {dir / "b.onnx"};
  expect_error(ErrorCode::invalid_argument, {"a.onnx.data", "has tensors of"},
               [&] { export_file(*g, dir / "a.onnx", renamed); });
  EXPECT_FALSE(std::filesystem::exists(dir / "a.onnx"));
  EXPECT_EQ(difference(*g, *import_file(dir / "b.onnx")), "");
  export_file(*g, dir / "c.onnx", renamed);
  EXPECT_EQ(difference(*g, *import_file(dir / "c.onnx")), "");
}

TEST(Export, WritesEachFieldOfTheHead) {
  ir::Graph g("name");
  g.opsets = {{"", 17}, {"custom", 3}};
  g.metadata = {{"producer_name", "p"}, {"producer_version", "1.2"}, {"domain", "org.x"},
                {"model_version", "7"}, {"doc_string", "d"},         {"graph.doc_string", "gd"},
                {"prop.k", "v"},        {"prop.", "nameless"},       {"other", "o"}};
  g.add_output(g.add_node("Relu", "", {g.add_input("x", {})})->output());
  const pb::ModelProto m = exported(g);
  EXPECT_EQ(m.ir_version(), 8);
  EXPECT_EQ(m.producer_name(), "p");
  EXPECT_EQ(m.producer_version(), "1.2");
  EXPECT_EQ(m.domain(), "org.x");
  EXPECT_EQ(m.model_version(), 7);
  EXPECT_EQ(m.doc_string(), "d");
  EXPECT_EQ(m.graph().doc_string(), "gd");
  EXPECT_EQ(m.graph().name(), "name");
  ASSERT_EQ(m.metadata_props_size(), 2);
  EXPECT_EQ(m.metadata_props(0).key(), "");
  EXPECT_EQ(m.metadata_props(0).value(), "nameless");
  EXPECT_EQ(m.metadata_props(1).key(), "k");
  EXPECT_EQ(m.metadata_props(1).value(), "v");
  ASSERT_EQ(m.opset_import_size(), 2) << "our domain is not in use";
  EXPECT_EQ(m.opset_import(1).domain(), "custom");
  EXPECT_EQ(m.opset_import(1).version(), 3);
  EXPECT_FALSE(m.graph().input(0).has_type()) << "nothing is known of it";
  EXPECT_FALSE(m.graph().node(0).has_name());
  EXPECT_FALSE(m.graph().node(0).has_domain());
  g.name.clear();
  EXPECT_EQ(exported(g).graph().name(), "graph");
}

TEST(Export, IrVersionsAreKnown) {
  ir::Graph g;
  g.add_output(g.add_node("Op", "custom", {g.add_input("x", {})})->output());
  const auto version = [&](const std::map<std::string, int64_t>& opsets, const char* wanted) {
    g.opsets = opsets;
    g.metadata["ir_version"] = wanted;
    return exported(g).ir_version();
  };
  EXPECT_EQ(version({{"custom", 1}}, ""), 4) << "without the standard domain";
  EXPECT_EQ(version({{"", 17}}, "14"), 14);
  EXPECT_EQ(version({{"", 17}}, "15"), 14);
  EXPECT_EQ(version({{"", 17}}, "9"), 9);
  EXPECT_EQ(version({{"", 17}}, "7"), 8);
  EXPECT_EQ(version({{"", 27}}, "1"), 13);
  EXPECT_EQ(version({{"", 22}}, "1"), 10);
  EXPECT_EQ(version({{"", 16}}, "1"), 8);
}

TEST(Export, WritesTheKnownPartsOfTypes) {
  ir::Graph g;
  g.opsets = {{"", 17}};
  const auto add = [&](const char* name, ir::ValueType type) {
    g.add_output(g.add_node("Relu", "", {g.add_input(name, std::move(type))})->output());
  };
  add("dims", {DType::f16, true, {2, kUnknownDim, kUnknownDim, 0}, {"A", "N", "", ""}});
  add("plain", {DType::f32, true, {kUnknownDim, 4}, {}});
  add("scalar", {DType::f32, true, {}, {}});
  add("rankless", {DType::s64, false, {}, {}});
  add("shape", {DType::undefined, true, {3}, {}});
  const pb::ModelProto m = exported(g);
  const auto& dims = m.graph().input(0).type().tensor_type();
  EXPECT_EQ(dims.elem_type(), pb::TensorProto::FLOAT16);
  ASSERT_EQ(dims.shape().dim_size(), 4);
  EXPECT_EQ(dims.shape().dim(0).dim_value(), 2);
  EXPECT_FALSE(dims.shape().dim(0).has_dim_param());
  EXPECT_EQ(dims.shape().dim(1).dim_param(), "N");
  EXPECT_FALSE(dims.shape().dim(2).has_dim_param());
  EXPECT_FALSE(dims.shape().dim(2).has_dim_value());
  EXPECT_TRUE(dims.shape().dim(3).has_dim_value());
  EXPECT_EQ(dims.shape().dim(3).dim_value(), 0);
  const auto& plain = m.graph().input(1).type().tensor_type().shape();
  EXPECT_FALSE(plain.dim(0).has_dim_param());
  EXPECT_FALSE(plain.dim(0).has_dim_value());
  EXPECT_EQ(plain.dim(1).dim_value(), 4);
  EXPECT_TRUE(m.graph().input(2).type().tensor_type().has_shape());
  EXPECT_FALSE(m.graph().input(3).type().tensor_type().has_shape());
  EXPECT_EQ(m.graph().input(3).type().tensor_type().elem_type(), pb::TensorProto::INT64);
  EXPECT_FALSE(m.graph().input(4).type().tensor_type().has_elem_type());
  EXPECT_EQ(m.graph().input(4).type().tensor_type().shape().dim(0).dim_value(), 3);
}

TEST(Export, OuterValuesReturnedByABodyGoThroughIdentity) {
  ir::Graph g;
  g.opsets = {{"", 17}};
  ir::Value* x = g.add_input("x", ir::ValueType::of(DType::f32, {1}));
  ir::Node* n = g.add_node("If", "", {x});
  auto sub = std::make_shared<ir::Graph>("sub");
  sub->parent = &g;
  sub->add_output(x);
  n->attributes["g"] = sub;
  g.add_output(n->output());
  const pb::GraphProto body = exported(g).graph().node(0).attribute(0).g();
  ASSERT_EQ(body.node_size(), 1);
  EXPECT_EQ(body.node(0).op_type(), "Identity");
  EXPECT_EQ(body.node(0).input(0), "x");
  EXPECT_EQ(body.node(0).output(0), "x_0");
  ASSERT_EQ(body.output_size(), 1);
  EXPECT_EQ(body.output(0).name(), "x_0");
  EXPECT_TRUE(body.output(0).has_type());
}

// An output that was omitted stays omitted unless it is requested.
TEST(Export, OmitsUnreadOutputsThatWereOmitted) {
  ir::Graph g;
  g.opsets = {{"", 17}};
  const std::string x_name = std::string(kOmittedName) + "_input";
  ir::Value* x = g.add_input(x_name, ir::ValueType::of(DType::f32, {1}));
  ir::Node* n = g.add_node("Split", "", {x}, 4);
  for (size_t i = 0; i < 4; i++) {
    g.rename(n->output(i), i == 3 ? "named" : fmt::format("{}_{}", kOmittedName, i));
    n->output(i)->type = ir::ValueType::of(DType::f32, {1});
  }
  g.add_output(n->output(1));
  g.add_output(g.add_node("Relu", "", {n->output(2)})->output());
  const pb::GraphProto out = exported(g).graph();
  EXPECT_EQ(out.input(0).name(), x_name);
  EXPECT_EQ(out.node(0).input(0), x_name);
  EXPECT_EQ(out.node(0).output(0), "");
  EXPECT_EQ(out.node(0).output(1), "_omitted_1");
  EXPECT_EQ(out.node(0).output(2), "_omitted_2");
  EXPECT_EQ(out.node(0).output(3), "named");
  std::vector<std::string> infos;
  for (const auto& info : out.value_info()) infos.push_back(info.name());
  EXPECT_EQ(infos, (std::vector<std::string>{"_omitted_2", "named"}));
}

TEST(Export, EmptyTensorsAndStringsStayInTheModelAtAnyThreshold) {
  const TemporaryDirectory dir;
  ir::Graph g;
  g.opsets = {{"", 17}};
  g.add_output(g.add_constant("none", Tensor::zeros(DType::f32, {0})));
  g.add_output(g.add_constant("words", Tensor::strings({1}, {std::string(100, 'w')})));
  export_file(g, dir / "inside.onnx", {.external_data = true, .external_threshold = 0});
  EXPECT_FALSE(std::filesystem::exists(dir / "inside.onnx.data"));
  g.add_output(g.add_constant("one", Tensor::of<uint8_t>({1}, {7})));
  export_file(g, dir / "m.onnx", {.external_data = true, .external_threshold = 0});
  EXPECT_EQ(std::filesystem::file_size(dir / "m.onnx.data"), 1u);
  EXPECT_EQ(difference(g, *import_file(dir / "m.onnx")), "");
}

TEST(Export, WritesDataNextToTheTargetOfALink) {
  const TemporaryDirectory dir;
  std::filesystem::create_directory(dir / "real");
  write_file(dir / "real/m.onnx", "old");
  std::filesystem::create_symlink("real/m.onnx", dir / "link.onnx");
  ir::Graph g;
  g.opsets = {{"", 17}};
  g.add_output(g.add_constant("w", Tensor::zeros(DType::f32, {16})));
  export_file(g, dir / "link.onnx", {.external_data = true, .external_threshold = 1});
  EXPECT_TRUE(std::filesystem::exists(dir / "real/m.onnx.data"));
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "link.onnx"));
  EXPECT_EQ(difference(g, *import_file(dir / "real/m.onnx")), "");
}

// The system does not rename a file to the place of a mount.
TEST(Export, AModelThatIsNotReplacedAfterItsDataIsReported) {
  const TemporaryDirectory dir;
  const std::filesystem::path path = dir / "m.onnx";
  write_file(path, "old");
  ir::Graph g;
  g.opsets = {{"", 17}};
  g.add_output(g.add_constant("w", Tensor::zeros(DType::f32, {1024})));
  constexpr int kNoMounts = 77;
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWNS | (::geteuid() == 0 ? 0 : CLONE_NEWUSER)) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount(path.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) != 0)
      ::_exit(kNoMounts);
    const std::string message =
        message_of_action([&] { export_file(g, path, {.external_data = true}); });
    ::_exit(message.find("is replaced already, export it again") != message.npos ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoMounts) GTEST_SKIP() << "mounts are not permitted";
  EXPECT_EQ(WEXITSTATUS(status), 0);
  std::ifstream model(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(model), {}), "old");
}

}  // namespace
}  // namespace poprt::onnx
