// PopEF files over capi/include/poprt/popef_*.h, for poprt.i. Blobs and metadata that a reader or model returns are
// borrowed: the language's layer keeps the owner alive. Enumerations are those of the C headers. For an invalid index,
// anchor() of metadata fails, and other functions return 0, "" or null.

POPRT_HANDLE(raw_popef_anchor, RawPopefAnchor)
POPRT_HANDLE(raw_popef_metadata, RawPopefMetadata)
POPRT_HANDLE(raw_popef_reader, RawPopefReader)
POPRT_HANDLE(raw_popef_blob, RawPopefBlob)
POPRT_HANDLE(raw_popef_payload, RawPopefPayload)
POPRT_HANDLE(raw_popef_model, RawPopefModel)
POPRT_HANDLE(raw_popef_models, RawPopefModels)
POPRT_HANDLE(raw_popef_blob_info, RawPopefBlobInfo)
POPRT_HANDLE(raw_popef_feeds, RawPopefFeeds)
POPRT_HANDLE(raw_popef_writer, RawPopefWriter)
POPRT_HANDLE(raw_popef_blob_writer, RawPopefBlobWriter)

%extend raw_popef_anchor {
  raw_popef_anchor(const char* name, const char* handle, int32_t type) {
    auto* anchor = new raw_popef_anchor;
    anchor->name = name;
    anchor->handle = handle;
    anchor->type = type;
    return anchor;
  }
  ~raw_popef_anchor() { delete $self; }
  const char* name() { return $self->name.c_str(); }
  const char* handle() { return $self->handle.c_str(); }
  int32_t anchor_type() { return $self->type; }
  int32_t dtype() { return $self->dtype; }
  bool is_per_replica() { return $self->is_per_replica; }
  int64_t rank() { return static_cast<int64_t>($self->shape.size()); }
  int64_t dimension(int64_t index) {
    const auto i = static_cast<size_t>(index);
    return i < $self->shape.size() ? $self->shape[i] : 0;
  }
  int64_t program_count() { return static_cast<int64_t>($self->programs.size()); }
  int64_t program(int64_t index) {
    const auto i = static_cast<size_t>(index);
    return i < $self->programs.size() ? $self->programs[i] : 0;
  }
  void set_tensor(int32_t dtype, poprt_values values, int64_t count) {
    $self->dtype = dtype;
    $self->shape = poprt_shim::integers(values, count);
  }
  void set_programs(poprt_values values, int64_t count) {
    const auto programs = poprt_shim::integers(values, count);
    $self->programs.assign(programs.begin(), programs.end());
  }
  void set_is_per_replica(bool value) { $self->is_per_replica = value; }
}

%newobject raw_popef_metadata::anchor;
%extend raw_popef_metadata {
  raw_popef_metadata(poprt_result* error) {
    raw_popef_metadata* made = nullptr;
    *error = poprt_popef_metadata_create(nullptr, &made);
    return made;
  }
  ~raw_popef_metadata() { poprt_popef_metadata_free($self); }
  int64_t field(int32_t field) { return poprt_popef_metadata_get($self, field); }
  poprt_result set_field(int32_t field, int64_t value) { return poprt_popef_metadata_set($self, field, value); }
  // tests/lint/popef_fields.py generates these from core/popef/metadata.toml.
  // <popef:texts>
  const char* executable() { return poprt_popef_metadata_executable($self); }
  const char* seed_handle() { return poprt_popef_metadata_seed_handle($self); }
  poprt_result set_executable(const char* name) { return poprt_popef_metadata_set_executable($self, name); }
  poprt_result set_seed_handle(const char* handle) { return poprt_popef_metadata_set_seed_handle($self, handle); }
  // </popef:texts>
  int64_t option_count(int32_t list) {
    return static_cast<int64_t>(poprt_popef_metadata_option_count($self, list));
  }
  const char* option_name(int32_t list, int64_t index) {
    const char* name = poprt_popef_metadata_option($self, list, static_cast<size_t>(index), nullptr);
    return name ? name : "";
  }
  const char* option_value(int32_t list, int64_t index) {
    const char* value = "";
    poprt_popef_metadata_option($self, list, static_cast<size_t>(index), &value);
    return value;
  }
  poprt_result add_option(int32_t list, const char* name, const char* value) {
    return poprt_popef_metadata_add_option($self, list, name, value);
  }
  int64_t flow_count(int32_t flow) { return static_cast<int64_t>(poprt_shim::flow_count($self, flow)); }
  int64_t flow_program(int32_t flow, int64_t index) {
    const auto i = static_cast<size_t>(index);
    return i < poprt_shim::flow_count($self, flow) ? poprt_popef_metadata_flow($self, flow, nullptr)[i] : 0;
  }
  poprt_result set_flow(int32_t flow, poprt_values values, int64_t count) {
    return poprt_shim::set_flow($self, flow, values, count);
  }
  int64_t program_count() { return static_cast<int64_t>(poprt_popef_metadata_program_count($self)); }
  int64_t program_index(int64_t index) {
    uint32_t program = 0;
    poprt_popef_metadata_program($self, static_cast<size_t>(index), &program);
    return program;
  }
  const char* program_name(int64_t index) {
    const char* name = poprt_popef_metadata_program($self, static_cast<size_t>(index), nullptr);
    return name ? name : "";
  }
  poprt_result set_program(int64_t program, const char* name) {
    return poprt_popef_metadata_set_program($self, static_cast<uint32_t>(program), name);
  }
  int64_t anchor_count() { return static_cast<int64_t>(poprt_popef_metadata_anchor_count($self)); }
  // Returns a copy of the anchor.
  raw_popef_anchor* anchor(int64_t index, poprt_result* error) { return raw_popef_anchor::of($self, index, error); }
  poprt_result add_anchor(const raw_popef_anchor& anchor) { return anchor.add_to($self); }
}

