// The Open Inference Protocol over gRPC. Requests use gRPC's callback interface, so that a waiting
// request has no thread.
#include <grpc/support/log.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/support/server_interceptor.h>

#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <type_traits>

#include "inference.grpc.pb.h"
#include "serve/request_parameters.h"
#include "serve/server.h"

namespace poprt::serve {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;
using grpc::Status;

Status status_of(const Error& error) {
  return {static_cast<grpc::StatusCode>(error.code()), error.what()};
}

// Appends the numbers of a repeated field as dense memory of type To. Throws Error
// (invalid_argument) for an integer that To does not have.
template <class To, class Field>
void append(std::string& bytes, const Field& field, const std::string& name, poprt_dtype dtype) {
  bytes.reserve(static_cast<size_t>(field.size()) * sizeof(To));
  for (const auto value : field) {
    const To number = static_cast<To>(value);
    if (std::is_integral_v<To> && static_cast<std::decay_t<decltype(value)>>(number) != value)
      throw Error(POPRT_INVALID_ARGUMENT, "input " + in_quotes(name) + " has a value of " +
                                              std::to_string(value) + ", which " +
                                              serving::datatype_name(dtype) + " does not have");
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
}

// The names of the typed contents that are not empty.
std::vector<std::string> filled(const inference::InferTensorContents& contents) {
  std::vector<std::string> names;
  const auto add = [&](const char* name, int size) {
    if (size) names.emplace_back(name);
  };
  add("bool_contents", contents.bool_contents_size());
  add("int_contents", contents.int_contents_size());
  add("int64_contents", contents.int64_contents_size());
  add("uint_contents", contents.uint_contents_size());
  add("uint64_contents", contents.uint64_contents_size());
  add("fp32_contents", contents.fp32_contents_size());
  add("fp64_contents", contents.fp64_contents_size());
  add("bytes_contents", contents.bytes_contents_size());
  return names;
}

// The name of the field of InferTensorContents for a type.
std::string contents_of(poprt_dtype dtype) {
  switch (dtype) {
    case POPRT_DTYPE_BOOL: return "bool_contents";
    case POPRT_DTYPE_S8:
    case POPRT_DTYPE_S16:
    case POPRT_DTYPE_S32: return "int_contents";
    case POPRT_DTYPE_S64: return "int64_contents";
    case POPRT_DTYPE_U8:
    case POPRT_DTYPE_U16:
    case POPRT_DTYPE_U32: return "uint_contents";
    case POPRT_DTYPE_U64: return "uint64_contents";
    case POPRT_DTYPE_F32: return "fp32_contents";
    case POPRT_DTYPE_F64: return "fp64_contents";
    default:
      throw Error(POPRT_INVALID_ARGUMENT, "FP16 and BF16 have no contents; use raw_input_contents");
  }
}

std::string dense(const inference::ModelInferRequest::InferInputTensor& given, poprt_dtype dtype) {
  const inference::InferTensorContents& contents = given.contents();
  const std::string& name = given.name();
  const std::string wanted = contents_of(dtype);
  for (const std::string& other : filled(contents))
    if (other != wanted)
      throw Error(POPRT_INVALID_ARGUMENT, "input " + in_quotes(name) + " has " + other +
                                              "; expected " + wanted + " for " +
                                              serving::datatype_name(dtype));
  std::string bytes;
  switch (dtype) {
    case POPRT_DTYPE_BOOL: append<uint8_t>(bytes, contents.bool_contents(), name, dtype); break;
    case POPRT_DTYPE_S8: append<int8_t>(bytes, contents.int_contents(), name, dtype); break;
    case POPRT_DTYPE_S16: append<int16_t>(bytes, contents.int_contents(), name, dtype); break;
    case POPRT_DTYPE_S32: append<int32_t>(bytes, contents.int_contents(), name, dtype); break;
    case POPRT_DTYPE_S64: append<int64_t>(bytes, contents.int64_contents(), name, dtype); break;
    case POPRT_DTYPE_U8: append<uint8_t>(bytes, contents.uint_contents(), name, dtype); break;
    case POPRT_DTYPE_U16: append<uint16_t>(bytes, contents.uint_contents(), name, dtype); break;
    case POPRT_DTYPE_U32: append<uint32_t>(bytes, contents.uint_contents(), name, dtype); break;
    case POPRT_DTYPE_U64: append<uint64_t>(bytes, contents.uint64_contents(), name, dtype); break;
    case POPRT_DTYPE_F32: append<float>(bytes, contents.fp32_contents(), name, dtype); break;
    default: append<double>(bytes, contents.fp64_contents(), name, dtype);
  }
  return bytes;
}

Parameter parameter_of(const std::string& name, const inference::InferParameter& given) {
  Parameter p{name, {}, "of no known type"};
  switch (given.parameter_choice_case()) {
    case inference::InferParameter::kBoolParam:
      p.value = given.bool_param();
      p.text = given.bool_param() ? "true" : "false";
      break;
    case inference::InferParameter::kInt64Param:
      p.value = int64_t{given.int64_param()};
      p.text = std::to_string(given.int64_param());
      break;
    case inference::InferParameter::kUint64Param:
      p.value = uint64_t{given.uint64_param()};
      p.text = std::to_string(given.uint64_param());
      break;
    case inference::InferParameter::kDoubleParam:
      p.value = given.double_param();
      p.text = std::to_string(given.double_param());
      break;
    case inference::InferParameter::kStringParam:
      p.value = given.string_param();
      p.text = in_quotes(given.string_param());
      break;
    default: break;
  }
  return p;
}

// Reads the parameters of a request and of its inputs and outputs. All outputs are raw.
RequestParameters parameters_of(const inference::ModelInferRequest& request) {
  RequestParameters parameters;
  parameters.binary = true;
  for (const auto& [name, value] : request.parameters())
    read_request_parameter(parameter_of(name, value), parameters);
  for (const auto& input : request.inputs())
    for (const auto& [name, value] : input.parameters()) {
      const std::string where = "input " + in_quotes(input.name()) + ": ";
      if (read_input_parameter(parameter_of(name, value), where))
        throw Error(POPRT_INVALID_ARGUMENT,
                    where + "binary_data_size is for HTTP; expected raw_input_contents without it");
    }
  bool binary = parameters.binary;
  for (const auto& output : request.outputs())
    for (const auto& [name, value] : output.parameters()) {
      bool own = parameters.binary;
      read_output_parameter(parameter_of(name, value), "output " + in_quotes(output.name()) + ": ",
                            own);
      binary = binary && own;
    }
  if (!binary)
    throw Error(POPRT_INVALID_ARGUMENT,
                "binary_data or binary_data_output is false; expected true, because outputs are "
                "raw_output_contents in gRPC");
  return parameters;
}

void check_repository(const std::string& name) {
  if (!name.empty())
    throw Error(POPRT_INVALID_ARGUMENT, "repository_name is " + in_quotes(name) +
                                            "; expected none, because there is one repository");
}

// Refuses all parameters except `flag`, which must be a boolean. If `flag` is "", refuses all.
template <class Parameters>
void check_repository_parameters(const Parameters& parameters, const std::string& flag) {
  for (const auto& [name, value] : parameters)
    if (name != flag || !value.has_bool_param())
      throw Error(POPRT_INVALID_ARGUMENT,
                  "there is no parameter " + in_quotes(name) + "; expected " +
                      (flag.empty() ? "none: models are loaded as they are in the repository"
                                    : flag + " with a bool_param"));
}

// The size of a message of the given type.
template <class Message>
size_t size_of(const void* message) {
  return static_cast<const Message*>(message)->ByteSizeLong();
}

// Writes the line of the access log for a call, also for one that gRPC ends before a method is
// called, because its message is damaged or there is no such method.
class LoggedCall final : public grpc::experimental::Interceptor {
 public:
  LoggedCall(AccessLog& log, std::string_view method) : log_(log), what_(method) {
    if (method.starts_with(kService)) what_.erase(0, kService.size());
  }

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    using Point = grpc::experimental::InterceptionHookPoints;
    // A call is answered also if there is no memory for its line of the log.
    try {
      if (methods->QueryInterceptionHookPoint(Point::POST_RECV_MESSAGE))
        receive(methods->GetRecvMessage());
      if (methods->QueryInterceptionHookPoint(Point::PRE_SEND_MESSAGE))
        sent_ += methods->GetSerializedSendMessage()->Length();
      if (methods->QueryInterceptionHookPoint(Point::PRE_SEND_STATUS))
        log_.write("grpc", what_, methods->GetSendStatus().error_code(), received_, sent_, begin_);
    } catch (const std::exception&) {
    }
    methods->Proceed();
  }

 private:
  static constexpr std::string_view kService = "/inference.GRPCInferenceService/";

  void receive(const void* message) {
    using namespace inference;
    static const std::map<std::string, size_t (*)(const void*), std::less<>> sizes = {
        {"ServerLive", size_of<ServerLiveRequest>},
        {"ServerReady", size_of<ServerReadyRequest>},
        {"ModelReady", size_of<ModelReadyRequest>},
        {"ServerMetadata", size_of<ServerMetadataRequest>},
        {"ModelMetadata", size_of<ModelMetadataRequest>},
        {"RepositoryIndex", size_of<RepositoryIndexRequest>},
        {"RepositoryModelLoad", size_of<RepositoryModelLoadRequest>},
        {"RepositoryModelUnload", size_of<RepositoryModelUnloadRequest>},
        {"ModelInfer", size_of<ModelInferRequest>}};
    const auto size = sizes.find(what_);
    if (!message || size == sizes.end()) return;
    received_ = size->second(message);
    if (what_ == "ModelInfer")
      what_ += " " + static_cast<const ModelInferRequest*>(message)->model_name();
  }

  AccessLog& log_;
  std::string what_;  // the method, and the model of an inference
  size_t received_ = 0, sent_ = 0;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

class LoggedCalls final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit LoggedCalls(AccessLog& log) : log_(log) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* call) override {
    return new LoggedCall(log_, call->method());
  }

