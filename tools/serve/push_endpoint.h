// The place that profiles are pushed to: a collector's URL and the headers that it wants.
//
// All are functions of their arguments.  An error is one line with the remedy.
#ifndef ALLOMON_TOOLS_SERVE_PUSH_ENDPOINT_H_
#define ALLOMON_TOOLS_SERVE_PUSH_ENDPOINT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace allomon::serve {

using PushHeaders = std::vector<std::pair<std::string, std::string>>;

struct Endpoint {
  bool is_https = false;
  std::string host;  // without brackets
  uint16_t port = 0;
  std::string path;          // with the query
  PushHeaders headers;       // secrets, as a rule
  std::string certificates;  // a file of certificates to trust; empty: the machine's own

  std::string Authority() const;  // "[::1]:4318"
  std::string Url() const;
};

// Parses "http://host:4318".  A URL without a path gets the contract's; one with a path is taken as
// it is.
absl::StatusOr<Endpoint> ParseEndpoint(const std::string& url);

// Parses "key=value,key=value", with values as in a URL: OTEL_EXPORTER_OTLP_HEADERS.
absl::StatusOr<PushHeaders> ParsePushHeaders(const std::string& text);

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_PUSH_ENDPOINT_H_
