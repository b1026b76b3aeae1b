#include "tools/serve/doorkeeper.h"

#include <utility>

#include "tools/serve/address.h"
#include "tools/serve/token.h"

namespace allomon::serve {
namespace {

Reply NoToken() {
  Reply reply = TextReply(401, "send the server's token: Authorization: Bearer TOKEN");
  reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  return reply;
}

}  // namespace

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
