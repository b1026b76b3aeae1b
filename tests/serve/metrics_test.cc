// Prometheus' text: whatever labels a process sets, the number of lines is bounded, and each is
// another series.
#include "tools/serve/metrics.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace allomon::serve {
namespace {

using recording::Process;

// A process with a row for each text of labels.
Process ProcessOf(const std::vector<std::string>& label_texts, uint64_t first_bytes = 1000) {
  Process process;
  process.record.pid = 7;
  process.record.rate = 1;
  process.program = "/bin/host";
  for (size_t i = 0; i < label_texts.size(); ++i) {
    Process::Row row;
    row.size_class = 1;
    row.labels.offset = static_cast<uint32_t>(process.text.size());
    row.labels.length_bytes = static_cast<uint32_t>(label_texts[i].size());
    process.text += label_texts[i];
    row.allocated = {1, 1, static_cast<double>(first_bytes + i)};
    row.live = row.allocated;
    process.rows.push_back(row);
    process.record.allocated.bytes += static_cast<double>(first_bytes + i);
  }
  return process;
}

std::string LabelsOf(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word + '\0';
  return text;
}

std::string TextOf(const Process& process) {
  Metrics metrics;
  metrics.Add("x.rec", process, true);
  return metrics.Text();
}

size_t LinesOf(const std::string& text, const std::string& begin) {
  size_t lines = 0;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines += line.rfind(begin, 0) == 0;
  return lines;
}

TEST(PrometheusTextTest, ValuesAreEscaped) {
  EXPECT_EQ(QuotedLabel("a\"b\\c\nd"), "\"a\\\"b\\\\c\\nd\"");
  EXPECT_EQ(LabelText(std::string("a\0b", 3)),
            "a\xef\xbf\xbd"
            "b");
  EXPECT_EQ(LabelText("\xff\xc3\xa9\xc3"), "\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd");
  EXPECT_EQ(LabelSet({}), "");
  EXPECT_EQ(LabelSet({{"a", "1"}, {"b", "}"}}), "{a=\"1\",b=\"}\"}");
}

TEST(PrometheusTextTest, NumbersReadAsWhatTheyWere) {
  EXPECT_EQ(PrometheusNumber(0), "0");
  EXPECT_EQ(PrometheusNumber(123456789012345), "123456789012345");
  for (const double value : {0.1, 1e300, 609086.7518920898, 9007199254740993.0, -2.5}) {
    EXPECT_EQ(std::stod(PrometheusNumber(value)), value);
  }
  EXPECT_EQ(PrometheusNumber(1e300 * 1e300), "+Inf");
}

TEST(MetricsTest, TheProgramIsTheScript) {
  Process process = ProcessOf({""});
  process.program = "/usr/bin/python3.11";
  process.command = "python3 /srv/app.py --port=1";
  EXPECT_NE(TextOf(process).find("program=\"app.py\""), std::string::npos);
}

TEST(MetricsTest, BlocksAreWholeNumbers) {
  Process process = ProcessOf({""});
  process.record.allocated.blocks = 1234.56;
  process.record.live.blocks = 0.4;
  const std::string text = TextOf(process);
  const std::string labels = "{pid=\"7\",program=\"host\",recording=\"x.rec\"}";
  EXPECT_NE(text.find("allomon_allocated_blocks_total" + labels + " 1235\n"), std::string::npos);
  EXPECT_NE(text.find("allomon_live_blocks" + labels + " 0\n"), std::string::npos);
}

// Recordings of earlier versions do not have it.
TEST(MetricsTest, ResidentMemoryHasALineIfItIsKnown) {
  Process process = ProcessOf({""});
  EXPECT_EQ(LinesOf(TextOf(process), "process_resident_memory_bytes{"), 0u);
  process.record.memory.resident_bytes = 123456789;
  EXPECT_NE(TextOf(process).find("process_resident_memory_bytes{pid=\"7\",program=\"host\","
                                 "recording=\"x.rec\"} 123456789\n"),
            std::string::npos);
}

TEST(MetricsTest, SumsOfALabelAreThoseOfTheProcess) {
  const ProcessFigures figures = FiguresOf(
      ProcessOf({LabelsOf({"tenant", "acme"}), LabelsOf({"tenant", "zeta"}), "",
                 LabelsOf({"phase", "read", "tenant", "acme"}), LabelsOf({"(other)", "(other)"})}));
  ASSERT_EQ(figures.labels.size(), 2u);
  const auto& tenants = figures.labels.at("tenant").values;
  EXPECT_EQ(tenants.at("acme").live_bytes, 1000 + 1003);
  EXPECT_EQ(tenants.at("zeta").live_bytes, 1001);
  EXPECT_EQ(tenants.at("(none)").live_bytes, 1002);
  EXPECT_EQ(tenants.at("(other)").live_bytes, 1004);
  EXPECT_EQ(figures.labels.at("phase").values.at("(none)").samples, 3);
}

TEST(MetricsTest, WhatOutlivedIsThatOfEachLabel) {
  Process process = ProcessOf({LabelsOf({"request", "r", "tenant", "acme"}),
                               LabelsOf({"request", "r", "tenant", "zeta"}), ""});
  process.record.last_nanos = 1000;
  process.rows[0].probability = 0.5;
  // Two scopes of requests, of which one has ended.  Source 0 has a header of 8 bytes.
  process.scopes = {{1, 0, process.rows[0].labels, 100, 200},
                    {2, 0, process.rows[1].labels, 100, 0}};
  process.live = {{1, 1, 64, 150, 0}, {1, 1, 64, 250, 0}, {2, 2, 64, 150, 0}, {3, 1, 64, 150, 0}};
  const ProcessFigures figures = FiguresOf(process);
  EXPECT_EQ(figures.labels.at("request").values.at("r").outlived_bytes, 144);
  EXPECT_EQ(figures.labels.at("tenant").values.at("acme").outlived_bytes, 0);
  EXPECT_NE(TextOf(process).find("label=\"request\",value=\"r\"} 144\n"), std::string::npos);
}

TEST(MetricsTest, ValuesBeyondTheMostHaveNoLinesAndAreCounted) {
  std::vector<std::string> texts;
  for (int i = 0; i < 1500; ++i) texts.push_back(LabelsOf({"request", std::to_string(i)}));
  const std::string text = TextOf(ProcessOf(texts));
  EXPECT_EQ(LinesOf(text, "allomon_label_live_bytes{"), kMostValues);
  EXPECT_EQ(text.find("value=\"499\""), std::string::npos);  // the smaller ones are left out
  EXPECT_NE(text.find("value=\"500\""), std::string::npos);
  EXPECT_NE(text.find("label=\"request\"} 500\n"), std::string::npos);
}

TEST(MetricsTest, LabelsBeyondTheMostHaveNoLines) {
  std::vector<std::string> texts;
  for (int i = 0; i < 100; ++i) texts.push_back(LabelsOf({"key" + std::to_string(i), "x"}));
  const std::string text = TextOf(ProcessOf(texts));
  EXPECT_EQ(LinesOf(text, "allomon_label_values_left_out{"), kMostKeys);
}

// Invalid UTF-8 of different kinds becomes the same text, and two equal series would make a scrape
// fail.
TEST(MetricsTest, NoSeriesIsThereTwice) {
  Metrics metrics;
  const Process process = ProcessOf({LabelsOf({"tenant", "\xff"}), LabelsOf({"tenant", "\xfe"})});
  metrics.Add("x.rec", process, true);
  metrics.Add("x.rec", process, false);  // the same id again, as after an exec
  std::set<std::string> series;
  std::istringstream stream(metrics.Text());
  for (std::string line; std::getline(stream, line);) {
    if (line[0] == '#') continue;
    EXPECT_TRUE(series.insert(line.substr(0, line.rfind(' '))).second) << line;
  }
  EXPECT_EQ(FiguresOf(process).labels.at("tenant").values.at("\xef\xbf\xbd").live_bytes, 2001);
}

}  // namespace
}  // namespace allomon::serve