%extend raw_popef_reader {
  raw_popef_reader(poprt_result* error) {
    raw_popef_reader* made = nullptr;
    *error = poprt_popef_reader_create(&made);
    return made;
  }
  ~raw_popef_reader() { poprt_popef_reader_free($self); }
  poprt_result parse_file(const char* path) { return poprt_popef_reader_parse_file($self, path); }
  // Copies the bytes.
  poprt_result parse_bytes(int64_t address, int64_t bytes) {
    return poprt_popef_reader_parse_bytes($self, poprt_shim::pointer(address), static_cast<size_t>(bytes));
  }
  // The addresses are those of the functions of poprt_popef_source. `release_fn` is called once, also if this call
  // fails.
  poprt_result parse_source(int64_t size, int64_t read_fn, int64_t release_fn, int64_t user_data) {
    return poprt_shim::parse_source($self, size, read_fn, release_fn, user_data);
  }
  int64_t count(int32_t type) { return static_cast<int64_t>(poprt_popef_reader_count($self, type)); }
  const raw_popef_blob* blob(int32_t type, int64_t index) {
    return poprt_popef_reader_blob($self, type, static_cast<size_t>(index));
  }
  const raw_popef_metadata* metadata(int64_t index) {
    return poprt_popef_reader_metadata($self, static_cast<size_t>(index));
  }
  poprt_text warnings(poprt_result* error) {
    poprt_string* text = nullptr;
    *error = poprt_popef_reader_warnings($self, &text);
    return text;
  }
}

%newobject raw_popef_blob::map_payload;
%extend raw_popef_blob {
  int32_t blob_type() { return poprt_shim::blob_info($self).type; }
  const char* name() { return poprt_shim::blob_info($self).name; }
  const char* executable() { return poprt_shim::blob_info($self).executable; }
  bool compressed() { return poprt_shim::blob_info($self).compressed != 0; }
  int32_t dtype() { return poprt_shim::blob_info($self).dtype; }
  int64_t rank() { return static_cast<int64_t>(poprt_shim::blob_info($self).rank); }
  int64_t dimension(int64_t index) {
    const auto info = poprt_shim::blob_info($self);
    const auto i = static_cast<size_t>(index);
    return i < info.rank ? info.shape[i] : 0;
  }
  int64_t tensor_count() { return poprt_shim::blob_info($self).tensor_count; }
  int64_t bytes() { return static_cast<int64_t>(poprt_shim::blob_info($self).bytes); }
  raw_popef_payload* map_payload(poprt_result* error) {
    raw_popef_payload* made = nullptr;
    *error = poprt_popef_blob_map($self, &made);
    return made;
  }
  poprt_result read(int64_t offset, int64_t address, int64_t bytes) {
    return poprt_popef_blob_read($self, static_cast<size_t>(offset), poprt_shim::pointer(address),
                                 static_cast<size_t>(bytes));
  }
}

// A payload remains valid without its owner.
%extend raw_popef_payload {
  ~raw_popef_payload() { poprt_popef_payload_free($self); }
  int64_t address() { return poprt_shim::address(poprt_popef_payload_data($self)); }
  int64_t bytes() { return static_cast<int64_t>(poprt_popef_payload_size($self)); }
}

