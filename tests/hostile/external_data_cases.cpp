// Tensors in external files: every trick with the path, for every kind of tensor in a model.
#include <sys/stat.h>
#include <unistd.h>

#include "case.h"

namespace poprt::hostile {
namespace {

using Entries = std::vector<std::pair<std::string, std::string>>;

pb::TensorProto external(const Entries& entries, int type = kFloat, const Dims& dims = {2}) {
  auto t = tensor(type, dims);
  t.set_data_location(pb::TensorProto::EXTERNAL);
  for (const auto& [key, value] : entries) {
    auto* e = t.add_external_data();
    e->set_key(key);
    e->set_value(value);
  }
  return t;
}

// The places of a tensor in a model. Each function returns a model that is valid if the tensor is.
pb::ModelProto as_initializer(const pb::TensorProto& t) {
  pb::ModelProto m = empty_model();
  add_input(*m.mutable_graph(), "x", {2});
  add_output(*m.mutable_graph(), "y");
  *m.mutable_graph()->add_initializer() = t;
  m.mutable_graph()->mutable_initializer(0)->set_name("w");
  add_node(*m.mutable_graph(), "Add", {"x", "w"}, {"y"});
  return m;
}
pb::ModelProto as_unused_initializer(const pb::TensorProto& t) {
  pb::ModelProto m = relu_model();
  *m.mutable_graph()->add_initializer() = t;
  m.mutable_graph()->mutable_initializer(0)->set_name("w");
  return m;
}
pb::ModelProto as_constant(const pb::TensorProto& t) {
  pb::ModelProto m = empty_model();
  add_output(*m.mutable_graph(), "y");
  add_attribute(add_node(*m.mutable_graph(), "Constant", {}, {"y"}), {"value", t});
  return m;
}
pb::ModelProto as_fill_value(const pb::TensorProto& t) {
  const auto one = changed(t, [](auto& v) { v.set_dims(0, 1); });
  return model_of({"ConstantOfShape", {ints({2})}, {{"value", one}}});
}
pb::ModelProto in_a_list_of_tensors(const pb::TensorProto& t) {
  pb::ModelProto m = relu_model();
  auto& a = *m.mutable_graph()->mutable_node(0)->add_attribute();
  a.set_name("list");
  a.set_type(pb::AttributeProto::TENSORS);
  *a.add_tensors() = t;
  return m;
}
pb::ModelProto as_sparse_values(const pb::TensorProto& t) {
  pb::ModelProto m = empty_model();
  add_output(*m.mutable_graph(), "y");
  auto& s = *m.mutable_graph()->add_sparse_initializer();
  *s.mutable_values() = t;
  s.mutable_values()->set_name("w");
  *s.mutable_indices() = ints_tensor({0, 1});
  s.add_dims(4);
  add_node(*m.mutable_graph(), "Identity", {"w"}, {"y"});
  return m;
}
pb::ModelProto as_sparse_indices(const pb::TensorProto& t) {
  pb::ModelProto m = empty_model();
  add_output(*m.mutable_graph(), "y");
  auto& s = *m.mutable_graph()->add_sparse_initializer();
  *s.mutable_values() = tensor(kFloat, {1}, "w");
  s.mutable_values()->set_raw_data(std::string(4, '\0'));
  *s.mutable_indices() = t;
  s.mutable_indices()->set_data_type(kS64);
  s.mutable_indices()->set_dims(0, 1);
  s.add_dims(4);
  add_node(*m.mutable_graph(), "Identity", {"w"}, {"y"});
  return m;
}
pb::ModelProto as_sparse_attribute(const pb::TensorProto& t) {
  pb::ModelProto m = empty_model();
  add_output(*m.mutable_graph(), "y");
  auto& a = *add_node(*m.mutable_graph(), "Constant", {}, {"y"}).add_attribute();
  a.set_name("sparse_value");
  a.set_type(pb::AttributeProto::SPARSE_TENSOR);
  *a.mutable_sparse_tensor()->mutable_values() = t;
  *a.mutable_sparse_tensor()->mutable_indices() = ints_tensor({0, 1});
  a.mutable_sparse_tensor()->add_dims(4);
  return m;
}
pb::ModelProto in_a_subgraph(const pb::TensorProto& t) {
  pb::ModelProto m = empty_model();
  auto& g = *m.mutable_graph();
  add_input(g, "c", {}, kBool);
  add_output(g, "y");
  auto& n = add_node(g, "If", {"c"}, {"y"});
  for (const char* name : {"then_branch", "else_branch"}) {
    auto& body = add_subgraph(n, name);
    *body.add_initializer() = t;
    body.mutable_initializer(0)->set_name(std::string(name) + "_w");
    add_node(body, "Abs", {std::string(name) + "_w"}, {std::string(name) + "_y"});
    add_output(body, std::string(name) + "_y");
  }
  return m;
}
pb::ModelProto in_a_function(const pb::TensorProto& t) {
  pb::ModelProto m = empty_model();
  auto* import = m.add_opset_import();
  import->set_domain("local");
  import->set_version(1);
  add_output(*m.mutable_graph(), "y");
  add_node(*m.mutable_graph(), "F", {}, {"y"}, "local");
  auto& f = *m.add_functions();
  f.set_name("F");
  f.set_domain("local");
  f.add_output("b");
  f.add_opset_import()->set_version(17);
  add_attribute(add_node(f, "Constant", {}, {"b"}), {"value", t});
  return m;
}

struct Place {
  const char* name;
  pb::ModelProto (*model)(const pb::TensorProto&);
};
constexpr Place kPlaces[] = {
    {"initializer", as_initializer},
    {"unused_initializer", as_unused_initializer},
    {"constant", as_constant},
    {"fill_value", as_fill_value},
    {"list_of_tensors", in_a_list_of_tensors},
    {"sparse_values", as_sparse_values},
    {"sparse_indices", as_sparse_indices},
    {"sparse_attribute", as_sparse_attribute},
    {"subgraph", in_a_subgraph},
    {"function_body", in_a_function},
};

// Writes the files to which the locations of the cases refer.
void prepare(const Folder& f) {
  f.write("w.bin", std::string(64, '\0') + std::string(64, '\1'));
  fs::create_directory(f.model / "sub");
  fs::create_symlink(f.outside / "secret.bin", f.model / "link.bin");
  fs::create_directory_symlink(f.outside, f.model / "up");
  fs::create_directory_symlink(".", f.model / "here");
  fs::create_symlink("w.bin", f.model / "alias.bin");
  fs::create_symlink("loop.bin", f.model / "loop.bin");
  fs::create_hard_link(f.outside / "secret.bin", f.model / "hard.bin");
  mkfifo((f.model / "fifo.bin").c_str(), 0600);
  f.write("empty.bin", "");
}

Case external_case(std::string name, std::string error, pb::ModelProto model,
                   Outcome outcome = Outcome::rejected) {
  return {std::move(name), std::move(error),
          [bytes = bytes_of(model)](const Folder& f) {
            prepare(f);
            f.write("model.onnx", bytes);
          },
          outcome};
}

}  // namespace

Cases external_data_cases() {
  Cases cases;
  // Each place with each trick that would read a file outside of the model's folder.
  const std::pair<const char*, std::pair<const char*, const char*>> tricks[] = {
      {"goes_up", {"../outside/secret.bin", "goes up with '..'"}},
      {"goes_down_and_up", {"sub/../../outside/secret.bin", "goes up with '..'"}},
      {"is_absolute", {"/etc/hostname", "is absolute"}},
      {"is_a_symbolic_link", {"link.bin", "symbolic link"}},
      {"is_behind_a_symbolic_link", {"up/secret.bin", "symbolic link"}},
      {"is_a_hard_link", {"hard.bin", "hard links"}},
      {"is_a_fifo", {"fifo.bin", "not a regular file"}},
      {"is_missing", {"nowhere.bin", "is missing"}},
  };
  for (const auto& [place, model] : kPlaces) {
    for (const auto& [trick, what] : tricks)
      cases.push_back(external_case(std::string(place) + "_" + trick, what.second,
                                    model(external({{"location", what.first}}))));
    const std::string name = place;
    if (name == "list_of_tensors" || name == "subgraph") continue;  // no operator that runs
    cases.push_back(external_case(
        name + "_is_fine", "",
        model(external({{"location", "w.bin"}, {"length", name == "fill_value" ? "4" : "8"}})),
        Outcome::accepted));
  }
  const auto one = [&](std::string name, std::string error, const Entries& entries) {
    cases.push_back(
        external_case(std::move(name), std::move(error), as_initializer(external(entries))));
  };
  one("location_missing", "initializer 'w': external_data has no location", {{"offset", "0"}});
  one("no_entries", "initializer 'w': external_data has no location", {});
  one("location_empty", "initializer 'w': external data location '' is empty; it must be a",
      {{"location", ""}});
  one("location_is_the_folder",
      "initializer 'w': external data location '.' names no file; it must be", {{"location", "."}});
  one("location_is_a_folder", "initializer 'w': external data file 'sub' is not a regular file",
      {{"location", "sub"}});
  one("location_ends_with_a_slash", "initializer 'w': external data location 'w.bin/' has an empty",
      {{"location", "w.bin/"}});
  one("location_has_two_slashes",
      "initializer 'w': external data location 'sub//w.bin' has an empty",
      {{"location", "sub//w.bin"}});
  one("location_is_a_url", "initializer 'w': external data location 'file:///etc/hostname' has an",
      {{"location", "file:///etc/hostname"}});
  one("location_is_an_https_url",
      "initializer 'w': external data location 'https://example.org/w.bin'",
      {{"location", "https://example.org/w.bin"}});
  one("location_is_a_windows_path",
      "initializer 'w': external data file '..\\outside\\secret.bin' is missing",
      {{"location", "..\\outside\\secret.bin"}});
  one("location_has_a_zero_byte",
      "initializer 'w': external data location 'w.bin\\x00.txt' contains a",
      {{"location", std::string("w.bin\0.txt", 10)}});
  one("location_has_control_characters",
      "initializer 'w': external data file 'a\\x0ab\\x1b[31m' is missing",
      {{"location", "a\nb\x1b[31m"}});
  one("location_is_a_megabyte", "initializer 'w': cannot open external data file",
      {{"location", std::string(1 << 20, 'a')}});
  one("location_is_10000_folders", "initializer 'w': external data file", {{"location", [] {
                                                                              std::string s;
                                                                              for (int i = 0;
                                                                                   i < 10000; i++)
                                                                                s += "sub/";
                                                                              return s + "w.bin";
                                                                            }()}});
  one("location_is_a_device", "initializer 'w': external data location '/dev/zero' is absolute; it",
      {{"location", "/dev/zero"}});
  one("location_is_proc", "initializer 'w': external data location '/proc/self/environ' is",
      {{"location", "/proc/self/environ"}});
  one("location_is_a_link_loop",
      "initializer 'w': external data file 'loop.bin' is reached through a",
      {{"location", "loop.bin"}});
  one("location_is_a_link_to_a_file_beside",
      "initializer 'w': external data file 'alias.bin' is reached through a",
      {{"location", "alias.bin"}});
  one("location_is_behind_a_link_to_here",
      "initializer 'w': external data file 'here/w.bin' is reached through a",
      {{"location", "here/w.bin"}});
  one("location_is_below_a_file",
      "initializer 'w': external data file 'w.bin/x' is reached through a",
      {{"location", "w.bin/x"}});
  one("location_twice", "initializer 'w': external_data has 'location' twice",
      {{"location", "w.bin"}, {"location", "../outside/secret.bin"}});
  one("location_is_upper_case_dots", "initializer 'w': external data location 'sub/..",
      {{"location", "sub/.. /../outside/secret.bin"}});
  one("offset_negative", "initializer 'w': external_data offset '-1' is not a non-negative",
      {{"location", "w.bin"}, {"offset", "-1"}});
  one("offset_is_text", "initializer 'w': external_data offset 'zero' is not a non-negative",
      {{"location", "w.bin"}, {"offset", "zero"}});
  one("offset_is_hexadecimal", "initializer 'w': external_data offset '0x10' is not a non-negative",
      {{"location", "w.bin"}, {"offset", "0x10"}});
  one("offset_is_a_fraction", "initializer 'w': external_data offset '1.5' is not a non-negative",
      {{"location", "w.bin"}, {"offset", "1.5"}});
  one("offset_with_a_space", "initializer 'w': external_data offset ' 0' is not a non-negative",
      {{"location", "w.bin"}, {"offset", " 0"}});
  one("offset_past_the_end", "initializer 'w': external data file 'w.bin' has 128 bytes; offset",
      {{"location", "w.bin"}, {"offset", "129"}, {"length", "8"}});
  one("offset_past_64_bits",
      "initializer 'w': external_data offset '18446744073709551616' is not a",
      {{"location", "w.bin"}, {"offset", "18446744073709551616"}, {"length", "8"}});
  one("offset_and_length_overflow",
      "initializer 'w': external data file 'w.bin' has 128 bytes; offset",
      {{"location", "w.bin"}, {"offset", "18446744073709551608"}, {"length", "16"}});
  one("offset_twice", "initializer 'w': external_data has 'offset' twice",
      {{"location", "w.bin"}, {"offset", "0"}, {"offset", "8"}});
  one("length_past_the_end", "initializer 'w': external data file 'w.bin' has 128 bytes; offset",
      {{"location", "w.bin"}, {"offset", "124"}, {"length", "8"}});
  one("length_negative", "initializer 'w': external_data length '-8' is not a non-negative",
      {{"location", "w.bin"}, {"length", "-8"}});
  one("length_too_short", "initializer 'w': a f32 tensor [2] needs 8 bytes, found 7",
      {{"location", "w.bin"}, {"length", "7"}});
  one("length_too_long", "initializer 'w': a f32 tensor [2] needs 8 bytes, found 16",
      {{"location", "w.bin"}, {"length", "16"}});
  one("length_0", "initializer 'w': a f32 tensor [2] needs 8 bytes, found 0",
      {{"location", "w.bin"}, {"length", "0"}});
  one("length_left_out_and_the_file_is_longer",
      "initializer 'w': a f32 tensor [2] needs 8 bytes, found 128", {{"location", "w.bin"}});
  one("file_is_empty", "initializer 'w': a f32 tensor [2] needs 8 bytes, found 0",
      {{"location", "empty.bin"}});
  cases.push_back(external_case(
      "shape_is_larger_than_the_file",
      "initializer 'w': a f32 tensor [1073741824] needs 4294967296 bytes,",
      as_initializer(external({{"location", "w.bin"}, {"length", "128"}}, kFloat, {1 << 30}))));
  cases.push_back(external_case(
      "shape_overflows", "initializer 'w': shape: 4611686018427387904 * 16 overflows",
      as_initializer(external({{"location", "w.bin"}}, kFloat, {int64_t{1} << 62, 16}))));
  cases.push_back(external_case(
      "strings_in_a_file", "initializer 'w': a string tensor cannot have external data",
      as_initializer(external({{"location", "w.bin"}, {"length", "8"}}, kString))));
  cases.push_back(external_case(
      "file_and_raw_data", "initializer 'w': it has external data and raw_data too",
      as_initializer(changed(external({{"location", "w.bin"}, {"length", "8"}}),
                             [](auto& t) { t.set_raw_data(std::string(8, '\0')); }))));
  for (const char* location : {"alias.bin", "here/w.bin"}) {
    Case c =
        external_case("", "", as_initializer(external({{"location", location}, {"length", "8"}})),
                      Outcome::accepted);
    c.name = std::string("link_is_followed_when_allowed_") + (cases.size() % 2 ? "a" : "b");
    c.arguments.push_back("--allow_symlinks");
    cases.push_back(std::move(c));
  }
  return cases;
}

}  // namespace poprt::hostile