 private:
  AccessLog& log_;
};

class Service final : public inference::GRPCInferenceService::CallbackService {
 public:
  Service(const Shared& shared, const ServerOptions& options)
      : shared_(shared), model_control_(options.model_control) {}

  ServerUnaryReactor* ServerLive(CallbackServerContext* context,
                                 const inference::ServerLiveRequest*,
                                 inference::ServerLiveResponse* response) override {
    response->set_live(true);
    auto* reactor = context->DefaultReactor();
    reactor->Finish(Status::OK);
    return reactor;
  }
  ServerUnaryReactor* ServerReady(CallbackServerContext* context,
                                  const inference::ServerReadyRequest*,
                                  inference::ServerReadyResponse* response) override {
    response->set_ready(!shared_.inference.admission().stopped() && shared_.repository.ready());
    auto* reactor = context->DefaultReactor();
    reactor->Finish(Status::OK);
    return reactor;
  }
  ServerUnaryReactor* ModelReady(CallbackServerContext* context,
                                 const inference::ModelReadyRequest* request,
                                 inference::ModelReadyResponse* response) override {
    return answer(context, [&] {
      try {
        shared_.repository.check_ready(request->name(), request->version());
        response->set_ready(true);
      } catch (const Error& e) {
        if (e.code() != POPRT_UNAVAILABLE) throw;
      }
    });
  }
  ServerUnaryReactor* ServerMetadata(CallbackServerContext* context,
                                     const inference::ServerMetadataRequest*,
                                     inference::ServerMetadataResponse* response) override {
    return answer(context, [&] {
      response->set_name("poprt_serve");
      response->set_version(poprt_version_string());
      response->add_extensions("model_repository");
    });
  }
  ServerUnaryReactor* ModelMetadata(CallbackServerContext* context,
                                    const inference::ModelMetadataRequest* request,
                                    inference::ModelMetadataResponse* response) override {
    return answer(context, [&] {
      const auto loaded = shared_.repository.find(request->name(), request->version());
      response->set_name(loaded->name);
      response->add_versions(loaded->version);
      response->set_platform("poprt_popef");
      const bool rows = loaded->model.batch_rows() > 0;
      for (const auto& spec : loaded->model.inputs()) describe(spec, rows, response->add_inputs());
      for (const auto& spec : loaded->model.outputs())
        describe(spec, rows, response->add_outputs());
    });
  }
  ServerUnaryReactor* RepositoryIndex(CallbackServerContext* context,
                                      const inference::RepositoryIndexRequest* request,
                                      inference::RepositoryIndexResponse* response) override {
    return answer(context, [&] {
      check_repository(request->repository_name());
      for (const ModelStatus& status : shared_.repository.index()) {
        if (request->ready() && status.state != "READY") continue;
        auto* model = response->add_models();
        model->set_name(status.name);
        model->set_version(status.version);
        model->set_state(status.state);
        model->set_reason(status.reason);
      }
    });
  }
  ServerUnaryReactor* RepositoryModelLoad(CallbackServerContext* context,
                                          const inference::RepositoryModelLoadRequest* request,
                                          inference::RepositoryModelLoadResponse*) override {
    return run_on_worker(context, [this, request] {
      require_model_control();
      check_repository(request->repository_name());
      check_repository_parameters(request->parameters(), "");
      shared_.repository.load(request->model_name());
    });
  }
  ServerUnaryReactor* RepositoryModelUnload(CallbackServerContext* context,
                                            const inference::RepositoryModelUnloadRequest* request,
                                            inference::RepositoryModelUnloadResponse*) override {
    return run_on_worker(context, [this, request] {
      require_model_control();
      check_repository(request->repository_name());
      check_repository_parameters(request->parameters(), "unload_dependents");
      shared_.repository.unload(request->model_name());
    });
  }
  ServerUnaryReactor* ModelInfer(CallbackServerContext* context,
                                 const inference::ModelInferRequest* request,
                                 inference::ModelInferResponse* response) override;

