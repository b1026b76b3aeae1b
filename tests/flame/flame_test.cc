// Tests the command allomon flame: its page's data, and its errors.
#include "tools/flame/flame.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "absl/strings/escaping.h"
#include "nlohmann/json.hpp"
#include "tests/flame/support/profiles.h"
#include "tools/flame/json_text.h"
#include "tools/flame/page.h"
#include "tools/pprof/gzip.h"

namespace allomon::flame {
namespace {

using nlohmann::json;

absl::StatusOr<heap::HeapProfile> LoadMade(const std::string& path, const NameSources&) {
  if (path == "gone") return absl::NotFoundError("gone: no such\nfile");
  heap::HeapProfile profile = ServerProfile({});
  if (path == "no_peak") profile.has[static_cast<size_t>(heap::Metric::kPeak)] = false;
  if (path == "nothing") profile.has = {};
  if (path == "only_bytes") profile.has_blocks = false;
  if (path == "no_rate") profile.rate = 0;
  if (path == "lost_ends") profile.missing.ends = 1;
  if (path == "labelled") {
    for (size_t i = 0; i < profile.samples.size(); i += 2) {
      profile.samples[i].labels = {{"tenant", i % 4 == 0 ? "acme" : "zeta"}};
    }
  }
  if (path == "infinite") {
    profile.samples[0].amounts[0] = {1, INFINITY};
    profile.timeline[0] = {NAN, INFINITY, -INFINITY, NAN};
    profile.rate = NAN;
  }
  return profile;
}

std::string OutPath() { return testing::TempDir() + "/flame_test.html"; }

CommandResult Run(std::vector<std::string> args) {
  args.insert(args.end(), {"-o", OutPath()});
  return RunFlameWith(LoadMade, args);
}

std::string PageOf(const std::vector<std::string>& args) {
  const CommandResult result = Run(args);
  EXPECT_EQ(result.status, 0) << result.err;
  std::ifstream file(OutPath());
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

json DataOf(const std::string& page) {
  const std::string mark = "id=\"data\">";
  const size_t begin = page.find(mark) + mark.size();
  std::string packed;
  EXPECT_TRUE(absl::Base64Unescape(page.substr(begin, page.find('<', begin) - begin), &packed));
  return json::parse(*pprof::Gunzip(packed));
}

std::string ErrorOf(const std::vector<std::string>& args) {
  const CommandResult result = Run(args);
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err.rfind("allomon flame: ", 0), 0u) << result.err;
  EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << result.err;
  return result.err;
}

double Sum(const json& numbers) {
  double sum = 0;
  for (const auto& number : numbers) sum += number.get<double>();
  return sum;
}

TEST(FlameTest, ThePageHasTheTotalsOfTheProfile) {
  const json data = DataOf(PageOf({"server"}));
  heap::Amount total;
  for (const auto& sample : ServerProfile({}).samples) total.Add(sample[heap::Metric::kAllocated]);
  EXPECT_EQ(data["metrics"][0]["name"], "alloc");
  const json& side = data["metrics"][0]["sides"][0];
  EXPECT_NEAR(Sum(side["bytes"]) / total.bytes, 1, 1e-6);
  EXPECT_NEAR(Sum(side["blocks"]) / total.blocks, 1, 1e-6);
  EXPECT_EQ(data["nodes"]["back"].size(), data["nodes"]["frame"].size());
  EXPECT_EQ(data["nodes"]["back"].size(), data["nodes"]["line"].size());
}

TEST(FlameTest, AComparisonHasBothSidesAndTheMetricsOfBoth) {
  const json data = DataOf(PageOf({"server", "--diff", "no_peak"}));
  EXPECT_EQ(data["before"].size(), 1u);
  ASSERT_EQ(data["metrics"].size(), 3u);
  for (const json& metric : data["metrics"]) {
    EXPECT_NE(metric["name"], "peak");
    EXPECT_EQ(metric["sides"][0], metric["sides"][1]);
  }
}

TEST(FlameTest, SeveralFilesAddUp) {
  const json one = DataOf(PageOf({"server"})), two = DataOf(PageOf({"server", "again"}));
  EXPECT_NEAR(Sum(two["metrics"][0]["sides"][0]["bytes"]),
              2 * Sum(one["metrics"][0]["sides"][0]["bytes"]), 1000);
  EXPECT_EQ(two["nodes"], one["nodes"]);
  EXPECT_EQ(two["shown"].size(), 2u);
}

TEST(FlameTest, FilesOfTwoProgramsAreRefused) {
  const Loader load = [](const std::string& path, const NameSources&) {
    auto profile = LoadMade("server", {});
    if (profile.ok()) profile->program = "/srv/" + path;
    return profile;
  };
  const CommandResult result = RunFlameWith(load, {"one", "two", "-o", "/nowhere/x.html"});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.err, "allomon flame: two is of two, not of one: give files of one program\n");
}

TEST(FlameTest, ValuesOfALabelAreTheOutermostFrames) {
  const json plain = DataOf(PageOf({"labelled"}));
  const json by = DataOf(PageOf({"labelled", "--by=label:tenant"}));
  EXPECT_NEAR(Sum(by["metrics"][0]["sides"][0]["bytes"]),
              Sum(plain["metrics"][0]["sides"][0]["bytes"]), 1000);
  // Node 0 is the root; a node's parent is `back` nodes before it.
  std::vector<std::string> outermost;
  for (size_t i = 0; i < by["nodes"]["back"].size(); ++i) {
    if (by["nodes"]["back"][i] != i + 1) continue;
    const size_t function = by["nodes"]["frame"][i].get<size_t>() / 2;
    outermost.push_back(by["strings"][by["functions"]["name"][function].get<size_t>()]);
  }
  std::sort(outermost.begin(), outermost.end());
  EXPECT_EQ(outermost, (std::vector<std::string>{"no tenant", "tenant=acme", "tenant=zeta"}));
}

TEST(FlameTest, FocusOnALabel) {
  const auto bytes = [](const std::vector<std::string>& args) {
    return Sum(DataOf(PageOf(args))["metrics"][0]["sides"][0]["bytes"]);
  };
  const double acme = bytes({"labelled", "--focus-label=tenant=acme"});
  EXPECT_GT(acme, 0);
  EXPECT_NEAR(acme + bytes({"labelled", "--ignore-label=tenant=acme"}), bytes({"labelled"}), 1000);
  EXPECT_NE(ErrorOf({"server", "--by=label:tenant"}).find("no block has labels"),
            std::string::npos);
  EXPECT_NE(ErrorOf({"server", "--by=tenant"}).find("label:KEY"), std::string::npos);
  EXPECT_NE(ErrorOf({"server", "--focus-label==x"}).find("KEY=VALUE"), std::string::npos);
}

TEST(FlameTest, TheFirstMetricIsThePeakOrWhatThereIs) {
  EXPECT_EQ(DataOf(PageOf({"server"}))["metric"], "peak");
  EXPECT_EQ(DataOf(PageOf({"no_peak"}))["metric"], "live");
  EXPECT_EQ(DataOf(PageOf({"server", "--metric=temporary"}))["metric"], "temporary");
}

// The page must not call amounts exact if no rate is known or something was lost.
TEST(FlameTest, AmountsOfUnknownPrecisionHaveNoIntervals) {
  const auto has_intervals = [](const std::vector<std::string>& args) {
    const json data = DataOf(PageOf(args));
    std::string names;
    for (const json& metric : data["metrics"]) {
      if (metric["hasIntervals"]) names += metric["name"].get<std::string>() + " ";
    }
    return names;
  };
  EXPECT_EQ(has_intervals({"server"}), "alloc peak live temporary ");
  EXPECT_EQ(has_intervals({"no_rate"}), "");
  EXPECT_EQ(has_intervals({"server", "no_rate"}), "");
  EXPECT_EQ(has_intervals({"server", "--diff=no_rate"}), "");
  EXPECT_EQ(has_intervals({"lost_ends"}), "alloc peak live ");
}

TEST(FlameTest, BlocksAreNotOfferedWhereOneProfileLacksThem) {
  EXPECT_EQ(DataOf(PageOf({"server"}))["hasBlocks"], true);
  EXPECT_EQ(DataOf(PageOf({"server", "--diff=only_bytes"}))["hasBlocks"], false);
}

TEST(FlameTest, ThePageIsTheSameForTheSameProfile) {
  EXPECT_EQ(PageOf({"server"}), PageOf({"server"}));
}

TEST(FlameTest, ATitleIsText) {
  const std::string page = PageOf({"server", "--title=<b>&\"\x1b{{script}}"});
  EXPECT_NE(page.find("<title>&lt;b&gt;&amp;&quot;\\x1b{{script}} "), std::string::npos);
  EXPECT_EQ(page.find("<b>"), std::string::npos);
}

TEST(FlameTest, WhatIsInfiniteIsNoNumberOfThePage) {
  EXPECT_GT(Sum(DataOf(PageOf({"infinite"}))["metrics"][0]["sides"][0]["bytes"]), 0);
}

TEST(FlameTest, ErrorsAreOneLineThatNamesTheThing) {
  EXPECT_NE(ErrorOf({}).find("no profile"), std::string::npos);
  EXPECT_NE(ErrorOf({"gone"}).find("gone: no such"), std::string::npos);
  EXPECT_NE(ErrorOf({"server", "--diff=gone"}).find("gone"), std::string::npos);
  EXPECT_NE(ErrorOf({"no_peak", "--metric=peak"}).find("alloc, live, temporary"),
            std::string::npos);
  EXPECT_NE(ErrorOf({"server", "--metric=nonsense"}).find("nonsense"), std::string::npos);
  EXPECT_NE(ErrorOf({"nothing"}).find("nothing: "), std::string::npos);
  EXPECT_NE(ErrorOf({"server", "--colour=red"}).find("--colour=red"), std::string::npos);
  EXPECT_NE(ErrorOf({"server", "--title="}).find("--title needs"), std::string::npos);
}

TEST(FlameTest, ThePageIsItsOwnersOnly) {
  const mode_t mask = umask(022);
  PageOf({"server"});
  umask(mask);
  struct stat status;
  ASSERT_EQ(stat(OutPath().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST(FlameTest, AFolderThatIsNotThereIsNamed) {
  const CommandResult result = RunFlameWith(LoadMade, {"server", "-o", "/nowhere/x.html"});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("/nowhere/x.html"), std::string::npos) << result.err;
}

TEST(FlameTest, AProfileIsNotReplacedByItsPage) {
  std::ofstream(OutPath()) << "a recording";
  EXPECT_NE(ErrorOf({OutPath()}).find("name another file"), std::string::npos);
  EXPECT_NE(ErrorOf({"server", "--diff=" + OutPath()}).find("name another file"),
            std::string::npos);
  std::stringstream text;
  text << std::ifstream(OutPath()).rdbuf();
  EXPECT_EQ(text.str(), "a recording");
}

TEST(FlameTest, HelpNeedsNoFile) {
  const CommandResult result = RunFlameWith(LoadMade, {"--help"});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out.rfind("usage: allomon flame", 0), 0u);
}

TEST(PageTest, NothingIsAllowedThatThePageDoesNotBring) {
  const std::string page = HtmlPage("title", "{}");
  EXPECT_NE(page.find("default-src 'none'; script-src 'sha256-"), std::string::npos);
  EXPECT_EQ(page.find("unsafe"), std::string::npos);
  EXPECT_EQ(page.find("http"), page.find("http-equiv"));
  EXPECT_EQ(page.find("http", page.find("http-equiv") + 1), std::string::npos);
}

TEST(JsonTextTest, StringsShowWhatTheyHold) {
  EXPECT_EQ(JsonString("a\"b\\c"), "\"a\\\"b\\\\c\"");
  EXPECT_EQ(JsonString("</script>"), "\"\\u003c/script>\"");
  EXPECT_EQ(json::parse(JsonString("\xff\x1b\u202e")), "\\xff\\x1b\\u202e");
  EXPECT_EQ(json::parse(JsonString("Größe 名前")), "Größe 名前");
}

TEST(JsonTextTest, NumbersAreJson) {
  for (double value : {0.0, -1.0, 1.5, 1e15, 1e300, double{NAN}, double{INFINITY}}) {
    JsonWriter writer;
    writer.Begin('[').Whole(value).Rough(value).Number(value).End(']');
    EXPECT_EQ(json::parse(writer.TakeText()).size(), 3u) << value;
  }
}

}  // namespace
}  // namespace allomon::flame
