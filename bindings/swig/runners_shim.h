// Options of further kinds of runners for the generated wrappers, with the memory they point to.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "poprt/runners.h"
#include "poprt_shim.h"

// poprt_pack_runner_options with the memory of its pointers.
struct raw_pack_options {
  poprt_pack_runner_options options{};
  std::string dynamic_input_name, unpack_info_input_name, mask_name;
  poprt_shim::Strings dynamic_group;

  // Returns the options with `runner` as the options of the underlying runner. Their pointers refer
  // to memory of this object.
  poprt_pack_runner_options with(const poprt_runner_options* runner) const {
    poprt_pack_runner_options all = options;
    all.struct_size = sizeof all;
    all.runner = runner;
    all.dynamic_input_name = poprt_shim::or_null(dynamic_input_name.c_str());
    all.unpack_info_input_name = poprt_shim::or_null(unpack_info_input_name.c_str());
    all.mask_name = poprt_shim::or_null(mask_name.c_str());
    all.dynamic_group = dynamic_group.data();
    all.dynamic_group_count = dynamic_group.size();
    return all;
  }
};

// Any number of poprt_host_concat. begin() adds one, and the set and add functions change the last
// one.
struct raw_host_concats {
  struct Concat {
    std::string tensor;
    poprt_shim::Strings inputs;
    std::vector<int64_t> shape;
    std::vector<uint64_t> sizes;
    uint64_t bytes = 0;
  };
  std::list<Concat> concats;

  void begin(const char* tensor) { concats.emplace_back().tensor = tensor; }
  void add_input(const char* name) { last().inputs.add(name); }
  void set_shape(poprt_values values, int64_t count) {
    last().shape = poprt_shim::integers(values, count);
  }
  void set_bytes(int64_t bytes) { last().bytes = static_cast<uint64_t>(bytes); }
  void set_sizes(poprt_values values, int64_t count) {
    const std::vector<int64_t> sizes = poprt_shim::integers(values, count);
    last().sizes.assign(sizes.begin(), sizes.end());
    last().sizes.resize(last().inputs.size());  // the library reads one for each input
  }

  std::vector<poprt_host_concat> list() const {
    std::vector<poprt_host_concat> all;
    for (const Concat& c : concats) {
      poprt_host_concat one{};
      one.tensor_name = c.tensor.c_str();
      one.input_tensor_names = c.inputs.data();
      one.input_tensor_count = c.inputs.size();
      one.shape = c.shape.empty() ? nullptr : c.shape.data();
      one.rank = c.shape.size();
      one.data_size_bytes = c.bytes;
      one.sizes = c.sizes.empty() ? nullptr : c.sizes.data();
      all.push_back(one);
    }
    return all;
  }

 private:
  Concat& last() {
    if (concats.empty()) begin("");
    return concats.back();
  }
};