 private:
  // Checks the authorization, calls a function that fills the response, and ends the call. An error
  // becomes the status of the call.
  template <class Function>
  ServerUnaryReactor* answer(CallbackServerContext* context, Function&& function) {
    auto* reactor = context->DefaultReactor();
    reactor->Finish(attempt([&] {
      authorize(context);
      function();
    }));
    return reactor;
  }
  // Calls a function on the worker's thread, and answers when it has returned.
  ServerUnaryReactor* run_on_worker(CallbackServerContext* context,
                                    std::function<void()> function) {
    auto* reactor = context->DefaultReactor();
    const Status refused = attempt([&] {
      authorize(context);
      shared_.inference.admission().check_open();
    });
    const Status added = refused.ok() ? attempt([&] {
      shared_.worker.add(
          [reactor, function = std::move(function)] { reactor->Finish(attempt(function)); });
    })
                                      : refused;
    if (!added.ok()) reactor->Finish(added);
    return reactor;
  }
  template <class Function>
  static Status attempt(Function&& function) {
    try {
      function();
      return Status::OK;
    } catch (const Error& e) {
      return status_of(e);
    } catch (const std::bad_alloc&) {
      return {grpc::StatusCode::RESOURCE_EXHAUSTED, "out of memory"};
    } catch (const std::exception& e) {
      return {grpc::StatusCode::INTERNAL, e.what()};
    }
  }
  void authorize(const CallbackServerContext* context) const {
    const auto found = context->client_metadata().find("authorization");
    if (!shared_.token.allows(found == context->client_metadata().end()
                                  ? std::string_view()
                                  : std::string_view(found->second.data(), found->second.size())))
      throw Error(static_cast<poprt_error_code>(grpc::StatusCode::UNAUTHENTICATED),
                  "the request has no valid token");
  }
  template <class Metadata>
  static void describe(const serving::TensorSpec& spec, bool rows, Metadata* metadata) {
    metadata->set_name(spec.name);
    metadata->set_datatype(serving::datatype_name(spec.dtype));
    for (size_t d = 0; d < spec.shape.size(); d++)
      metadata->add_shape(rows && d == 0 ? -1 : spec.shape[d]);
  }

