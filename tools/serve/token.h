// Finds the token that clients must send, and compares it.
#ifndef ALLOMON_TOOLS_SERVE_TOKEN_H_
#define ALLOMON_TOOLS_SERVE_TOKEN_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "tools/serve/http.h"
#include "tools/serve/serve.h"

namespace allomon::serve {

inline constexpr size_t kLeastTokenBytes = 16;

// Returns the token from the options, or else from the environment; empty if neither has one.
// Fails with one line, which does not contain the token.
absl::StatusOr<std::string> TokenOf(const Options& options);

// True if an Authorization header is "Bearer" and the token.  The time does not depend on how many
// characters of the token are right.
bool IsAuthorized(std::string_view header, std::string_view token);

// ---- Decides which clients get answers.

// Returns an answer that calls `answer` for clients that send the token.  Without a token (empty),
// it calls it for clients whose Host header is a number or localhost: another name may come from a
// foreign page in a browser of this machine.
Answer Kept(const std::string& token, Answer answer);

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_TOKEN_H_
