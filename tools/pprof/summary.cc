#include <cstdio>

#include "tools/heap/missing.h"
#include "tools/pprof/own_lines.h"
#include "tools/text/plain_text.h"

namespace allomon::pprof {
namespace {

using heap::HeapProfile;

constexpr double kWordBytes = 8;

std::string Shown(const std::string& text) { return Printable(text, Charset::kUtf8); }

std::string WhatWasRecorded(const HeapProfile& profile) {
  std::string line = "Heap profile by Allomon";
  if (!profile.program.empty()) line += " of " + Shown(profile.program);
  if (profile.pid != 0) line += ", process " + std::to_string(profile.pid);
  return line;
}

std::string HowItWasSampled(double rate) {
  if (rate <= 0) return "No intervals: how blocks were sampled is not known";
  if (rate >= 1) return "Exact: every block was recorded";
  char line[120];
  snprintf(line, sizeof line,
           "Sampled: one hit per %.0f bytes on the average; values are estimates",
           kWordBytes / rate);
  return line;
}

}  // namespace

std::vector<std::string> SummaryOf(const HeapProfile& profile) {
  std::vector<std::string> lines = {WhatWasRecorded(profile)};
  if (!profile.command.empty()) lines.push_back("Command: " + Shown(profile.command));
  lines.push_back(HowItWasSampled(profile.rate));
  const std::string missing = heap::MissingText(profile.missing);
  if (!missing.empty()) lines.push_back("Note: " + missing);
  for (const std::string& note : profile.notes) lines.push_back("Note: " + Shown(note));
  return lines;
}

}  // namespace allomon::pprof
