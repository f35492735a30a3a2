// The Open Inference Protocol over HTTP/1.1 with libmicrohttpd: event loops with epoll, so that
// idle and slow connections have no thread. A connection whose request is computed is suspended,
// and the runner's thread resumes it.
#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <charconv>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <new>
#include <nlohmann/json.hpp>

#include "serve/closed_clients.h"
#include "serve/json_tensors.h"
#include "serve/metrics.h"
#include "serve/server.h"

namespace poprt::serve {

namespace {

int http_status(poprt_error_code code) {
  switch (code) {
    case POPRT_INVALID_ARGUMENT:
    case POPRT_OUT_OF_RANGE: return 400;
    case POPRT_NOT_FOUND: return 404;
    case POPRT_RESOURCE_EXHAUSTED: return 429;
    case POPRT_UNAVAILABLE: return 503;
    case POPRT_DEADLINE_EXCEEDED: return 504;
    case POPRT_UNIMPLEMENTED: return 501;
    default: return 500;
  }
}

// The error for an exception that is not an Error. Clients may repeat a request that failed for
// lack of memory, so it has a different code.
Error unexpected_error(const std::exception& e) {
  if (dynamic_cast<const std::bad_alloc*>(&e)) return {POPRT_RESOURCE_EXHAUSTED, "out of memory"};
  return {POPRT_INTERNAL, e.what()};
}

struct Answer {
  int status = 200;
  std::string body;
  const char* type = "application/json";
  size_t json_size = 0;  // if binary tensors follow the JSON
  std::string allow;     // the method of the resource, if the request has another one
  std::string error;     // instead of a body
  bool close = false;    // whether the connection is closed after the answer
};

Answer failure(int status, std::string_view message) {
  Answer answer;
  answer.status = status;
  answer.error = message;
  return answer;
}

// In bytes. Larger JSON is parsed and written by `reader`, so that it delays no thread of HTTP.
constexpr size_t kMuchJson = size_t{64} << 10;

// In bytes. The limit of all bodies does not refuse a smaller one, because clients with large
// bodies must not block others. The number of connections limits their memory.
constexpr size_t kSmallBody = size_t{64} << 10;

// The status in the access log of a request whose client closed the connection before its answer,
// as in other servers. No client receives it.
constexpr int kGivenUp = 499;

// One request on a connection.
struct Exchange {
  std::string method, path, version;  // HTTP/1.1
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  JsonRequest request;
  size_t announced = 0;    // Content-Length
  bool begun = false;      // whether the first call has checked the header
  bool submitted = false;  // whether the request was passed on for computation
  bool counted = false;    // in State::answering
  int refusal = 0;         // the status of the answer, if the body is read and not kept
  size_t held = 0;         // bytes of the body in State::held
  size_t discarded = 0;
  Result result;
  std::optional<Answer> answer;  // if it was written by the reader
  std::string model;
  std::shared_ptr<Completion> completion;
};

Answer answer_infer(const Exchange& exchange) {
  Answer answer;
  answer.body = format_response(exchange.result, exchange.request, answer.json_size);
  if (answer.json_size) answer.type = "application/octet-stream";
  return answer;
}

// Whether the outputs that are written as JSON are large enough for the reader. A byte of a tensor
// becomes up to some 8 bytes of text.
bool has_much_json(const Result& result, const JsonRequest& request) {
  size_t bytes = 0;
  for (size_t i = 0; i < result.outputs.size(); i++)
    if (!(i < request.wanted_binary.size() ? request.wanted_binary[i] : request.parameters.binary))
      bytes += result.outputs[i].bytes;
  return bytes > kMuchJson / 8;
}

// The fields of a header that framing_error() checks.
struct Framing {
  // Numbers of fields with these names.
  int lengths = 0, encodings = 0, hosts = 0, authorizations = 0;
  std::string encoding;  // Transfer-Encoding
  std::string bad_name;
};

// Whether the text is a token of RFC 9110 (section 5.6.2).
bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) ||
           std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

MHD_Result add_to_framing(void* state, MHD_ValueKind, const char* key, const char* value) {
  auto& framing = *static_cast<Framing*>(state);
  // The library appends a line that continues a value to the name of the field.
  constexpr std::string_view kLength = "Content-Length", kEncoding = "Transfer-Encoding";
  const std::string_view name(key);
  const auto begins = [key](std::string_view with) {
    return strncasecmp(key, with.data(), with.size()) == 0;
  };
  const bool length = begins(kLength), encoding = begins(kEncoding);
  if (!is_token(name) || (length && name.size() > kLength.size()) ||
      (encoding && name.size() > kEncoding.size()))
    framing.bad_name = name;
  framing.lengths += length;
  framing.encodings += encoding;
  framing.hosts += strcasecmp(key, "Host") == 0;
  framing.authorizations += strcasecmp(key, "Authorization") == 0;
  if (encoding && value) framing.encoding = value;
  return MHD_YES;
}

// Why the header contradicts RFC 9112 (sections 3.2, 5 and 6), or "". The library uses the first of
// several fields, and a proxy may use another one, so that the two see different requests.
std::string framing_error(MHD_Connection* connection, const std::string& version) {
  Framing framing;
  MHD_get_connection_values(connection, MHD_HEADER_KIND, add_to_framing, &framing);
  if (!framing.bad_name.empty())
    return "the header has a field " + in_quotes(framing.bad_name) +
           "; expected names without white space, and values of one line";
  if (framing.lengths > 1) return "the header has several fields Content-Length; expected one";
  if (framing.encodings > 0) {
    if (framing.lengths > 0)
      return "the header has Content-Length and Transfer-Encoding; expected one of them";
    if (framing.encodings > 1)
      return "the header has several fields Transfer-Encoding; expected one";
    if (strcasecmp(framing.encoding.c_str(), "chunked") != 0)
      return "Transfer-Encoding is " + in_quotes(framing.encoding) + "; expected chunked";
    if (version == "HTTP/1.0") return "HTTP/1.0 has no Transfer-Encoding";
  }
  if (framing.hosts > 1) return "the header has several fields Host; expected one";
  if (framing.authorizations > 1)
    return "the header has several fields Authorization; expected one";
  if (framing.hosts == 0 && version != "HTTP/1.0") return "the header has no field Host";
  return {};
}

// Splits "/v2/models/NAME/infer" at slashes. The library has already decoded %XX.
std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (size_t at = 1; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    parts.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// The method of a resource, or "" if there is no such resource.
std::string method_of(const std::vector<std::string>& parts) {
  using Parts = std::vector<std::string>;
  if (std::ranges::find(parts, "") != parts.end()) return {};
  if (parts.size() >= 3 && parts[0] == "v2" && parts[1] == "models") {
    const size_t names = parts.size() >= 5 && parts[3] == "versions" ? 5 : 3;
    if (parts.size() == names) return "GET";
    if (parts.size() > names + 1) return {};
    return parts[names] == "infer" ? "POST" : parts[names] == "ready" ? "GET" : "";
  }
  if (parts == Parts{"metrics"} || parts == Parts{"v1", "models"} || parts == Parts{"v2"} ||
      parts == Parts{"v2", "health", "live"} || parts == Parts{"v2", "health", "ready"})
    return "GET";
  if (parts.size() == 3 && parts[0] == "v1" && parts[1] == "models")
    return parts[2].find(':') == std::string::npos ? "GET" : "";  // not NAME:predict
  if (parts == Parts{"v1", "completions"} || parts == Parts{"v2", "repository", "index"})
    return "POST";
  if (parts.size() == 5 && parts[0] == "v2" && parts[1] == "repository" && parts[2] == "models")
    return parts[4] == "load" || parts[4] == "unload" ? "POST" : "";
  return {};
}

}  // namespace

struct HttpServer::State {
  State(const Shared& given, const ServerOptions& given_options)
      : shared(given), options(given_options) {}
  ~State() {
    // The library requires that no connection is suspended.
    stopping = true;
    while (suspended > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (daemon) MHD_stop_daemon(daemon);
  }

  MHD_Result receive(MHD_Connection* connection, Exchange& exchange, const char* data,
                     size_t* size);
  MHD_Result begin(MHD_Connection* connection, Exchange& exchange);
  Answer too_large(const Exchange& exchange) const;
  bool hold(Exchange& exchange, size_t bytes);
  void release(Exchange& exchange);
  MHD_Result respond(MHD_Connection* connection, Exchange& exchange);
  Answer answer(Exchange& exchange);
  Answer answer_get(const std::vector<std::string>& parts);
  Answer answer_index(const Exchange& exchange);
  void suspend(MHD_Connection* connection, Exchange& exchange);
  void resume(MHD_Connection* connection);
  void suspend_for(Worker& worker, MHD_Connection* connection, Exchange& exchange,
                   std::function<void()> task);
  void load_or_unload(MHD_Connection* connection, Exchange& exchange, const std::string& name,
                      bool load);
  void submit(MHD_Connection* connection, Exchange& exchange, const std::string& version,
              size_t json_size);
  void submit_now(MHD_Connection* connection, Exchange& exchange,
                  const std::shared_ptr<const LoadedModel>& model, size_t json_size);
  void start_completion(MHD_Connection* connection, Exchange& exchange);
  MHD_Result answer_completions(MHD_Connection* connection, Exchange& exchange);
  MHD_Result stream(MHD_Connection* connection, Exchange& exchange);
  MHD_Result send(MHD_Connection* connection, Exchange& exchange, Answer answer);

  const Shared shared;
  const ServerOptions options;
  ClosedClients clients;  // all connections
  MHD_Daemon* daemon = nullptr;
  std::atomic<bool> started{false};
  std::string message;            // of the library, before it has started
  std::atomic<int> answering{0};  // requests that are submitted and whose answer is not sent
  // suspend() increments the number before it reads `stopping`, and the destructor reads the number
  // after it has set `stopping`, so that one of them sees the other.
  std::atomic<int> suspended{0};  // connections
  std::atomic<bool> stopping{false};
  std::atomic<size_t> held{0};  // bytes of all bodies, without the first kSmallBody of each
};

namespace {

int socket_of(MHD_Connection* connection) {
  const MHD_ConnectionInfo* info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}

// The path of the target of a request. Clients of a proxy send the absolute form http://HOST/PATH
// (RFC 9112, section 3.2.2).
std::string path_of(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"})
    if (target.starts_with(scheme)) {
      const size_t slash = target.find('/', scheme.size());
      return slash == std::string_view::npos ? "/" : std::string(target.substr(slash));
    }
  return std::string(target);
}

MHD_Result on_request(void* state, MHD_Connection* connection, const char* url, const char* method,
                      const char* version, const char* data, size_t* size, void** exchange) {
  auto& self = *static_cast<HttpServer::State*>(state);
  try {
    if (!*exchange) {
      auto created = std::make_unique<Exchange>();
      created->method = method;
      created->path = path_of(url);
      created->version = version;
      *exchange = created.release();
    }
    return self.receive(connection, *static_cast<Exchange*>(*exchange), data, size);
  } catch (const std::exception&) {
    return MHD_NO;  // closes the connection
  }
}

void on_end(void* state, MHD_Connection*, void** exchange, MHD_RequestTerminationCode) {
  const std::unique_ptr<Exchange> ended(static_cast<Exchange*>(*exchange));
  if (ended && ended->completion) ended->completion->close();
  auto& self = *static_cast<HttpServer::State*>(state);
  if (ended && ended->counted) self.answering--;
  if (ended) self.release(*ended);
  *exchange = nullptr;
}

// Refuses connections beyond the limit, and the library closes them. Its own limit would leave them
// in the queue of the socket.
MHD_Result on_accept(void* state, const sockaddr*, socklen_t) {
  const auto& self = *static_cast<HttpServer::State*>(state);
  return self.clients.size() < self.options.limits.connections ? MHD_YES : MHD_NO;
}

void on_connection(void* state, MHD_Connection* connection, void**,
                   MHD_ConnectionNotificationCode what) {
  auto& self = *static_cast<HttpServer::State*>(state);
  const int socket = socket_of(connection);
  try {
    what == MHD_CONNECTION_NOTIFY_STARTED ? self.clients.add(socket) : self.clients.remove(socket);
  } catch (const std::exception&) {  // no memory: the connection ends at its time limit
  }
}

// Decodes %XX in a path. %00 would end the path, which is a C string, so it becomes three slashes:
// no resource has adjacent slashes, and the request is answered with 404.
size_t unescape(void*, MHD_Connection*, char* text) {
  for (char* zero = text; (zero = std::strstr(zero, "%00")); zero += 3) std::memset(zero, '/', 3);
  return MHD_http_unescape(text);
}

// Keeps the last message of the library while the server starts.
void keep_message(void* state, const char* format, va_list values) {
  auto& self = *static_cast<HttpServer::State*>(state);
  if (self.started) return;
  char text[256] = {};
  std::vsnprintf(text, sizeof text, format, values);
  self.message = text;
  while (!self.message.empty() && std::isspace(static_cast<unsigned char>(self.message.back())))
    self.message.pop_back();
}

}  // namespace

MHD_Result HttpServer::State::receive(MHD_Connection* connection, Exchange& exchange,
                                      const char* data, size_t* size) {
  if (!exchange.begun) {
    exchange.begun = true;
    return begin(connection, exchange);
  }
  if (*size > 0) {
    std::string& body = exchange.request.body;
    // The library sends an answer only at the end of the body, so a refused body is read and
    // discarded, up to four times the limit. Without Content-Length, the size is known only now.
    if (exchange.refusal == 0 && body.size() + *size > options.limits.request_bytes)
      exchange.refusal = 413;
    else if (exchange.refusal == 0 && !hold(exchange, *size))
      exchange.refusal = 429;
    if (exchange.refusal != 0) {
      release(exchange);
      body = {};
      exchange.discarded += *size;
      if (exchange.discarded / 4 > options.limits.request_bytes) return MHD_NO;
    } else {
      body.append(data, *size);
    }
    *size = 0;
    return MHD_YES;
  }
  if (exchange.refusal == 413) return send(connection, exchange, too_large(exchange));
  if (exchange.refusal == 429)
    return send(
        connection, exchange,
        failure(429, "the bodies of all requests have more bytes than the limit, which is " +
                         std::to_string(options.limits.bodies_bytes) + "; try again later"));
  return respond(connection, exchange);
}

Answer HttpServer::State::too_large(const Exchange& exchange) const {
  const std::string limit = std::to_string(options.limits.request_bytes);
  return failure(413, exchange.announced
                          ? "the body has " + std::to_string(exchange.announced) +
                                " bytes; the limit is " + limit
                          : "the body has more bytes than the limit, which is " + limit);
}

// Counts bytes that are to be appended to the body. Returns false if all bodies together would
// exceed their limit.
bool HttpServer::State::hold(Exchange& exchange, size_t bytes) {
  const size_t size = exchange.request.body.size() + bytes;
  const size_t more = size > kSmallBody ? size - kSmallBody - exchange.held : 0;
  if (more > 0 && held.fetch_add(more) + more > options.limits.bodies_bytes) {
    held -= more;
    return false;
  }
  exchange.held += more;
  return true;
}

void HttpServer::State::release(Exchange& exchange) { held -= std::exchange(exchange.held, 0); }

// Checks the header before the body is read.
MHD_Result HttpServer::State::begin(MHD_Connection* connection, Exchange& exchange) {
  if (const std::string error = framing_error(connection, exchange.version); !error.empty()) {
    Answer refusal = failure(400, error);
    refusal.close = true;
    return send(connection, exchange, std::move(refusal));
  }
  const char* length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");
  if (length) {
    const std::string_view text(length);
    const auto [end, code] =
        std::from_chars(text.data(), text.data() + text.size(), exchange.announced);
    if (code == std::errc::result_out_of_range)
      exchange.announced = std::numeric_limits<size_t>::max();
    else if (code != std::errc() || end != text.data() + text.size())
      return send(connection, exchange, failure(400, "Content-Length is not a number"));
  }
  if (exchange.announced > options.limits.request_bytes) {
    // Most clients read an answer only after they have sent the body, so it is read and discarded,
    // except if it is much larger, or the client waits for the answer to its header.
    if (exchange.announced / 4 > options.limits.request_bytes ||
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Expect"))
      return send(connection, exchange, too_large(exchange));
    exchange.refusal = 413;
  }
  const char* authorization =
      MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization");
  const bool health = exchange.path == "/v2/health/live" || exchange.path == "/v2/health/ready";
  if (!health && !shared.token.allows(authorization ? authorization : ""))
    return send(connection, exchange, failure(401, "the request has no valid token"));
  const char* encoding =
      MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Encoding");
  if (encoding && std::string_view(encoding) != "identity")
    return send(connection, exchange,
                failure(415, "Content-Encoding is " + in_quotes(encoding) +
                                 "; expected none, because bodies are not compressed"));
  if (exchange.path != "/metrics" &&
      MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, nullptr, nullptr) > 0)
    return send(connection, exchange,
                failure(400, "the path has a query after '?'; expected none"));
  return MHD_YES;
}

MHD_Result HttpServer::State::respond(MHD_Connection* connection, Exchange& exchange) {
  const auto parts = parts_of(exchange.path);
  const std::string method = method_of(parts);
  const bool head = exchange.method == "HEAD" && method == "GET";  // the library sends no body
  if (method.empty())
    return send(
        connection, exchange,
        failure(404,
                "there is no such resource; models are at /v2/models/NAME (version 2 of the "
                "inference protocol), generators at /v1/completions (without chat)"));
  if (exchange.method != method && !head) {
    Answer refusal = failure(
        405, "method " + in_quotes(exchange.method) + " is not allowed; expected " + method);
    refusal.allow = method == "GET" ? "GET, HEAD" : method;
    return send(connection, exchange, std::move(refusal));
  }
  const bool infer = method == "POST" && parts.back() == "infer";
  try {
    if (infer && !exchange.submitted) {
      exchange.model = parts[2];
      const char* length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
                                                       "Inference-Header-Content-Length");
      size_t json_size = exchange.request.body.size();
      if (length) {
        const std::string_view text(length);
        const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), json_size);
        if (code != std::errc() || end != text.data() + text.size() ||
            json_size > exchange.request.body.size())
          throw Error(POPRT_INVALID_ARGUMENT,
                      "Inference-Header-Content-Length is " + in_quotes(length) +
                          "; expected a size within the body, which has " +
                          std::to_string(exchange.request.body.size()) + " bytes");
      }
      if (json_size > options.limits.json_bytes)
        return send(
            connection, exchange,
            failure(413, "the JSON has " + std::to_string(json_size) + " bytes; the limit is " +
                             std::to_string(options.limits.json_bytes) + "; use binary tensors"));
      submit(connection, exchange, parts.size() == 6 ? parts[4] : "", json_size);
      return MHD_YES;
    }
    if (infer) {
      if (exchange.result.error) throw *exchange.result.error;
      return send(connection, exchange,
                  exchange.answer ? std::move(*exchange.answer) : answer_infer(exchange));
    }
    if (exchange.path == "/v1/completions") return answer_completions(connection, exchange);
    if (parts.size() == 5 && parts[1] == "repository") {
      if (exchange.result.error) throw *exchange.result.error;
      if (exchange.submitted) return send(connection, exchange, {200, "{}"});
      if (!options.model_control) return send(connection, exchange, failure(403, kNoModelControl));
      bool unused = false;
      const bool load = parts[4] == "load";
      parse_repository_request(exchange.request.body, load ? "" : "unload_dependents", unused);
      load_or_unload(connection, exchange, parts[3], load);
      return MHD_YES;
    }
    return send(connection, exchange, answer(exchange));
  } catch (const Error& e) {
    return send(connection, exchange, failure(http_status(e.code()), e.what()));
  }
}

