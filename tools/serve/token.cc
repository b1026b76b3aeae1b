#include "tools/serve/token.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "tools/load/read_bytes.h"
#include "tools/options/values.h"
#include "tools/serve/address.h"
#include "tools/serve/frame.h"

namespace allomon::serve {
namespace {

constexpr size_t kMostFileBytes = size_t{64} << 10;

std::string FirstLine(const std::string& text) {
  return std::string(Trimmed(text.substr(0, text.find('\n'))));
}

absl::StatusOr<std::string> Given(const Options& options, std::string* origin) {
  if (!options.token.empty()) {
    *origin = "--token";
    return options.token;
  }
  if (!options.token_file.empty()) {
    *origin = "--token-file";
    const auto text = load::ReadBytes(options.token_file, kMostFileBytes);
    if (!text.ok()) return options::Bad("--token-file: " + std::string(text.status().message()));
    return FirstLine(*text);
  }
  *origin = kTokenVariable;
  const char* const value = getenv(kTokenVariable);
  return std::string(value == nullptr ? "" : value);
}

// True if a header can contain the token.
bool IsPrintable(const std::string& token) {
  return std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c <= '~'; });
}

Reply NoToken() {
  Reply reply = TextReply(401, "send the server's token: Authorization: Bearer TOKEN");
  reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  return reply;
}

}  // namespace

absl::StatusOr<std::string> TokenOf(const Options& options) {
  std::string origin;
  const auto token = Given(options, &origin);
  if (!token.ok()) return token.status();
  const bool is_absent = token->empty() && origin == kTokenVariable;
  if (is_absent || (token->size() >= kLeastTokenBytes && IsPrintable(*token))) return token;
  return options::Bad(origin + ": a token has at least " + std::to_string(kLeastTokenBytes) +
                      " letters, digits or signs and no blank; openssl rand -hex 16 makes one");
}

bool IsAuthorized(std::string_view header, std::string_view token) {
  constexpr std::string_view kScheme = "Bearer ";
  if (!EqualsInAnyCase(header.substr(0, kScheme.size()), kScheme)) return false;
  const std::string_view given = Trimmed(header.substr(kScheme.size()));
  if (given.size() != token.size()) return false;
  volatile unsigned char difference = 0;  // no early exit
  for (size_t i = 0; i < token.size(); ++i) {
    difference = static_cast<unsigned char>(difference | (given[i] ^ token[i]));
  }
  return difference == 0;
}

Answer Kept(const std::string& token, Answer answer) {
  return [token, answer = std::move(answer)](const Request& request) {
    if (!token.empty()) {
      return IsAuthorized(request.authorization, token) ? answer(request) : NoToken();
    }
    if (IsLocalHost(request.host)) return answer(request);
    return TextReply(403,
                     "the Host header is a name: ask for localhost or a number, or give the "
                     "server a token");
  };
}

}  // namespace allomon::serve
