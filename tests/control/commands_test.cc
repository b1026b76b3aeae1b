// Command lines of `allomon ctl` and related commands, and the interface of `allomon top`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/views/hand_made.h"
#include "tools/control/interface.h"
#include "tools/control/options.h"

namespace allomon::control {
namespace {

std::string ErrorOf(const std::vector<std::string>& args) {
  return std::string(ParseCtlOptions(args).status().message());
}

TEST(CtlOptionsTest, RateIsAWordOrAnOption) {
  const auto word = ParseCtlOptions({"12", "rate", "1e-3"});
  ASSERT_TRUE(word.ok());
  EXPECT_EQ(word->pid, 12u);
  EXPECT_EQ(word->rate.samples_per_word, 1e-3);
  const auto option = ParseCtlOptions({"12", "start", "--every=8000"});
  ASSERT_TRUE(option.ok());
  EXPECT_EQ(option->rate.samples_per_word, 1e-3);
  EXPECT_FALSE(ParseCtlOptions({"12", "start"})->rate.samples_per_word.has_value());
}

TEST(CtlOptionsTest, TwoRatesAreAContradiction) {
  EXPECT_EQ(ErrorOf({"12", "start", "--rate=1e-3", "--exact"}), "--rate and --exact: choose one");
  EXPECT_EQ(ErrorOf({"12", "rate", "1e-3", "--every=8k"}), "rate and --every: choose one");
  EXPECT_EQ(ParseCtlOptions({"12", "start", "--rate=1", "--rate=.5"})->rate.samples_per_word, 0.5);
}

// No command reads a larger recording.
TEST(CtlOptionsTest, LimitIsWhatReadersTake) {
  EXPECT_EQ(ParseCtlOptions({"12", "start", "--limit=2g"})->limit_bytes, uint64_t{2} << 30);
  EXPECT_EQ(ParseCtlOptions({"12", "start", "--limit=1048577"})->limit_bytes, 1u << 20);
  EXPECT_EQ(ErrorOf({"12", "start", "--limit=2049m"}),
            "--limit: \"2049m\" is not a size from 1m to 2g, such as 256m");
}

TEST(CtlOptionsTest, MistakesAreNamed) {
  EXPECT_EQ(ErrorOf({}), "name a process by its id; allomon list shows them");
  EXPECT_EQ(ErrorOf({"x"}), "\"x\" is not the id of a process; allomon list shows them");
  EXPECT_EQ(ErrorOf({"0"}), "\"0\" is not the id of a process; allomon list shows them");
  EXPECT_EQ(ErrorOf({"-5"}), "unknown option -5; --help lists them");
  EXPECT_EQ(ErrorOf({"4294967296"}),
            "\"4294967296\" is not the id of a process; allomon list shows them");
  EXPECT_EQ(ErrorOf({"12"}), "what to do? start, stop, rate R or status");
  EXPECT_EQ(ErrorOf({"12", "begin"}),
            "\"begin\": expected allomon ctl PID start, stop, rate R or status");
  EXPECT_EQ(ErrorOf({"12", "rate"}), "rate needs a number, such as 1e-3");
  EXPECT_EQ(ErrorOf({"12", "rate", "2"}),
            "--rate: \"2\" is not a number of samples per word, above 0 and at most 1");
  EXPECT_EQ(ErrorOf({"12", "start", "stop"}),
            "\"stop\": expected allomon ctl PID start, stop, rate R or status");
  EXPECT_EQ(ErrorOf({"12", "start", "--limit=1k"}),
            "--limit: \"1k\" is not a size from 1m to 2g, such as 256m");
  EXPECT_EQ(ErrorOf({"12", "start", "--wait=soon"}), "--wait: \"soon\" is not a number of seconds");
}

// The process has another current folder.
TEST(CtlOptionsTest, ARelativePathIsRefused) {
  EXPECT_EQ(ErrorOf({"12", "start", "--record=x.rec"}),
            "--record: \"x.rec\" is not a path from the root folder, such as /tmp/server.rec");
}

TEST(TopOptionsTest, OptionsOfReportsArePassedOn) {
  const auto options = ParseTopOptions({"7", "--metric=peak", "--top", "3", "--width=60"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->report, (std::vector<std::string>{"--metric=peak", "--top=3", "--width=60"}));
}

// Before the process is asked to record.
TEST(TopOptionsTest, MistakesOfReportsOptionsAreNamed) {
  EXPECT_EQ(
      ParseTopOptions({"7", "--metric=bogus"}).status().message(),
      "--metric: \"bogus\" is not alloc, live, peak, temporary, blocks, promoted or died-young");
  EXPECT_EQ(ParseTopOptions({"7", "--focus=("}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(TopOptionsTest, PresetsAreThoseOfTop) {
  const options::OptionText* const rows = options::FindOption(TopCommand().Text(), "--top");
  ASSERT_NE(rows, nullptr);
  EXPECT_EQ(rows->preset, "what fits the terminal, 20 elsewhere");
}

TEST(TopOptionsTest, OnceAndJsonShowOnePicture) {
  EXPECT_EQ(ParseTopOptions({"12"})->times, 0u);
  EXPECT_EQ(ParseTopOptions({"12", "--once"})->times, 1u);
  EXPECT_EQ(ParseTopOptions({"12", "--json"})->times, 1u);
  EXPECT_EQ(ParseTopOptions({"12", "--json"})->report, std::vector<std::string>{"--json"});
  EXPECT_EQ(ParseTopOptions({"12", "-n", "3", "--json"})->times, 3u);
}

// --- The interface.

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// A person at a screen.
class Person {
 public:
  explicit Person(std::vector<std::string> report = {}, int rows = 24, int columns = 80)
      : interface_("server 17", std::move(report), "saved.pb.gz", Charset::kUtf8),
        rows_(rows),
        columns_(columns) {
    interface_.SetProfile(views::Server().profile);
    Look();
  }

  Wish Press(Key key, char byte = 0) {
    const Wish wish = interface_.Press({key, byte});
    Look();
    return wish;
  }
  Wish Type(const std::string& text) {
    Wish wish = Wish::kNothing;
    for (const char byte : text) wish = Press(Key::kText, byte);
    return wish;
  }
  void Resize(int rows, int columns) {
    rows_ = rows;
    columns_ = columns;
    Look();
  }

  Interface& interface() { return interface_; }
  const std::string& screen() const { return screen_; }
  const std::string& title() const { return title_; }
  const std::string& chosen() const { return chosen_; }

 private:
  void Look() {
    const std::vector<ScreenLine> lines = interface_.Draw(rows_, columns_);
    EXPECT_EQ(lines.size(), static_cast<size_t>(rows_));
    screen_.clear();
    chosen_.clear();
    title_ = lines[0].text;
    for (const ScreenLine& line : lines) {
      EXPECT_LE(Columns(line.text), columns_) << line.text;
      screen_ += line.text + "\n";
      if (line.style == LineStyle::kChosen) chosen_ = line.text;
    }
  }

  Interface interface_;
  int rows_;
  int columns_;
  std::string screen_, title_, chosen_;
};

TEST(InterfaceTest, TheFirstRowIsChosenAndKeysMove) {
  Person person;
  EXPECT_EQ(person.title(), "server 17: functions, peak");
  EXPECT_THAT(person.screen(), HasSubstr("18.2 MiB (17.2-19.5 MiB) live"));
  const std::string first = person.chosen();
  EXPECT_THAT(first, HasSubstr("sort "));
  person.Press(Key::kUp);
  EXPECT_EQ(person.chosen(), first);
  person.Press(Key::kDown);
  EXPECT_NE(person.chosen(), first);
  person.Press(Key::kEnd);
  const std::string last = person.chosen();
  person.Press(Key::kDown);
  EXPECT_EQ(person.chosen(), last);
  person.Press(Key::kHome);
  EXPECT_EQ(person.chosen(), first);
}

TEST(InterfaceTest, AFunctionsCallersAreOpenedAndLeft) {
  Person person;
  person.Press(Key::kEnter);
  EXPECT_EQ(person.title(), "server 17: callers of sort, peak");
  EXPECT_THAT(person.screen(), HasSubstr("main"));
  EXPECT_THAT(person.screen(), Not(HasSubstr("cache.cc")));
  person.Press(Key::kBack);
  EXPECT_EQ(person.title(), "server 17: functions, peak");
  person.Press(Key::kBack);
  EXPECT_EQ(person.title(), "server 17: functions, peak");
}

TEST(InterfaceTest, KeysChangeViewMetricAndOrder) {
  Person person;
  person.Type("v");
  EXPECT_EQ(person.title(), "server 17: callers, peak");
  person.Type("V");
  EXPECT_EQ(person.title(), "server 17: functions, peak");
  person.Type("h");
  EXPECT_THAT(person.screen(), HasSubstr("worker"));
  person.Type("fmm");
  EXPECT_EQ(person.title(), "server 17: functions, alloc");
  EXPECT_THAT(person.chosen(), HasSubstr("format"));
  person.Type("s");
  EXPECT_EQ(person.title(), "server 17: functions, alloc, by stack");
  EXPECT_THAT(person.chosen(), HasSubstr("main"));
  person.Type("b");
  EXPECT_THAT(person.title(), HasSubstr(", blocks"));
}

// The key that goes through the views meets those that refuse a metric.
TEST(InterfaceTest, ViewsOfTheirOwnMetricDoNotGetTheChosenOne) {
  Person person({"--view=modules", "--metric=alloc"});
  person.Type("v");
  EXPECT_THAT(person.screen(), AllOf(HasSubstr("median time"), Not(HasSubstr("--metric"))));
  person.Type("v");
  EXPECT_THAT(person.screen(), AllOf(HasSubstr("lives since"), Not(HasSubstr("--metric"))));
}

TEST(InterfaceTest, AFilterIsTypedAndCorrected) {
  Person person;
  person.Type("/groxx");
  EXPECT_THAT(person.screen(), HasSubstr("only stacks with: groxx_"));
  person.Press(Key::kErase);
  person.Press(Key::kErase);
  person.Type("w");
  person.Press(Key::kEnter);
  EXPECT_EQ(person.title(), "server 17: functions, peak, /grow/");
  EXPECT_THAT(person.chosen(), HasSubstr("grow "));
  // A wrong expression changes nothing.
  person.Type("/(");
  person.Press(Key::kEnter);
  EXPECT_THAT(person.screen(), HasSubstr("is not a regular expression"));
  EXPECT_EQ(person.title(), "server 17: functions, peak, /grow/");
  // Nothing is left: a line, and no row to choose falls apart.
  person.Type("/zzz");
  person.Press(Key::kEnter);
  EXPECT_THAT(person.screen(), HasSubstr("nothing yet"));
  person.Press(Key::kEnter);
  EXPECT_THAT(person.screen(), HasSubstr("this row is no function"));
}

TEST(InterfaceTest, OptionsOfTheCommandAreWhereKeysBegin) {
  const Person person({"--view=lines", "--metric=alloc", "--focus=grow", "--focus=fill"});
  EXPECT_EQ(person.title(), "server 17: lines, alloc, /grow|fill/");
  Person of_an_hour({"--born=1h.."});
  EXPECT_THAT(of_an_hour.title(), HasSubstr(", born 1h.."));
  of_an_hour.Type("n");
  EXPECT_THAT(of_an_hour.title(), Not(HasSubstr("born")));
  of_an_hour.Type("n");
  EXPECT_THAT(of_an_hour.title(), HasSubstr(", born 1h.."));
}

// The blocks of the function that has most are young, all others are old.
TEST(InterfaceTest, TheLastMinuteIsAKey) {
  heap::HeapProfile profile = views::Server().profile;
  const auto is_of_sort = [&profile](const heap::Sample& sample) {
    const heap::Location& location = profile.locations[sample.stack[0]];
    return profile.functions[location.lines[0].function].name == "sort";
  };
  for (heap::Sample& sample : profile.samples) {
    const uint64_t nanos = (is_of_sort(sample) ? 30 : 600) * uint64_t{1'000'000'000};
    sample[heap::Metric::kLive].Add({1, 1000});
    sample.ages = {{10, static_cast<uint8_t>(63 - __builtin_clzll(nanos)), false,
                    sample[heap::Metric::kLive], heap::EighthOf(nanos)}};
  }
  profile.duration_seconds = 3600;
  Person person;
  person.interface().SetProfile(profile);
  person.Type("n");
  EXPECT_EQ(person.title(), "server 17: functions, live, born 1m..");
  EXPECT_THAT(person.chosen(), HasSubstr("sort "));
  EXPECT_THAT(person.screen(), Not(HasSubstr("grow")));
  person.Type("n");
  EXPECT_EQ(person.title(), "server 17: functions, peak");
  EXPECT_THAT(person.screen(), HasSubstr("grow"));
}

TEST(InterfaceTest, WhatWasChosenIsFollowed) {
  Person person;
  person.Press(Key::kDown);
  const std::string chosen = person.chosen().substr(0, 4);
  // Two new functions come before all others.
  views::HandMade both = views::Server();
  both.Add({"first@x.cc:1"}, 1000, 1e9, 1e9, 1e9);
  both.Add({"second@x.cc:2"}, 1000, 1e9, 1e9, 1e9);
  person.interface().SetProfile(both.profile);
  person.Resize(24, 80);
  EXPECT_EQ(person.chosen().substr(0, 4), chosen);
}

TEST(InterfaceTest, FrozenIsWhatIsNotReadAgain) {
  Person person;
  EXPECT_EQ(person.Type(" "), Wish::kNothing);
  EXPECT_TRUE(person.interface().is_frozen());
  EXPECT_THAT(person.title(), HasSubstr(", frozen"));
  EXPECT_EQ(person.Type(" "), Wish::kRead);
  EXPECT_FALSE(person.interface().is_frozen());
}

TEST(InterfaceTest, FilesAreWrittenWhereThePersonSays) {
  Person person;
  person.Type("w");
  EXPECT_THAT(person.screen(), HasSubstr("write to: saved.pb.gz_"));
  for (int i = 0; i < 11; ++i) person.Press(Key::kErase);
  person.Type("other.pb.gz");
  EXPECT_EQ(person.Press(Key::kEnter), Wish::kSave);
  EXPECT_EQ(person.interface().save_path(), "other.pb.gz");
  person.Type("w");
  EXPECT_EQ(person.Press(Key::kBack), Wish::kNothing);
  EXPECT_EQ(person.Type("q"), Wish::kQuit);
}

TEST(InterfaceTest, PagesAreReadFromTheProcess) {
  Person person;
  EXPECT_EQ(person.Type("p"), Wish::kRead);
  EXPECT_TRUE(person.interface().wants_pages());
  EXPECT_EQ(person.Type("f"), Wish::kRead);
  EXPECT_EQ(person.Type("t"), Wish::kNothing);
}

TEST(InterfaceTest, AnErrorIsShownInTheFormOfRows) {
  Person person;
  person.interface().SetProfile(absl::NotFoundError("process 17 has ended\x1b[2J"));
  person.Resize(24, 80);
  EXPECT_THAT(person.screen(), HasSubstr("process 17 has ended\\x1b[2J"));
  for (const Key key : {Key::kDown, Key::kEnter, Key::kEnd, Key::kPageUp}) person.Press(key);
  person.Type("mlvVfctbns?x");
}

// Any key, on any screen, leaves a screen; Person checks its size.
TEST(InterfaceTest, ScreensOfAnySizeTakeAnyKeys) {
  constexpr char kBytes[] = "vVfcthplmbns r/?a\x03w\xc3\xa9";
  uint32_t random = 1;
  Person person;
  for (int i = 0; i < 3000; ++i) {
    random = random * 1664525 + 1013904223;
    const uint32_t draw = random >> 8;
    if (draw % 7 == 0) person.Resize(1 + draw / 7 % 30, 1 + draw / 300 % 100);
    const auto key = static_cast<Key>(draw % 11);
    person.Press(key, kBytes[draw / 11 % (sizeof(kBytes) - 1)]);
  }
}

TEST(InterfaceTest, TwentyColumnsHaveNamesAndAmounts) {
  Person person;
  person.Resize(6, 20);
  EXPECT_EQ(person.title(), "server 17: function…");
  EXPECT_THAT(person.chosen(), AllOf(HasSubstr("sort"), HasSubstr("38.1 MiB")));
}

}  // namespace
}  // namespace allomon::control