  void require_model_control() const {
    if (!model_control_) throw Error(POPRT_PERMISSION_DENIED, kNoModelControl);
  }

  const Shared shared_;
  const bool model_control_;
};

// The inputs of a request. `converted` keeps typed contents as dense memory.
std::vector<InputTensor> inputs_of(const inference::ModelInferRequest& request,
                                   std::vector<std::string>& converted) {
  const int raw = request.raw_input_contents_size();
  if (raw != 0 && raw != request.inputs_size())
    throw Error(POPRT_INVALID_ARGUMENT, "raw_input_contents has " + std::to_string(raw) +
                                            " entries; expected " +
                                            std::to_string(request.inputs_size()));
  converted.reserve(static_cast<size_t>(request.inputs_size()));
  std::vector<InputTensor> inputs;
  for (int i = 0; i < request.inputs_size(); i++) {
    const auto& given = request.inputs(i);
    InputTensor input;
    input.name = given.name();
    input.dtype = serving::datatype_of(given.datatype());
    input.shape.assign(given.shape().begin(), given.shape().end());
    if (input.dtype == POPRT_DTYPE_UNDEFINED)
      throw Error(POPRT_INVALID_ARGUMENT, "input " + in_quotes(given.name()) + " has datatype " +
                                              in_quotes(given.datatype()) + ", which is not known");
    if (raw == 0) converted.push_back(dense(given, input.dtype));
    if (raw != 0 && !filled(given.contents()).empty())
      throw Error(POPRT_INVALID_ARGUMENT, "input " + in_quotes(given.name()) + " has " +
                                              filled(given.contents())[0] +
                                              " and raw_input_contents; expected one of them");
    const std::string& bytes = raw ? request.raw_input_contents(i) : converted.back();
    input.data = bytes.data();
    input.bytes = bytes.size();
    inputs.push_back(std::move(input));
  }
  return inputs;
}

