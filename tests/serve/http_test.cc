// Each request gets one response, of the stated length, and ambiguous requests are refused.  The
// text for Prometheus has a bounded number of lines whatever labels a process sets, each of another
// series.
#include "tools/serve/http.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tools/serve/frame.h"
#include "tools/serve/metrics.h"

namespace allomon::serve {
namespace {

using State = Frame::State;

Response Ask(const std::string& text, const Answer& answer, bool close = false) {
  const Frame frame = FrameOf(text);
  EXPECT_EQ(frame.state, State::kWhole) << text;
  return Respond(std::string_view(text).substr(0, frame.head_bytes + frame.body_bytes),
                 frame.head_bytes, close, answer);
}

Reply Hello(const Request&) { return TextReply(200, "hello"); }

std::string BodyOf(const Response& response) {
  return response.body ? *response.body : std::string();
}

bool Has(const Response& response, const std::string& line) {
  return response.head.find("\r\n" + line + "\r\n") != std::string::npos;
}

TEST(FrameTest, RequestIsWholeAtItsEmptyLineAndItsBody) {
  EXPECT_EQ(FrameOf("").state, State::kMore);
  EXPECT_EQ(FrameOf("GET / HTTP/1.1\r\nHost: x\r\n").state, State::kMore);
  const std::string get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  EXPECT_EQ(FrameOf(get + "GET /next").head_bytes, get.size());
  const std::string post = "POST / HTTP/1.1\r\ncontent-LENGTH : 4\r\n\r\n";
  EXPECT_EQ(FrameOf(post + "123").state, State::kMore);
  EXPECT_EQ(FrameOf(post + "1234").state, State::kWhole);
  EXPECT_EQ(FrameOf(post + "12345").body_bytes, 4u);
}

TEST(FrameTest, WhatIsNoRequestIsRefusedAtItsFirstByte) {
  EXPECT_EQ(FrameOf("\x16\x03\x01").status, 400);  // TLS
  EXPECT_EQ(FrameOf(std::string(1, '\0')).status, 400);
  EXPECT_EQ(FrameOf("\r\n").status, 400);
}

TEST(FrameTest, TwoLengthsOrAnEncodingAreRefused) {
  const std::string post = "POST / HTTP/1.1\r\n";
  EXPECT_EQ(FrameOf(post + "Content-Length: 1\r\nContent-Length: 1\r\n\r\n").status, 400);
  EXPECT_EQ(FrameOf(post + "Content-Length: -1\r\n\r\n").status, 400);
  EXPECT_EQ(FrameOf(post + "Content-Length: 99999999999999999999\r\n\r\n").status, 400);
  EXPECT_EQ(FrameOf(post + "Transfer-Encoding: chunked\r\n\r\n").status, 411);
  EXPECT_EQ(FrameOf(post + "Content-Length: 1000000\r\n\r\n").status, 413);
}

TEST(FrameTest, HeadWithoutEndIsRefusedWhenItIsTooLarge) {
  std::string head = "GET / HTTP/1.1\r\n";
  while (head.size() < kMostHeadBytes - 1) head += 'x';
  EXPECT_EQ(FrameOf(head).state, State::kMore);
  EXPECT_EQ(FrameOf(head + "x").status, 431);
}

TEST(HttpTest, RequestArrivesInItsParts) {
  Request seen;
  std::string body;
  Ask("POST /a%20b?process=x%2By&n=1 HTTP/1.1\r\nHost: localhost:6060\r\n"
      "Authorization: Bearer abc\r\nContent-Length: 3\r\n\r\n0x1",
      [&](const Request& request) {
        seen = request;
        body = request.body;
        return Hello(request);
      });
  EXPECT_EQ(seen.method, "POST");
  EXPECT_EQ(seen.path, "/a b");
  EXPECT_EQ(seen.query, "process=x%2By&n=1");
  ASSERT_NE(seen.Find("process"), nullptr);
  EXPECT_EQ(*seen.Find("process"), "x+y");
  EXPECT_EQ(seen.Find("absent"), nullptr);
  EXPECT_EQ(seen.host, "localhost:6060");
  EXPECT_EQ(seen.authorization, "Bearer abc");
  EXPECT_EQ(body, "0x1");
}

TEST(HttpTest, ResponseHasTheLengthOfItsBody) {
  const Response response = Ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n", Hello);
  EXPECT_EQ(response.head.rfind("HTTP/1.1 200 OK\r\n", 0), 0u) << response.head;
  EXPECT_TRUE(Has(response, "Content-Length: 6")) << response.head;
  EXPECT_EQ(response.head.substr(response.head.size() - 4), "\r\n\r\n");
  EXPECT_EQ(BodyOf(response), "hello\n");
  EXPECT_FALSE(response.close);
}

TEST(HttpTest, ResponseWithoutABodySaysSo) {
  const Response response = Ask("GET / HTTP/1.1\r\n\r\n", [](const Request&) {
    return Reply{204, "", nullptr, {}};
  });
  EXPECT_TRUE(Has(response, "Content-Length: 0")) << response.head;
}

TEST(HttpTest, HeadHasNoBodyButItsLength) {
  const Response response = Ask("HEAD / HTTP/1.1\r\n\r\n", Hello);
  EXPECT_TRUE(Has(response, "Content-Length: 6")) << response.head;
  EXPECT_EQ(BodyOf(response), "");
}

TEST(HttpTest, ConnectionEndsWhereTheClientOrTheServerSaysSo) {
  EXPECT_TRUE(Ask("GET / HTTP/1.1\r\nConnection: close\r\n\r\n", Hello).close);
  EXPECT_TRUE(Ask("GET / HTTP/1.0\r\n\r\n", Hello).close);
  EXPECT_TRUE(Ask("GET / HTTP/1.1\r\n\r\n", Hello, true).close);
}

// A hundred ranges of a profile would be a hundred profiles.
TEST(HttpTest, RangesAreNotServed) {
  std::string ranges = "bytes=0-1";
  while (ranges.size() < 7000) ranges += ",0-5";
  const Response response = Ask("GET / HTTP/1.1\r\nRange: " + ranges + "\r\n\r\n", Hello);
  EXPECT_EQ(response.head.rfind("HTTP/1.1 200 ", 0), 0u) << response.head;
  EXPECT_EQ(BodyOf(response), "hello\n");
}

TEST(HttpTest, WhatTheLibraryCannotReadEndsTheConnection) {
  bool is_asked = false;
  const Response response = Ask("GET\r\n\r\n", [&](const Request& request) {
    is_asked = true;
    return Hello(request);
  });
  EXPECT_FALSE(is_asked);
  EXPECT_TRUE(response.close);
}

// The library matches some headers by std::regex, whose recursion grows with the text.
TEST(HttpTest, LongHeadersOfAllKinds) {
  for (const std::string name :
       {"Range", "Content-Type", "Accept-Encoding", "Host", "Connection"}) {
    for (const std::string unit : {"bytes=0-", "1,", "; boundary=x", "-", "9"}) {
      std::string value = name == "Range" ? "bytes=0-1" : "";
      while (value.size() + unit.size() < kMostHeadBytes - 200) value += unit;
      int answers = 0;
      const Response response =
          Ask("GET / HTTP/1.1\r\n" + name + ": " + value + "\r\n\r\n", [&](const Request& request) {
            ++answers;
            return Hello(request);
          });
      EXPECT_TRUE(answers == 1 || (answers == 0 && response.close)) << name << " " << unit;
      EXPECT_EQ(response.head.rfind("HTTP/1.1 ", 0), 0u) << name << " " << unit;
    }
  }
}

TEST(HttpTest, TextOfARequestCannotWriteHeaders) {
  const Response response =
      Ask("GET /%0d%0aX-Bad:%201 HTTP/1.1\r\n\r\n",
          [](const Request& request) { return TextReply(404, "no page " + request.path); });
  EXPECT_EQ(response.head.find("X-Bad"), std::string::npos);
}

// --- Metrics.

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
