// Who may ask.
#ifndef ALLOMON_TOOLS_SERVE_DOORKEEPER_H_
#define ALLOMON_TOOLS_SERVE_DOORKEEPER_H_

#include <string>

#include "tools/serve/http.h"

namespace allomon::serve {

// `answer`, for those who send the token.  Without one (empty), for those who name this machine by
// a number or as localhost: a name may be a foreign page's in a browser of this machine.
Answer Kept(const std::string& token, Answer answer);

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_DOORKEEPER_H_