// Cancels a request when its client cancels the call or disconnects.
class InferReactor final : public ServerUnaryReactor {
 public:
  const std::shared_ptr<Cancellation>& cancellation() const { return cancellation_; }
  void OnCancel() override { cancellation_->cancel(); }
  void OnDone() override { delete this; }

 private:
  const std::shared_ptr<Cancellation> cancellation_ = std::make_shared<Cancellation>();
};

// The shorter of the time limit of the request and of the client's deadline. 0: none.
int64_t limit_ns(const CallbackServerContext& context, int64_t timeout_ns) {
  const auto now = std::chrono::system_clock::now();
  if (context.deadline() > now + std::chrono::hours(24 * 365)) return timeout_ns;
  const auto left = std::chrono::nanoseconds(context.deadline() - now).count();
  const int64_t deadline_ns = std::max<int64_t>(left, 1);
  return timeout_ns > 0 ? std::min(timeout_ns, deadline_ns) : deadline_ns;
}

ServerUnaryReactor* Service::ModelInfer(CallbackServerContext* context,
                                        const inference::ModelInferRequest* request,
                                        inference::ModelInferResponse* response) {
  auto* reactor = new InferReactor;  // deletes itself
  const Status submitted = attempt([&] {
    authorize(context);
    const auto model = shared_.repository.find(request->model_name(), request->model_version());
    const auto converted = std::make_shared<std::vector<std::string>>();
    auto [parameters, given] = count_failure(*model->counters, [&] {
      return std::pair(parameters_of(*request), inputs_of(*request, *converted));
    });
    const auto inputs = std::make_shared<const std::vector<InputTensor>>(std::move(given));
    std::vector<std::string> wanted;
    for (const auto& output : request->outputs()) wanted.push_back(output.name());
    auto done = [response, request, reactor, converted, inputs](Result result) {
      // The runner's thread has no handler for exceptions.
      reactor->Finish(attempt([&] {
        if (result.error) throw *result.error;
        response->set_model_name(result.model->name);
        response->set_model_version(result.model->version);
        response->set_id(request->id());
        for (const OutputTensor& output : result.outputs) {
          auto* tensor = response->add_outputs();
          tensor->set_name(output.spec->name);
          tensor->set_datatype(serving::datatype_name(output.spec->dtype));
          for (const int64_t size : output.shape) tensor->add_shape(size);
          response->add_raw_output_contents(output.data, output.bytes);
        }
      }));
    };
    shared_.inference.submit(model, *inputs, wanted, std::move(done),
                             limit_ns(*context, parameters.timeout_ns), reactor->cancellation());
  });
  if (!submitted.ok()) reactor->Finish(submitted);
  return reactor;
}

