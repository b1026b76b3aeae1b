// The token that clients must send.
#ifndef ALLOMON_TOOLS_SERVE_TOKEN_H_
#define ALLOMON_TOOLS_SERVE_TOKEN_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "tools/serve/options.h"

namespace allomon::serve {

inline constexpr size_t kLeastTokenBytes = 16;

// By the options, or else by the environment; empty: none.  Fails with one line, which does not
// contain it.
absl::StatusOr<std::string> TokenOf(const Options& options);

// Whether an Authorization header is "Bearer" and the token.  Takes as long for a token that is
// nearly right as for any other of its length.
bool IsAuthorized(std::string_view header, std::string_view token);

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_TOKEN_H_
