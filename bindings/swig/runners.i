// Further kinds of runners, which all have type raw_runner.

POPRT_HANDLE(raw_pack_options, RawPackOptions)
POPRT_HANDLE(raw_host_concats, RawHostConcats)

%extend raw_pack_options {
  raw_pack_options() { return new raw_pack_options; }
  ~raw_pack_options() { delete $self; }
  void set_timeout(int64_t microseconds) { $self->options.timeout_microseconds = microseconds; }
  void set_max_valid_num(int64_t items) {
    $self->options.max_valid_num = static_cast<uint64_t>(items);
  }
  // An empty name means the default, as in poprt_pack_runner_options.
  void set_inputs(const char* dynamic_input, const char* unpack_info, const char* mask) {
    $self->dynamic_input_name = dynamic_input;
    $self->unpack_info_input_name = unpack_info;
    $self->mask_name = mask;
  }
  void add_dynamic(const char* name) { $self->dynamic_group.add(name); }
  // 0 means next fit, 1 means first fit.
  void set_algorithm(int32_t algorithm) { $self->options.algorithm = algorithm; }
  void set_data_across_rows(bool on) { $self->options.disable_data_across_rows = !on; }
  void set_compile_batch_size(int64_t rows) { $self->options.compile_batch_size = rows; }
  void set_padding_remove(bool on) { $self->options.enable_padding_remove = on; }
  void set_prefetch_datastreams(bool on) { $self->options.disable_prefetch_datastreams = !on; }
  void set_delimiter_num(int64_t zeros) {
    $self->options.delimiter_num = static_cast<uint64_t>(zeros);
  }
}

%extend raw_host_concats {
  raw_host_concats() { return new raw_host_concats; }
  ~raw_host_concats() { delete $self; }
  // Begins the description of a joined tensor, to which the following calls add.
  void add(const char* tensor) { $self->begin(tensor); }
  void add_input(const char* name) { $self->add_input(name); }
  // The expected shape of the joined tensor, which is checked.
  void set_shape(poprt_values values, int64_t count) { $self->set_shape(values, count); }
  void set_bytes(int64_t bytes) { $self->set_bytes(bytes); }
  // The bytes of each input, which must be added before. Without them, the inputs are equal parts.
  void set_sizes(poprt_values values, int64_t count) { $self->set_sizes(values, count); }
}

%newobject raw_runner::create_fusion;
%newobject raw_runner::create_light;
%newobject raw_runner::create_pack;
%newobject raw_runner::create_host_concat;
%extend raw_runner {
  static raw_runner* create_fusion(const raw_executable* executable,
                                   const raw_runner_options* options, poprt_result* error) {
    raw_runner* made = nullptr;
    *error = poprt_fusion_runner_create(executable, options, &made);
    return made;
  }
  static raw_runner* create_light(const raw_executable* executable,
                                  const raw_runner_options* options, poprt_result* error) {
    raw_runner* made = nullptr;
    *error = poprt_light_runner_create(executable, options, &made);
    return made;
  }
  static raw_runner* create_pack(const raw_executable* executable, const raw_runner_options* options,
                                 const raw_pack_options& pack, poprt_result* error) {
    const poprt_pack_runner_options all = pack.with(options);
    raw_runner* made = nullptr;
    *error = poprt_pack_runner_create(executable, &all, &made);
    return made;
  }
  // Without concats, the configuration of the executable is used.
  static raw_runner* create_host_concat(const raw_executable* executable,
                                        const raw_runner_options* options,
                                        const raw_host_concats& concats, poprt_result* error) {
    const std::vector<poprt_host_concat> list = concats.list();
    poprt_host_concat_runner_options all{};
    all.struct_size = sizeof all;
    all.runner = options;
    all.host_concat = list.empty() ? nullptr : list.data();
    all.host_concat_count = list.size();
    raw_runner* made = nullptr;
    *error = poprt_host_concat_runner_create(executable, &all, &made);
    return made;
  }
  // The functions below are for light runners. For other runners, they fail, or return 0, null or false.
  poprt_result light_reload() { return poprt_light_runner_reload($self); }
  poprt_result light_set_input(const char* name, int64_t address, int64_t bytes) {
    return poprt_light_runner_set_input_anchor($self, name, poprt_shim::pointer(address),
                                               static_cast<size_t>(bytes));
  }
  poprt_result light_update_weights() { return poprt_light_runner_update_weights($self); }
  int64_t light_input_count() {
    return static_cast<int64_t>(poprt_light_runner_model_input_count($self));
  }
  const raw_anchor* light_input_anchor(int64_t index) {
    return poprt_light_runner_model_input($self, static_cast<size_t>(index));
  }
  bool light_input_has_data(int64_t index) {
    return poprt_light_runner_model_input_has_data($self, static_cast<size_t>(index)) != 0;
  }
}