// Answers calls of methods that the server does not have.
class OtherMethods final : public grpc::CallbackGenericService {
  class Refusal final : public grpc::ServerGenericBidiReactor {
   public:
    explicit Refusal(const std::string& method) {
      Finish({grpc::StatusCode::UNIMPLEMENTED,
              "there is no method " + in_quotes(method) + "; see poprt help serving"});
    }
    void OnDone() override { delete this; }
  };

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    return new Refusal(context->method());
  }
};

}  // namespace

struct GrpcServer::State {
  State(const Shared& shared, const ServerOptions& options) : service(shared, options) {}
  Service service;
  OtherMethods others;
  std::mutex health_mutex;
  bool ends = false;  // guarded by health_mutex: whether the status stays NOT_SERVING
  std::unique_ptr<grpc::Server> server;
};

namespace {

// The lines that gRPC logs while the server starts. They are not written to stderr.
std::string start_log;

void keep_log(gpr_log_func_args* line) { start_log += std::string(line->message) + "\n"; }

// Sets the status of the server and of its service.
void set_health(grpc::Server& server, bool serving) {
  grpc::HealthCheckServiceInterface& health = *server.GetHealthCheckService();
  health.SetServingStatus(serving);
  health.SetServingStatus("inference.GRPCInferenceService", serving);
}

// The reason in the log: the error of the operating system, or else the last line.
std::string reason_of(const std::string& log) {
  constexpr std::string_view kError = "os_error:\"";
  if (const size_t at = log.find(kError); at != std::string::npos)
    return log.substr(at + kError.size(), log.find('"', at + kError.size()) - at - kError.size());
  const std::string_view lines = std::string_view(log).substr(0, log.find_last_not_of('\n') + 1);
  return std::string(lines.substr(lines.rfind('\n') + 1));
}

}  // namespace

GrpcServer::GrpcServer(const Shared& shared, const ServerOptions& options)
    : state_(std::make_unique<State>(shared, options)) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials();
  if (!options.certificate.empty()) {
    grpc::SslServerCredentialsOptions tls;
    tls.pem_key_cert_pairs.push_back({options.key, options.certificate});
    credentials = grpc::SslServerCredentials(tls);
  }
  builder.AddListeningPort(address_and_port(options.address, options.port), credentials, &port_);
  builder.RegisterService(&state_->service);
  builder.RegisterCallbackGenericService(&state_->others);
  if (shared.log.is_enabled()) {
    std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> logged;
    logged.push_back(std::make_unique<LoggedCalls>(shared.log));
    builder.experimental().SetInterceptorCreators(std::move(logged));
  }
  builder.SetMaxReceiveMessageSize(static_cast<int>(
      std::min<size_t>(options.limits.request_bytes, std::numeric_limits<int>::max())));
  builder.SetMaxSendMessageSize(-1);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE,
                             static_cast<int>(options.limits.header_bytes));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 256);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // gRPC 1.51 has no limit of connections, so those without calls, or without a client of
  // gRPC, must not stay.
  for (const char* argument :
       {GRPC_ARG_MAX_CONNECTION_IDLE_MS, GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS})
    builder.AddChannelArgument(argument, options.limits.idle_seconds * 1000);
  // Clients and service meshes send pings of keepalive while they wait for an answer. By default
  // gRPC closes a connection with more than one ping in five minutes.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 500);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  start_log.clear();
  gpr_set_log_function(keep_log);
  state_->server = builder.BuildAndStart();
  gpr_set_log_function(nullptr);
  if (!state_->server || port_ == 0)
    throw Error(POPRT_UNAVAILABLE, start_failure("gRPC", options, reason_of(start_log)));
  set_serving(false);
}

void GrpcServer::set_serving(bool serving) {
  const std::lock_guard lock(state_->health_mutex);
  if (!state_->ends) set_health(*state_->server, serving);
}

void GrpcServer::end_serving() {
  const std::lock_guard lock(state_->health_mutex);
  state_->ends = true;
  set_health(*state_->server, false);
}

void GrpcServer::stop() {
  if (!state_->server) return;
  end_serving();
  state_->server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(10));
  state_->server.reset();
}

GrpcServer::~GrpcServer() { stop(); }

}  // namespace poprt::serve
