#include "tools/serve/push_endpoint.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "tools/options/values.h"

namespace allomon::serve {
namespace {

using options::Bad;

constexpr char kPath[] = "/v1development/profiles";
constexpr uint16_t kHttpPort = 80;
constexpr uint16_t kHttpsPort = 443;

// Visible letters only: others would end a header's line, or a word of it.
bool IsVisible(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

bool IsToken(std::string_view text) {
  constexpr std::string_view kSigns = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return is_letter || (c >= '0' && c <= '9') || kSigns.find(c) != kSigns.npos;
  });
}

absl::Status BadUrl(const std::string& url) {
  return options::BadValue("--otlp", url, "a URL such as http://127.0.0.1:4318");
}

// Splits "host:80", "[::1]:80" and "host" (the port stays as it is).
bool SetAuthority(std::string_view text, Endpoint* endpoint) {
  const bool is_bracketed = !text.empty() && text[0] == '[';
  const size_t end = is_bracketed ? text.find(']') : std::min(text.find(':'), text.size());
  if (end == text.npos) return false;
  endpoint->host = is_bracketed ? text.substr(1, end - 1) : text.substr(0, end);
  const std::string_view rest = text.substr(is_bracketed ? end + 1 : end);
  if (endpoint->host.empty()) return false;
  if (rest.empty()) return true;
  return rest[0] == ':' && options::ParseNumber(rest.substr(1), &endpoint->port) &&
         endpoint->port != 0;
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Decodes %20.  False for a percent sign without two digits, and for control characters.
bool Decode(std::string_view text, std::string* decoded) {
  constexpr int kHexadecimal = 16;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      unsigned char code = 0;
      const char* const digits = text.data() + i + 1;
      if (text.size() - i < 3) return false;
      if (std::from_chars(digits, digits + 2, code, kHexadecimal).ptr != digits + 2) return false;
      c = static_cast<char>(code);
      i += 2;
    }
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') return false;
    *decoded += c;
  }
  return true;
}

}  // namespace

std::string Endpoint::Authority() const {
  const bool is_bracketed = host.find(':') != std::string::npos;
  return (is_bracketed ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::string Endpoint::Url() const {
  return (is_https ? "https://" : "http://") + Authority() + path;
}

absl::StatusOr<Endpoint> ParseEndpoint(const std::string& url) {
  constexpr std::string_view kHttp = "http://";
  constexpr std::string_view kHttps = "https://";
  Endpoint endpoint;
  std::string_view rest = url;
  endpoint.is_https = rest.substr(0, kHttps.size()) == kHttps;
  if (!endpoint.is_https && rest.substr(0, kHttp.size()) != kHttp) return BadUrl(url);
  if (!IsVisible(url) || url.find('#') != std::string::npos) return BadUrl(url);
  rest.remove_prefix(endpoint.is_https ? kHttps.size() : kHttp.size());
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?"));
  if (authority.find('@') != authority.npos) {
    return Bad(
        "--otlp: a URL with a name and a password is not taken: give the header that the collector "
        "wants in OTEL_EXPORTER_OTLP_HEADERS");
  }
  endpoint.port = endpoint.is_https ? kHttpsPort : kHttpPort;
  if (!SetAuthority(authority, &endpoint)) return BadUrl(url);
  endpoint.path = rest.substr(authority.size());
  if (endpoint.path.empty() || endpoint.path == "/") endpoint.path = kPath;
  if (endpoint.path[0] == '?') endpoint.path = kPath + endpoint.path;
  return endpoint;
}

absl::StatusOr<PushHeaders> ParsePushHeaders(const std::string& text) {
  PushHeaders headers;
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view part = Trimmed(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    if (part.empty()) continue;
    const size_t equals = std::min(part.find('='), part.size());
    const std::string_view name = Trimmed(part.substr(0, equals));
    std::string value;
    if (equals == part.size() || !IsToken(name) ||
        !Decode(Trimmed(part.substr(equals + 1)), &value)) {
      return Bad(  // without the text, which has secrets
          "OTEL_EXPORTER_OTLP_HEADERS: give KEY=VALUE, with commas between several, and %20 and "
          "so on for signs");
    }
    headers.emplace_back(name, std::move(value));
  }
  return headers;
}

}  // namespace allomon::serve
