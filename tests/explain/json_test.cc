#include "tools/explain/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/explain/account.h"
#include "tools/explain/mappings.h"

namespace allomon::explain {
namespace {

// A program that gives each of its mappings another name, of the length that the kernel allows.
Explanation WithNames(size_t names, const std::string& filler) {
  std::vector<Mapping> mappings;
  for (size_t i = 0; i < names; ++i) {
    Mapping mapping;
    mapping.begin = (i + 1) << 20;
    mapping.end = mapping.begin + 0x1000 * (i + 1);
    mapping.is_readable = mapping.is_writable = true;
    mapping.name = "[anon:" + std::to_string(i) + filler + "]";
    mapping.resident_bytes = 0x1000 * (i + 1);
    mappings.push_back(mapping);
  }
  mappings.push_back({});
  mappings.back().begin = mappings.size() << 20;
  mappings.back().end = mappings.back().begin + 0x100000;
  mappings.back().is_writable = true;
  mappings.back().resident_bytes = 0x100000;
  Facts facts;
  facts.resident_bytes = [](uint64_t, uint64_t) { return 0; };
  Explanation found;
  found.name = "program";
  found.account = MakeAccount(mappings, facts);
  found.kernels = found.account.totals;
  return found;
}

TEST(Json, StaysWithinItsBoundWithTwoThousandNames) {
  for (const std::string& filler : {std::string(70, 'x'), std::string(70, '\xff'), std::string()}) {
    const Explanation found = WithNames(2000, filler);
    const std::string text = ToJson(found);
    EXPECT_LE(text.size(), kMostJsonBytes);
    const auto json = nlohmann::json::parse(text);
    uint64_t sum = 0, mappings = 0;
    for (const auto& row : json["rows"]) {
      sum += row["resident_bytes"].get<uint64_t>();
      if (row["id"] == "named") mappings += row["count"].get<uint64_t>();
    }
    EXPECT_EQ(sum, found.account.totals.resident_bytes);
    EXPECT_EQ(mappings, 2000u);
    EXPECT_EQ(json["rows"][0]["name"].get<std::string>().substr(0, 12), "mappings of ");
  }
}

TEST(Json, HasEachNameOfAFew) {
  const auto json = nlohmann::json::parse(ToJson(WithNames(10, "")));
  EXPECT_EQ(json["rows"].size(), 11u);
}

}  // namespace
}  // namespace allomon::explain
