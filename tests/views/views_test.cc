// Tests what views show of profiles that are written down.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/views/hand_made.h"

namespace allomon::views {
namespace {

using ::testing::HasSubstr;

HandMade Server() {
  HandMade made;
  made.Add({"std::string::_M_create", "parse@parse.cc:12", "handle@server.cc:40", "main@m.cc:3"},
           64, 200000, 100000);
  made.Add({"grow@cache.cc:7", "handle@server.cc:44", "main@m.cc:3"}, 1000000, 20, 10);
  made.Add({"log@log.cc:9", "handle@server.cc:50", "main@m.cc:3"}, 40, 5000, 50);
  return made;
}

TEST(ViewsTest, Print) {
  for (const char* view : {"functions", "tree", "callers", "lines"}) {
    printf("%s\n", Shown(Server().profile, {"--view", view}).c_str());
    printf("%s\n", Shown(Server().profile, {"--view", view}, 80).c_str());
  }
  printf("%s\n", Json(Server().profile, {}).c_str());
  printf("%s\n", Csv(Server().profile, {"--view=tree"}).c_str());
}

}  // namespace
}  // namespace allomon::views