namespace {

struct Stream {
  std::shared_ptr<Completion> completion;
  MHD_Connection* connection;
  std::atomic<int>* suspended;
  AccessLog* log;
  std::string what;
  size_t bytes_in;
  std::chrono::steady_clock::time_point begin;
  uint64_t bytes_out = 0;
};

ssize_t read_stream(void* state, uint64_t, char* to, size_t capacity) {
  auto& stream = *static_cast<Stream*>(state);
  try {
    const ssize_t bytes = stream.completion->read(to, capacity, [&] {
      ++*stream.suspended;
      MHD_suspend_connection(stream.connection);
    });
    if (bytes > 0) stream.bytes_out += static_cast<uint64_t>(bytes);
    return bytes;
  } catch (const std::exception&) {
    return MHD_CONTENT_READER_END_WITH_ERROR;
  }
}

void free_stream(void* state) {
  const std::unique_ptr<Stream> stream(static_cast<Stream*>(state));
  stream->log->write("http", stream->what, 200, stream->bytes_in, stream->bytes_out, stream->begin);
}

// Whether the client has not closed its side.
bool client_is_connected(MHD_Connection* connection) {
  pollfd state = {socket_of(connection), POLLRDHUP, 0};
  return poll(&state, 1, 0) <= 0 || !(state.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

}  // namespace

// POST /v1/completions. The connection is suspended while there is nothing to send.
MHD_Result HttpServer::State::answer_completions(MHD_Connection* connection, Exchange& exchange) {
  if (exchange.submitted) {
    if (exchange.result.error) throw *exchange.result.error;
    if (exchange.completion->request.stream) return stream(connection, exchange);
    return send(connection, exchange, {200, exchange.completion->format()});
  }
  if (exchange.request.body.size() > options.limits.json_bytes)
    return send(
        connection, exchange,
        failure(413, "the JSON has " + std::to_string(exchange.request.body.size()) +
                         " bytes; the limit is " + std::to_string(options.limits.json_bytes)));
  if (exchange.request.body.size() <= kMuchJson) {
    suspend(connection, exchange);
    start_completion(connection, exchange);
  } else {
    suspend_for(shared.reader, connection, exchange,
                [this, connection, &exchange] { start_completion(connection, exchange); });
  }
  return MHD_YES;
}

// Starts the texts of a suspended connection. It is resumed when there is an error, when a stream
// can begin, or when all texts have ended.
void HttpServer::State::start_completion(MHD_Connection* connection, Exchange& exchange) {
  try {
    auto completion = std::make_shared<Completion>(parse_completion(exchange.request.body));
    const auto generator = shared.repository.find_generator(completion->request.model);
    completion->wake = [this, connection] { resume(connection); };
    completion->is_connected = [connection] { return client_is_connected(connection); };
    exchange.completion = completion;
    const bool stream = completion->request.stream;
    shared.generations.start(generator, completion);
    if (!stream) return;  // it may have been resumed already
  } catch (const Error& e) {
    exchange.result.error = e;
  } catch (const std::exception& e) {
    exchange.result.error = unexpected_error(e);
  }
  resume(connection);
}

// Answers with events as the texts continue.
MHD_Result HttpServer::State::stream(MHD_Connection* connection, Exchange& exchange) {
  auto state = std::make_unique<Stream>(Stream{exchange.completion, connection, &suspended,
                                               &shared.log, exchange.method + " " + exchange.path,
                                               exchange.request.body.size(), exchange.begin});
  MHD_Response* response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16384, read_stream,
                                                             state.get(), free_stream);
  if (!response) return MHD_NO;
  static_cast<void>(state.release());  // the response owns it
  MHD_add_response_header(response, "Content-Type", "text/event-stream");
  MHD_add_response_header(response, "Cache-Control", "no-store");
  const MHD_Result queued = MHD_queue_response(connection, 200, response);
  MHD_destroy_response(response);
  return queued;
}

// Throws Error (unavailable) if the server stops.
void HttpServer::State::suspend(MHD_Connection* connection, Exchange& exchange) {
  suspended++;
  if (stopping) {
    suspended--;
    throw Error(POPRT_UNAVAILABLE, "the server stops");
  }
  exchange.submitted = exchange.counted = true;
  answering++;
  MHD_suspend_connection(connection);
}

void HttpServer::State::resume(MHD_Connection* connection) {
  MHD_resume_connection(connection);
  suspended--;  // the last use of this object
}

// Suspends the connection and adds a task, which resumes it. Throws as suspend() does.
void HttpServer::State::suspend_for(Worker& worker, MHD_Connection* connection, Exchange& exchange,
                                    std::function<void()> task) {
  suspend(connection, exchange);
  try {
    worker.add(std::move(task));
  } catch (const std::exception& e) {
    exchange.result.error = unexpected_error(e);
    resume(connection);
  }
}

// Suspends the connection while the worker loads or unloads the model.
void HttpServer::State::load_or_unload(MHD_Connection* connection, Exchange& exchange,
                                       const std::string& name, bool load) {
  shared.inference.admission().check_open();
  suspend_for(shared.worker, connection, exchange, [this, connection, &exchange, name, load] {
    try {
      load ? shared.repository.load(name) : shared.repository.unload(name);
    } catch (const Error& e) {
      exchange.result.error = e;
    } catch (const std::exception& e) {
      exchange.result.error = unexpected_error(e);
    }
    resume(connection);
  });
}

// Suspends the connection until the runner has finished. Large JSON is parsed by the reader.
void HttpServer::State::submit(MHD_Connection* connection, Exchange& exchange,
                               const std::string& version, size_t json_size) {
  const auto model = shared.repository.find(exchange.model, version);
  if (json_size <= kMuchJson) {
    suspend(connection, exchange);
    return submit_now(connection, exchange, model, json_size);
  }
  suspend_for(shared.reader, connection, exchange, [this, connection, &exchange, model, json_size] {
    submit_now(connection, exchange, model, json_size);
  });
}

void HttpServer::State::submit_now(MHD_Connection* connection, Exchange& exchange,
                                   const std::shared_ptr<const LoadedModel>& model,
                                   size_t json_size) {
  const auto done = [this, connection, &exchange](Result result) {
    exchange.result = std::move(result);
    if (exchange.result.error || !has_much_json(exchange.result, exchange.request))
      return resume(connection);
    try {
      shared.reader.add([this, connection, &exchange] {
        try {
          exchange.answer = answer_infer(exchange);
        } catch (const std::exception& e) {
          exchange.result.error = unexpected_error(e);
        }
        resume(connection);
      });
    } catch (const std::exception& e) {
      exchange.result.error = unexpected_error(e);
      resume(connection);
    }
  };
  try {
    count_failure(*model->counters,
                  [&] { parse_request(exchange.request, json_size, model->model.inputs()); });
    auto cancellation = std::make_shared<Cancellation>();
    clients.cancel_if_closed(socket_of(connection), cancellation);
    shared.inference.submit(model, exchange.request.inputs, exchange.request.wanted, done,
                            exchange.request.parameters.timeout_ns, std::move(cancellation));
    return;
  } catch (const Error& e) {
    exchange.result.error = e;
  } catch (const std::exception& e) {
    exchange.result.error = unexpected_error(e);
  }
  resume(connection);
}

Answer HttpServer::State::answer(Exchange& exchange) {
  const auto parts = parts_of(exchange.path);
  return method_of(parts) == "GET" ? answer_get(parts) : answer_index(exchange);
}

Answer HttpServer::State::answer_get(const std::vector<std::string>& parts) {
  const bool ready = !shared.inference.admission().stopped() && shared.repository.ready();
  if (parts == std::vector<std::string>{"metrics"})
    return {200, format_metrics(shared.repository, shared.inference), "text/plain; version=0.0.4"};
  if (parts == std::vector<std::string>{"v1", "models"})
    return {200, format_generators(shared.repository.generators())};
  if (parts[0] == "v1") try {
      return {200, format_generator(*shared.repository.find_generator(parts[2]))};
    } catch (const Error& e) {  // other models are not in the list of /v1/models
      throw e.code() == POPRT_INVALID_ARGUMENT ? Error(POPRT_NOT_FOUND, e.what()) : e;
    }
  if (parts[0] == "v2" && parts.size() == 1)
    return {200, nlohmann::json{{"name", "poprt_serve"},
                                {"version", poprt_version_string()},
                                {"extensions", {"binary_tensor_data", "model_repository"}}}
                     .dump()};
  if (parts[0] == "v2" && parts.size() == 3 && parts[1] == "health") {
    if (parts[2] == "live") return {200, R"({"live":true})"};
    if (parts[2] == "ready")
      return {ready ? 200 : 503, ready ? R"({"ready":true})" : R"({"ready":false})"};
  }
  const std::string version = parts.size() >= 5 ? parts[4] : "";
  if (parts.back() != "ready" || parts.size() % 2 != 0)
    return {200, format_metadata(*shared.repository.find(parts[2], version))};
  shared.repository.check_ready(parts[2], version);
  return {200, R"({"ready":true})"};
}

Answer HttpServer::State::answer_index(const Exchange& exchange) {
  bool only_ready = false;
  parse_repository_request(exchange.request.body, "ready", only_ready);
  nlohmann::json models = nlohmann::json::array();
  for (const ModelStatus& status : shared.repository.index())
    if (!only_ready || status.state == "READY")
      models.push_back({{"name", status.name},
                        {"version", status.version},
                        {"state", status.state},
                        {"reason", status.reason}});
  return {200, models.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
}

MHD_Result HttpServer::State::send(MHD_Connection* connection, Exchange& exchange, Answer answer) {
  const std::string what = exchange.method + " " + exchange.path;
  if (!answer.error.empty())
    answer.body = exchange.path.starts_with("/v1/")
                      ? format_completion_error(answer.status, answer.error)
                      : format_error(answer.error);
  const bool given_up = exchange.result.error && exchange.result.error->code() == POPRT_CANCELLED &&
                        !client_is_connected(connection);
  shared.log.write("http", what, given_up ? kGivenUp : answer.status, exchange.request.body.size(),
                   answer.body.size(), exchange.begin);
  MHD_Response* response = MHD_create_response_from_buffer(answer.body.size(), answer.body.data(),
                                                           MHD_RESPMEM_MUST_COPY);
  if (!response) return MHD_NO;
  MHD_add_response_header(response, "Content-Type", answer.type);
  if (answer.json_size)
    MHD_add_response_header(response, "Inference-Header-Content-Length",
                            std::to_string(answer.json_size).c_str());
  if (!answer.allow.empty()) MHD_add_response_header(response, "Allow", answer.allow.c_str());
  if (answer.status == 401) MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
  if (answer.status == 429 || answer.status == 503)
    MHD_add_response_header(response, "Retry-After", "1");
  if (answer.status == 413 || answer.close)
    MHD_add_response_header(response, "Connection", "close");
  const MHD_Result queued =
      MHD_queue_response(connection, static_cast<unsigned>(answer.status), response);
  MHD_destroy_response(response);
  return queued;
}

HttpServer::HttpServer(const Shared& shared, const ServerOptions& options)
    : state_(std::make_unique<State>(shared, options)) {
  sockaddr_in ip4 = {};
  ip4.sin_family = AF_INET;
  ip4.sin_port = htons(static_cast<uint16_t>(options.port));
  sockaddr_in6 ip6 = {};
  ip6.sin6_family = AF_INET6;
  ip6.sin6_port = ip4.sin_port;
  const bool is_ip6 = inet_pton(AF_INET6, options.address.c_str(), &ip6.sin6_addr) == 1;
  if (!is_ip6 && inet_pton(AF_INET, options.address.c_str(), &ip4.sin_addr) != 1)
    throw Error(POPRT_INVALID_ARGUMENT,
                "--address: '" + options.address +
                    "' is not an address of IPv4 or IPv6, such as 127.0.0.1 or ::1");
  unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
  // The address :: also accepts clients of IPv4.
  if (is_ip6) flags |= options.address == "::" ? MHD_USE_DUAL_STACK : MHD_USE_IPv6;
  std::vector<MHD_OptionItem> items = {
      {MHD_OPTION_SOCK_ADDR, 0, is_ip6 ? static_cast<void*>(&ip6) : &ip4},
      {MHD_OPTION_EXTERNAL_LOGGER, reinterpret_cast<intptr_t>(keep_message), state_.get()},
      {MHD_OPTION_UNESCAPE_CALLBACK, reinterpret_cast<intptr_t>(unescape), nullptr},
      {MHD_OPTION_NOTIFY_COMPLETED, reinterpret_cast<intptr_t>(on_end), state_.get()},
      {MHD_OPTION_NOTIFY_CONNECTION, reinterpret_cast<intptr_t>(on_connection), state_.get()},
      // For all threads together. on_accept() has the limit, which one thread must not reach.
      {MHD_OPTION_CONNECTION_LIMIT,
       (static_cast<intptr_t>(options.limits.connections) + 1) * options.threads, nullptr},
      {MHD_OPTION_CONNECTION_TIMEOUT, options.limits.idle_seconds, nullptr},
      {MHD_OPTION_CONNECTION_MEMORY_LIMIT, static_cast<intptr_t>(options.limits.header_bytes),
       nullptr},
      {MHD_OPTION_THREAD_POOL_SIZE, options.threads, nullptr}};
  if (!options.certificate.empty()) {
    flags |= MHD_USE_TLS;
    items.push_back(
        {MHD_OPTION_HTTPS_MEM_CERT, 0, const_cast<char*>(state_->options.certificate.c_str())});
    items.push_back({MHD_OPTION_HTTPS_MEM_KEY, 0, const_cast<char*>(state_->options.key.c_str())});
  }
  items.push_back({MHD_OPTION_END, 0, nullptr});
  state_->daemon = MHD_start_daemon(flags, 0, on_accept, state_.get(), on_request, state_.get(),
                                    MHD_OPTION_ARRAY, items.data(), MHD_OPTION_END);
  state_->started = true;
  if (!state_->daemon)
    throw Error(POPRT_UNAVAILABLE, start_failure("HTTP", options, state_->message));
  const MHD_DaemonInfo* info = MHD_get_daemon_info(state_->daemon, MHD_DAEMON_INFO_BIND_PORT);
  port_ = info ? info->port : options.port;
}

void HttpServer::drain(std::chrono::steady_clock::time_point end) const {
  while (state_->answering > 0 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

HttpServer::~HttpServer() = default;

}  // namespace poprt::serve