// A model remains valid without its reader. An empty name of the executable means the only one.
%newobject raw_popef_model::create;
%extend raw_popef_model {
  static raw_popef_model* create(const raw_popef_reader* reader, const char* executable, poprt_result* error) {
    raw_popef_model* made = nullptr;
    *error = poprt_popef_model_create(reader, poprt_shim::or_null(executable), &made);
    return made;
  }
  ~raw_popef_model() { poprt_popef_model_free($self); }
  const raw_popef_metadata* metadata() { return poprt_popef_model_metadata($self); }
  int64_t count(int32_t type) { return static_cast<int64_t>(poprt_popef_model_count($self, type)); }
  const raw_popef_blob* blob(int32_t type, int64_t index) {
    return poprt_popef_model_blob($self, type, static_cast<size_t>(index));
  }
  // The user anchors of a type, as indices of anchors of the metadata.
  int64_t user_anchor_count(int32_t type) {
    return static_cast<int64_t>(poprt_shim::user_anchor_count($self, type));
  }
  int64_t user_anchor(int32_t type, int64_t index) {
    const auto i = static_cast<size_t>(index);
    if (i >= poprt_shim::user_anchor_count($self, type)) return 0;
    return static_cast<int64_t>(poprt_popef_model_user_anchors($self, type, nullptr)[i]);
  }
  poprt_text warnings(poprt_result* error) {
    poprt_string* text = nullptr;
    *error = poprt_popef_model_warnings($self, &text);
    return text;
  }
}

%newobject raw_popef_models::take;
%extend raw_popef_models {
  raw_popef_models(const raw_popef_reader* reader, poprt_result* error) { return raw_popef_models::of(reader, error); }
  ~raw_popef_models() { delete $self; }
  int64_t count() { return static_cast<int64_t>($self->models.size()); }
  // Returns null on the second call for an index.
  raw_popef_model* take(int64_t index) { return $self->take(index); }
}

%extend raw_popef_blob_info {
  raw_popef_blob_info(int32_t type, const char* name, const char* executable) {
    auto* info = new raw_popef_blob_info;
    info->info.type = type;
    info->name = name;
    info->executable = executable;
    return info;
  }
  ~raw_popef_blob_info() { delete $self; }
  void set_compressed(bool on) { $self->info.compressed = on; }
  void set_tensor(int32_t dtype, poprt_values values, int64_t count) {
    $self->info.dtype = dtype;
    $self->shape = poprt_shim::integers(values, count);
  }
  void set_tensor_count(int64_t tensors) { $self->info.tensor_count = tensors; }
}

%extend raw_popef_feeds {
  raw_popef_feeds() { return new raw_popef_feeds; }
  ~raw_popef_feeds() { delete $self; }
  // Copies `info`.
  void add(const raw_popef_blob_info& info) { $self->infos.push_back(info); }
}

%newobject raw_popef_writer::create_file;
%newobject raw_popef_writer::create_stream;
%newobject raw_popef_writer::begin;
%newobject raw_popef_writer::begin_feeds;
%extend raw_popef_writer {
  static raw_popef_writer* create_file(const char* path, int32_t mode, poprt_result* error) {
    raw_popef_writer* made = nullptr;
    *error = poprt_popef_writer_create(path, mode, &made);
    return made;
  }
  // `write_fn` is a poprt_write_fn, called on the thread that writes.
  static raw_popef_writer* create_stream(int64_t write_fn, int64_t user_data, poprt_result* error) {
    raw_popef_writer* made = nullptr;
    *error = poprt_popef_writer_create_stream(poprt_shim::function<poprt_write_fn>(write_fn),
                                              poprt_shim::pointer(user_data), &made);
    return made;
  }
  // Without close(), the file is not written.
  ~raw_popef_writer() { poprt_popef_writer_free($self); }
  poprt_result close() { return poprt_popef_writer_close($self); }
  poprt_result add_metadata(const raw_popef_metadata& metadata) {
    return poprt_popef_writer_add_metadata($self, &metadata);
  }
  raw_popef_blob_writer* begin(raw_popef_blob_info& info, poprt_result* error) {
    raw_popef_blob_writer* made = nullptr;
    *error = poprt_popef_writer_begin($self, info.complete(), &made);
    return made;
  }
  raw_popef_blob_writer* begin_feeds(raw_popef_feeds& feeds, poprt_result* error) { return feeds.begin($self, error); }
}

%extend raw_popef_blob_writer {
  ~raw_popef_blob_writer() { poprt_popef_blob_writer_free($self); }
  // Copies the bytes. `feed` is the index of one of several feeds, or 0.
  poprt_result write(int64_t feed, int64_t address, int64_t bytes) {
    return poprt_popef_blob_writer_write($self, static_cast<size_t>(feed), poprt_shim::pointer(address),
                                         static_cast<size_t>(bytes));
  }
  poprt_result close() { return poprt_popef_blob_writer_close($self); }
}
