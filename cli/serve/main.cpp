// poprt_serve: serves PopEF and ONNX files by the Open Inference Protocol over HTTP and gRPC.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/arguments.h"
#include "common/read_pieces.h"
#include "serve/model_files.h"
#include "serve/server.h"

namespace {

using namespace poprt::cli;
using namespace poprt::serve;

// Some 31 years, which fit into 64 bits as nanoseconds, also added to the time of a clock.
constexpr double kMostSeconds = 1e9, kMostMilliseconds = 1e12;
constexpr std::chrono::seconds kMostAfterDrain{5};  // for runs and compilations that go on

struct Settings {
  RepositoryOptions repository;
  ServerOptions server;
  int http_port = 8000, grpc_port = 8001;
  double batch_wait_ms = 0, request_timeout_ms = 0, poll_seconds = 0, drain_seconds = 30;
  std::string token;      // the content of token_file
  std::string tls_stamp;  // of certificate_file and key_file, before they were read
  std::string token_file, certificate_file, key_file, access_log, model_control = "explicit";
  std::vector<std::string> compile_options, warm_up;
  uint64_t max_request_mib = Limits{}.request_bytes >> 20,
           max_bodies_mib = Limits{}.bodies_bytes >> 20, max_json_mib = Limits{}.json_bytes >> 20,
           max_header_kib = Limits{}.header_bytes >> 10;
  int64_t max_connections = Limits{}.connections;
};

constexpr uint64_t kMostOfFile = uint64_t{16} << 20;  // bytes of a token or a PEM file

// Reads the file that an option names.
std::string read_file(const char* option, const std::string& path) {
  std::string text;
  try {
    read_pieces(path, kMostOfFile,
                [&](std::span<const char> piece) { text.append(piece.begin(), piece.end()); });
  } catch (const Failure& e) {
    throw Failure(std::string(option) + ": " + e.what());
  }
  return text;
}

// Reads a PEM file that contains `mark`. Refuses others, because an empty text would turn TLS off.
std::string read_pem(const char* option, const std::string& path, const char* mark,
                     const char* what) {
  std::string text = read_file(option, path);
  if (text.find("-----BEGIN ") == std::string::npos || text.find(mark) == std::string::npos)
    throw std::runtime_error(std::string(option) + ": '" + path + "' has no " + what +
                             "; expected a PEM file with one");
  if (text.find("ENCRYPTED") != std::string::npos)
    throw std::runtime_error(std::string(option) + ": '" + path +
                             "' is encrypted; expected a file without a password");
  return text;
}

// Returns the token in the file, without white space before and after it.
std::string read_token(const std::string& path) {
  constexpr const char* kSpace = " \t\r\n\v\f";
  std::string token = read_file("--token_file", path);
  const size_t begin = token.find_first_not_of(kSpace);
  if (begin == std::string::npos)
    throw std::runtime_error("--token_file: '" + path + "' has no token");
  token = token.substr(begin, token.find_last_not_of(kSpace) + 1 - begin);
  for (const char c : token)
    if (c <= ' ' || c > '~')
      throw std::runtime_error("--token_file: '" + path +
                               "' has a token with white space or a character that is not ASCII, "
                               "which clients cannot send");
  return token;
}

void add_options(Command& app, Settings& s) {
  app.add_option("REPOSITORY", s.repository.folder,
                 "Folder with NAME.popef, NAME.onnx or NAME/VERSION/executable.popef")
      ->required();
  app.add_option("--threads", s.repository.threads, "Compute threads of each model; 0: all CPUs")
      ->check(between(0, 4096))
      ->capture_default_str();
  app.add_flag("--compile", s.repository.compile,
               "Compile ONNX models, and new shapes of PopEF files with a source");
  app.add_option("--compile_option", s.compile_options,
                 "NAME=VALUE: an option of command poprt for ONNX models, with --compile")
      ->many();
  app.add_flag("--verify", s.repository.verify,
               "Check the checksums of PopEF files when they are loaded, which reads all of them");
  app.add_option("--max_shapes", s.repository.max_shapes,
                 "Shapes that are kept of a model whose shapes are compiled on demand; 0: 16")
      ->check(between(0, 65536))
      ->capture_default_str();
  app.add_option("--warm_up", s.warm_up,
                 "MODEL/INPUT=SHAPE/SHAPE: shapes that are compiled before the model is ready")
      ->many();
  app.add_option("--batch_wait_ms", s.batch_wait_ms,
                 "How long an incomplete batch waits for more rows")
      ->check(between(0.0, kMostMilliseconds))
      ->capture_default_str();
  app.add_option("--slots", s.repository.slots,
                 "Texts that a generator computes together, if it is compiled; 0: 4")
      ->check(between<int64_t>(0, 4096))
      ->capture_default_str();
  app.add_option("--max_length", s.repository.max_length,
                 "Tokens of prompt and text, if a generator is compiled; 0: the context of the "
                 "model, at most 2048")
      ->check(between<int64_t>(0, 1 << 24))
      ->capture_default_str();
  app.add_option("--poll_seconds", s.poll_seconds,
                 "How often files are checked for changes and loaded again; 0: never")
      ->check(between(0.0, kMostSeconds))
      ->capture_default_str();
}

void add_network_options(Command& app, Settings& s) {
  app.group("Network");
  app.add_option("--address", s.server.address, "Address of IPv4 or IPv6 to listen on")
      ->capture_default_str();
  app.add_option("--http_port", s.http_port, "Port of HTTP; 0: a free one, -1: none")
      ->check(between(-1, 65535))
      ->capture_default_str();
  app.add_option("--grpc_port", s.grpc_port, "Port of gRPC; 0: a free one, -1: none")
      ->check(between(-1, 65535))
      ->capture_default_str();
  app.add_option("--http_threads", s.server.threads, "Threads that read and write HTTP")
      ->check(between(2, 64))
      ->capture_default_str();
  app.add_option("--token_file", s.token_file,
                 "File with the token that clients send as 'Authorization: Bearer TOKEN'");
  app.add_option("--tls_certificate", s.certificate_file, "PEM file of the certificate chain");
  app.add_option("--tls_key", s.key_file, "PEM file of the private key");
  app.add_option("--model_control", s.model_control,
                 "Whether clients may load and unload models: explicit or none")
      ->check(one_of({"explicit", "none"}))
      ->capture_default_str();
  app.add_option("--access_log", s.access_log, "File for a JSON line per request; -: stdout");
}

void add_limits(Command& app, Settings& s) {
  app.group("Limits");
  app.add_option("--request_timeout_ms", s.request_timeout_ms,
                 "How long a request may wait for its computation; 0: without limit")
      ->check(between(0.0, kMostMilliseconds))
      ->capture_default_str();
  app.add_option("--max_waiting", s.server.limits.waiting,
                 "Requests in flight; further ones fail with 429")
      ->check(at_least<int64_t>(1))
      ->capture_default_str();
  app.add_option("--max_texts", s.server.limits.texts,
                 "Texts of generators that wait or are generated; further ones fail with 429")
      ->check(between<int64_t>(1, 4096))
      ->capture_default_str();
  app.add_option("--max_connections", s.max_connections, "Connections of HTTP")
      ->check(between<int64_t>(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--idle_seconds", s.server.limits.idle_seconds,
                 "After which a connection without a request is closed")
      ->check(between(1, 86400))
      ->capture_default_str();
  app.add_option("--max_request_mib", s.max_request_mib,
                 "Size of a request; a larger one fails with 413")
      ->check(between<uint64_t>(1, 2047))
      ->capture_default_str();
  app.add_option(
         "--max_bodies_mib", s.max_bodies_mib,
         "Size of all requests of HTTP in memory; further ones of more than 64 KiB fail with 429")
      ->check(between<uint64_t>(1, 1 << 30))
      ->capture_default_str();
  app.add_option("--max_json_mib", s.max_json_mib, "Size of the JSON in a request")
      ->check(between<uint64_t>(1, 2047))
      ->capture_default_str();
  app.add_option("--max_shape_mib", s.repository.max_shape_mib,
                 "Memory for one run of each shape that is compiled on demand, of all shapes of a "
                 "model together; 0: half of the memory")
      ->check(between<uint64_t>(0, 1 << 30))
      ->capture_default_str();
  app.add_option("--max_header_kib", s.max_header_kib, "Size of the header of a request")
      ->check(between<uint64_t>(4, 1024))
      ->capture_default_str();
  app.add_option("--drain_seconds", s.drain_seconds,
                 "How long requests in flight may take when the server stops")
      ->check(between(0.0, kMostSeconds))
      ->capture_default_str();
}

// Refuses options that have no effect with the other ones.
void check_effects(const Settings& s) {
  if (s.http_port == -1 && s.grpc_port == -1)
    throw Usage(
        "--http_port and --grpc_port are both -1, so that no client could connect; give one of "
        "them a port");
  if (s.repository.compile) return;
  const std::pair<const char*, bool> given[] = {
      {"--compile_option", !s.compile_options.empty()},
      {"--warm_up", !s.warm_up.empty()},
      {"--max_shapes", s.repository.max_shapes != 0},
      {"--max_shape_mib", s.repository.max_shape_mib != 0},
      {"--slots", s.repository.slots != 0},
      {"--max_length", s.repository.max_length != 0},
  };
  for (const auto& [name, is_given] : given)
    if (is_given)
      throw Usage(std::string(name) +
                  " needs --compile: it is for models that the server compiles");
}

void check_compile_options(const Settings& s) {
  if (s.repository.compile_options.empty()) return;
  poprt::serving::LoadOptions load;
  load.compile_options = s.repository.compile_options;
  try {
    poprt::serving::check_compile_options(load);
  } catch (const Error& e) {
    if (e.code() != POPRT_INVALID_ARGUMENT) throw;
    throw Usage("--compile_option: " + std::string(e.what()) +
                " (poprt --help-all lists the options)");
  }
}

// Warns about options that have no effect on the models of the repository.
void warn_about_effects(const RepositoryOptions& options, const ModelRepository& repository) {
  const auto warn = [](const char* names, const char* models) {
    std::fprintf(stderr, "poprt_serve: warning: %s has no effect: the repository has no %s\n",
                 names, models);
  };
  const LoadedKinds kinds = repository.kinds();
  const bool for_onnx = std::ranges::any_of(options.compile_options,
                                            [](const auto& o) { return o.first != "shapes"; });
  if (for_onnx && !kinds.onnx) warn("--compile_option", "ONNX model that the server compiles");
  if (options.slots && !kinds.compiled_generator)
    warn("--slots", "generator that the server compiles");
  if (options.max_length && !kinds.compiled_generator)
    warn("--max_length", "generator that the server compiles");
  if (kinds.any_shape || kinds.failed) return;
  if (options.max_shapes) warn("--max_shapes", "model whose shapes are compiled on demand");
  if (options.max_shape_mib) warn("--max_shape_mib", "model whose shapes are compiled on demand");
}

// The stamp of the files of TLS, or "".
std::string tls_stamp(const Settings& settings) {
  return settings.certificate_file.empty()
             ? std::string()
             : stamp_of({settings.certificate_file, settings.key_file});
}

// Checks the options and stores them as the options of the repository and of the servers.
void apply_options(Settings& s) {
  check_effects(s);
  s.repository.log = [](const std::string& line) {
    std::fprintf(stderr, "poprt_serve: %s\n", printable(line).c_str());
  };
  if (s.request_timeout_ms > 0 && s.batch_wait_ms >= s.request_timeout_ms)
    throw Usage(
        "--batch_wait_ms is not less than --request_timeout_ms, so that each request that does not "
        "fill a batch would fail");
  s.server.model_control = s.model_control == "explicit";
  s.repository.batch_wait_ns = static_cast<int64_t>(s.batch_wait_ms * 1e6);
  s.server.limits.request_ns = static_cast<int64_t>(s.request_timeout_ms * 1e6);
  s.server.limits.connections = static_cast<unsigned>(s.max_connections);
  s.server.limits.request_bytes = s.max_request_mib << 20;
  s.server.limits.bodies_bytes = s.max_bodies_mib << 20;
  s.server.limits.json_bytes = s.max_json_mib << 20;
  s.server.limits.header_bytes = s.max_header_kib << 10;
  for (const std::string& option : s.compile_options) {
    const size_t equal = option.find('=');
    if (equal == std::string::npos)
      throw Usage("--compile_option: expected NAME=VALUE, found '" + option + "'");
    s.repository.compile_options.emplace_back(option.substr(0, equal), option.substr(equal + 1));
  }
  check_compile_options(s);
  for (const std::string& option : s.warm_up) {
    const size_t slash = option.find('/'), equal = option.rfind('=');
    if (slash == 0 || slash == std::string::npos || equal == std::string::npos || equal < slash + 2)
      throw Usage("--warm_up: expected MODEL/INPUT=SHAPE, found '" + option + "'");
    s.repository.warm_up[option.substr(0, slash)].push_back(option.substr(slash + 1));
  }
  if (!s.token_file.empty()) s.token = read_token(s.token_file);
  if (s.certificate_file.empty() != s.key_file.empty())
    throw Usage("--tls_certificate and --tls_key belong together; give both or none");
  if (!s.certificate_file.empty()) {
    s.tls_stamp = tls_stamp(s);
    s.server.certificate =
        read_pem("--tls_certificate", s.certificate_file, "CERTIFICATE-----", "certificate");
    s.server.key = read_pem("--tls_key", s.key_file, "PRIVATE KEY-----", "private key");
  }
}

sigset_t end_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM}) sigaddset(&signals, signal);
  return signals;
}

