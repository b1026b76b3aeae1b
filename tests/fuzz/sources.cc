// The list of functions for an mlmon.out: a program's answer, or a script that prints it, with the
// places of calls in its comments.  Accepted input is written as an answer that can be read again.
#include "tests/fuzz/target.h"
#include "tracker/formats/call_sites.h"
#include "tracker/formats/source_table.h"

namespace allomon::fuzz {
namespace {

void CheckIndices(const SourceTable& table) {
  for (const Source& source : table.sources) {
    Require(source.name_index < table.names.size(), "a source's name is one");
    Require(source.successor_sequence < table.sequences.size(), "a source's sequence is one");
  }
  for (const auto& sequence : table.sequences) {
    for (const uint32_t source : sequence) {
      Require(source < table.sources.size(), "a sequence is of sources");
    }
  }
}

void CheckCallSites(std::string_view script, size_t names) {
  const CallSites sites = ParseCallSites(script, names);
  Require(sites.callers.empty() || sites.callers.size() == names, "callers are by name");
  for (const CallSite& site : sites.sites) {
    Require(site.name_index < names, "a site's name is one");
    Require(!site.frames.empty(), "a site has a frame");
    for (const CodeAddress& frame : site.frames) {
      Require(frame.module < sites.modules.size(), "a frame's module is one");
      Require(frame.start <= frame.address, "a frame is in its function");
    }
  }
}

bool CheckSources(std::string_view input) {
  const std::string_view answer = AnswerOfStub(input);
  IsStubOfLive(input);
  SourceTable table;
  std::string error;
  if (!ParseSources(answer.empty() ? input : answer, &table, &error)) {
    Require(!error.empty(), "a refusal has a reason");
    return false;
  }
  CheckIndices(table);
  CheckCallSites(input, table.names.size());
  const std::string canonical = FormatSources(table);
  SourceTable again;
  Require(ParseSources(canonical, &again, &error), "what was written is read", error);
  Require(FormatSources(again) == canonical, "what was written and read is the same", canonical);
  ContentMagic(table);
  Require(AnswerOfStub(FormatSourcesStub(table)) == canonical, "a script has the answer");
  return true;
}

// main calls f and g, and g itself.
SourceTable SmallTable() {
  SourceTable table = FixedSourceTable();
  const auto main = static_cast<uint32_t>(table.sources.size());
  table.magic = 0x1234;
  table.names.push_back({"f", "a.cc: 1"});
  table.names.push_back({"g", ""});
  const auto calls = static_cast<uint32_t>(table.sequences.size());
  table.sequences.push_back({main, main + 1});
  table.sources.push_back({main, kNoSuccessors});
  table.sources.push_back({main + 1, calls});
  return table;
}

CallSites SmallSites() {
  CallSites sites;
  sites.wrappers = "xmalloc,std::*";
  sites.modules.push_back({"0123abcd", "/usr/bin/x"});
  sites.callers = {0, 0, 0, 2, 1};
  sites.sites.push_back({3, 100, {{0, 0x10, 0x18}, {0, 0x40, 0x44}}});
  return sites;
}

}  // namespace

std::vector<std::string> Seeds() {
  const SourceTable table = SmallTable();
  return {FormatSources(table), FormatSources(FixedSourceTable()),
          FormatSourcesStub(table, StubOf::kLive),
          FormatSourcesStub(table, StubOf::kAll, FormatCallSites(SmallSites()))};
}

}  // namespace allomon::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace allomon::fuzz;
  return Done(CheckSources(TextOf(data, size)));
}
