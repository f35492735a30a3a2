// Passes on a model in memory.

POPRT_HANDLE(raw_passes, RawPasses)
POPRT_HANDLE(raw_pass_result, RawPassResult)

%newobject raw_passes::apply_to;
%extend raw_passes {
  raw_passes() { return new raw_passes; }
  ~raw_passes() { delete $self; }
  void add(const char* name) { $self->add(name); }
  // Adds an argument of the last pass.
  void add_argument(const char* name, const char* value) { $self->add_argument(name, value); }
  void set_sort(bool on) { $self->sort = on; }
  void set_verify(bool on) { $self->verify = on; }
  void set_allow_links(bool on) { $self->allow_links = on; }
  void set_strict(bool on) { $self->strict = on; }
  void set_rewrite_limit(int64_t rewrites) { $self->rewrite_limit = rewrites; }
  // Checks names and arguments without a model.
  poprt_result check() {
    raw_pass_result nothing;
    return $self->apply(nullptr, 0, nullptr, &nothing);
  }
  // If the folder is "", external data is an error.
  raw_pass_result* apply_to(int64_t address, int64_t bytes, const char* folder, poprt_result* error) {
    auto* result = new raw_pass_result;
    *error = $self->apply(poprt_shim::pointer(address), static_cast<size_t>(bytes),
                          poprt_shim::or_null(folder), result);
    if (*error) {
      delete result;
      result = nullptr;
    }
    return result;
  }
  // Returns the names in a valid order, one per line, with those of passes that must run before them.
  poprt_text in_order(poprt_result* error) {
    std::vector<const char*> names;
    for (const auto& call : $self->calls) names.push_back(call.name.c_str());
    poprt_string* text = nullptr;
    *error = poprt_passes_sort(names.data(), names.size(), &text);
    return text;
  }
  // Returns all passes as JSON.
  static poprt_text list_json(poprt_result* error) {
    poprt_string* text = nullptr;
    *error = poprt_compiler_list_passes_json(&text);
    return text;
  }
}

%extend raw_pass_result {
  ~raw_pass_result() { delete $self; }
  // The address of the model, valid as long as this object.
  int64_t address() { return poprt_shim::address(poprt_string_data($self->model)); }
  int64_t bytes() { return static_cast<int64_t>(poprt_string_size($self->model)); }
  const char* text() { return $self->text.c_str(); }
}
