// A server that leaks, has a cache, formats many short texts, and once held 40 MB for a moment.
#ifndef ALLOMON_TESTS_VIEWS_SERVER_PROFILE_H_
#define ALLOMON_TESTS_VIEWS_SERVER_PROFILE_H_

#include "tests/views/hand_made.h"

namespace allomon::views {

HandMade Server();

}  // namespace allomon::views

#endif  // ALLOMON_TESTS_VIEWS_SERVER_PROFILE_H_
