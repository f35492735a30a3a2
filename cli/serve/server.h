// Declarations that the servers of both protocols share.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "serve/access_log.h"
#include "serve/generation.h"
#include "serve/inference.h"
#include "serve/model_repository.h"
#include "serving/worker.h"

namespace poprt::serve {

// The bearer token that clients must send. Thread-safe.
class Token {
 public:
  // Replaces the token; "": none is required.
  void set(std::string token);
  // Whether no token is required, or `header`, the value of Authorization, is "Bearer " (in upper
  // or lower case) and the token, with any spaces around the token. The time does not depend on the
  // position of the first difference.
  bool allows(std::string_view header) const;

 private:
  mutable std::mutex mutex_;
  std::string token_;  // guarded by mutex_
};

struct ServerOptions {
  std::string address = "127.0.0.1";  // IPv4 or IPv6
  int port = 0;                       // 0: a free one
  bool model_control = true;          // whether clients may load and unload models
  std::string certificate;            // PEM; "": no TLS
  std::string key;                    // PEM
  int threads = 2;                    // of HTTP
  Limits limits;
};

using serving::Worker;

struct Shared {
  ModelRepository& repository;
  Inference& inference;
  AccessLog& log;
  Worker& worker;  // loads and unloads models
  Worker& reader;  // parses and writes large JSON
  Generations& generations;
  const Token& token;
};

// "ADDRESS:PORT", with brackets if the address is one of IPv6.
std::string address_and_port(const std::string& address, int port);

// The message for a server that does not start. `reason` may be empty.
std::string start_failure(const std::string& protocol, const ServerOptions& options,
                          const std::string& reason);

// The message for a client that may not load and unload models.
inline constexpr const char* kNoModelControl =
    "clients may not load and unload models, because the server has --model_control none";

// The gRPC server. Stops when it is destroyed.
class GrpcServer {
 public:
  // Throws Error (unavailable) if the server cannot listen on the address, for example because it
  // is in use, or because the certificate or key is invalid.
  GrpcServer(const Shared& shared, const ServerOptions& options);
  ~GrpcServer();
  int port() const { return port_; }
  // Sets the status of grpc.health.v1.Health, which is NOT_SERVING at first. Thread-safe.
  void set_serving(bool serving);
  // Sets the status to NOT_SERVING for the rest of the object's life. Thread-safe.
  void end_serving();
  // Refuses new requests, and waits up to 10 seconds for those in flight, which are then cancelled.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
  int port_ = 0;
};

// The HTTP server. Stops when it is destroyed: it refuses new computations, and waits for those
// that it has given to the worker, the reader, the runners and the generators, which must still
// exist.
class HttpServer {
 public:
  struct State;  // the argument of the library's callbacks

  // Throws Error: invalid_argument if the address is not one of IPv4 or IPv6; unavailable as
  // GrpcServer does.
  HttpServer(const Shared& shared, const ServerOptions& options);
  ~HttpServer();
  // Waits until the answers of all submitted requests are sent, or until `end`.
  void drain(std::chrono::steady_clock::time_point end) const;
  int port() const { return port_; }

 private:
  std::unique_ptr<State> state_;
  int port_ = 0;
};

}  // namespace poprt::serve