// SIGINT and SIGTERM end the server, and SIGHUP reloads changed models.
sigset_t handled_signals() {
  sigset_t signals = end_signals();
  sigaddset(&signals, SIGHUP);
  return signals;
}

// Loads all models on a thread, so that the server can be stopped meanwhile.
class Loading {
 public:
  explicit Loading(ModelRepository& repository)
      : thread_([this, &repository] {
          try {
            repository.load_all();
          } catch (const std::exception&) {
            error_ = std::current_exception();
          }
          ended_ = true;
        }) {}
  ~Loading() { thread_.join(); }
  Loading(const Loading&) = delete;
  Loading& operator=(const Loading&) = delete;

  bool has_ended() const { return ended_; }

  // Waits until all models are loaded, and rethrows the error of load_all(). Returns false at
  // SIGINT or SIGTERM.
  bool wait() {
    const sigset_t signals = end_signals();
    const timespec pause = {0, 1'000'000};
    while (!ended_)
      if (sigtimedwait(&signals, nullptr, &pause) > 0) return false;
    if (error_) std::rethrow_exception(error_);
    return true;
  }

 private:
  std::exception_ptr error_;  // written before ended_
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

// Reads the token again; the old one stays after an error.
void reload_token(const Settings& settings, Token& token) {
  if (settings.token_file.empty()) return;
  try {
    token.set(read_token(settings.token_file));
  } catch (const std::exception& e) {
    settings.repository.log(std::string(e.what()) + "; the old token stays");
  }
}

// Waits for SIGINT or SIGTERM. At SIGHUP, opens the log and reads the token again, and reports a
// changed certificate. At SIGHUP, and every `poll_seconds` unless it is 0, loads changed models
// again.
void wait_for_signal(const Settings& settings, ModelRepository& repository, AccessLog& log,
                     Token& token) {
  const double poll_seconds = settings.poll_seconds;
  const sigset_t signals = handled_signals();
  const double period = poll_seconds > 0 ? std::max(poll_seconds, 1e-3) : 3600;
  const timespec pause = {
      static_cast<time_t>(period),
      static_cast<long>((period - static_cast<double>(static_cast<time_t>(period))) * 1e9)};
  for (;;) {
    const int signal = sigtimedwait(&signals, nullptr, &pause);
    if (signal == SIGINT || signal == SIGTERM) return;
    if (signal == SIGHUP) {
      log.reopen();
      reload_token(settings, token);
      if (tls_stamp(settings) != settings.tls_stamp)
        settings.repository.log(
            "the files of --tls_certificate and --tls_key have changed since the start; restart "
            "the server to use the new ones");
    }
    if (signal == SIGHUP || poll_seconds > 0) repository.reload_changed(signal == SIGHUP);
  }
}

// Allows as many file descriptors as the system does, and lowers the number of connections of HTTP
// to half of them. The other half is for gRPC and for files. Without descriptors, clients would
// wait without an answer, and the library of HTTP would use a processor.
void raise_descriptors(unsigned& connections) {
  rlimit files = {};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  const rlim_t most = std::max<rlim_t>(files.rlim_max / 2, 1);
  if (connections <= most) return;
  std::fprintf(stderr,
               "poprt_serve: warning: --max_connections is %llu instead of %u, because the process "
               "can have %llu file descriptors (ulimit -Hn)\n",
               static_cast<unsigned long long>(most), connections,
               static_cast<unsigned long long>(files.rlim_max));
  connections = static_cast<unsigned>(most);
}

void serve(Settings& settings) {
  // The signals are blocked before any thread exists, because threads inherit the mask.
  const sigset_t signals = handled_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  raise_descriptors(settings.server.limits.connections);
  AccessLog log(settings.access_log, settings.repository.log);
  ModelRepository repository(settings.repository);
  Inference inference(settings.server.limits);
  Generations generations(settings.server.limits.texts, settings.server.limits.request_ns);
  auto worker = std::make_unique<Worker>(), reader = std::make_unique<Worker>();
  // Declared last, because the threads of the servers use all others.
  std::unique_ptr<HttpServer> http;
  std::unique_ptr<GrpcServer> grpc;
  Token token;
  token.set(settings.token);
  const Shared shared = {repository, inference, log, *worker, *reader, generations, token};
  ServerOptions options = settings.server;
  options.port = settings.http_port;
  if (options.port >= 0) http = std::make_unique<HttpServer>(shared, options);
  options.port = settings.grpc_port;
  if (options.port >= 0) {
    grpc = std::make_unique<GrpcServer>(shared, options);
    repository.set_listener([&](bool ready) { grpc->set_serving(ready); });
  }
  const auto stop_servers = [&] {
    http.reset();
    if (grpc) grpc->stop();
    // The workers end after the servers, which give them tasks and wait for the answers of these
    // tasks.
    reader.reset();
    worker.reset();
  };
  Loading loading(repository);
  bool loaded = false;
  try {
    loaded = loading.wait();
  } catch (const std::exception&) {
    inference.admission().stop();
    generations.admission().stop();
    generations.cancel();
    stop_servers();
    throw;
  }
  for (const ModelStatus& status : repository.index())
    std::fprintf(stderr, "poprt_serve: model '%s': %s%s%s\n", status.name.c_str(),
                 status.state.c_str(), status.reason.empty() ? "" : ": ", status.reason.c_str());
  if (loaded) warn_about_effects(settings.repository, repository);
  const auto place = [&](bool runs, int port) {
    return runs ? address_and_port(options.address, port) : std::string("off");
  };
  std::fprintf(stderr, "poprt_serve: http %s, grpc %s%s\n",
               place(http != nullptr, http ? http->port() : 0).c_str(),
               place(grpc != nullptr, grpc ? grpc->port() : 0).c_str(),
               options.certificate.empty() ? "" : ", with TLS");
  if (loaded) wait_for_signal(settings, repository, log, token);
  inference.admission().stop();
  generations.admission().stop();
  if (grpc) grpc->end_serving();
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::milliseconds(static_cast<int64_t>(settings.drain_seconds * 1000));
  // Static, because the thread below may outlive this function.
  static std::atomic<int64_t> in_flight{0};
  const auto busy = [&] {
    in_flight = inference.admission().in_flight() + generations.admission().in_flight();
    return in_flight > 0;
  };
  const auto report = [](const char* what) {
    if (const int64_t count = in_flight; count > 0)
      std::fprintf(stderr, "poprt_serve: %s; in flight: %lld\n", what,
                   static_cast<long long>(count));
  };
  // A compilation or a run may take longer than all limits. Then this thread ends the process.
  std::thread([end, report] {
    std::this_thread::sleep_until(end + kMostAfterDrain);
    report("ends without the answers to requests");
    std::_Exit(0);
  }).detach();
  if (busy()) report("stops when its requests are answered");
  while (busy() && std::chrono::steady_clock::now() < end) usleep(1000);
  if (busy()) report("cancels requests, because --drain_seconds have passed");
  for (const ModelStatus& status : repository.index())
    if (status.state == "READY" && inference.admission().in_flight() > 0)
      repository.unload(status.name);
  generations.cancel();
  while (busy()) usleep(1000);
  if (http) http->drain(std::max(end, std::chrono::steady_clock::now() + std::chrono::seconds(1)));
  if (!loading.has_ended()) std::_Exit(0);  // a compilation cannot be interrupted
  stop_servers();
}

}  // namespace

int main(int argc, char** argv) {
  hold_standard_streams();
  Command app("Serves PopEF and ONNX files by the Open Inference Protocol over HTTP and gRPC.",
              "poprt_serve");
  app.set_version_flag("-v,--version", versions());
  Settings settings;
  add_options(app, settings);
  add_network_options(app, settings);
  add_limits(app, settings);
  app.example("poprt_serve models", "Serve all files of the folder models");
  app.example("poprt_serve models --compile --http_port 8080 --grpc_port -1",
              "Also compile the ONNX models there; HTTP only, on another port");
  app.footer("poprt help serving describes the protocol, and how to run the server.");
  return guarded("poprt_serve", [&] {
    if (const auto code = app.parse(argc, argv)) return *code;
    apply_options(settings);
    serve(settings);
    return 0;
  });
}
