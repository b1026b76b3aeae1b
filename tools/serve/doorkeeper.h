// Decides which clients get answers.
#ifndef ALLOMON_TOOLS_SERVE_DOORKEEPER_H_
#define ALLOMON_TOOLS_SERVE_DOORKEEPER_H_

#include <string>

#include "tools/serve/http.h"

namespace allomon::serve {

// Returns an answer that calls `answer` for clients that send the token.  Without a token (empty),
// it calls it for clients whose Host header is a number or localhost: another name may come from a
// foreign page in a browser of this machine.
Answer Kept(const std::string& token, Answer answer);

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_DOORKEEPER_H_
