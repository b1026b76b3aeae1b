// A comparison, as text for people and for CI systems.
#ifndef ALLOMON_TOOLS_GATE_REPORT_H_
#define ALLOMON_TOOLS_GATE_REPORT_H_

#include <string>

#include "tools/gate/comparison.h"

namespace allomon::gate {

// The table of what grew, and the call sites behind it; one line if nothing did.
std::string ToText(const Comparison& comparison);

// JUnit's XML, one test case per benchmark.
std::string ToJunit(const Comparison& comparison);

// GitHub's workflow commands: one ::error per benchmark that does not pass, at the line that
// allocates if it is known.
std::string ToGithub(const Comparison& comparison);

}  // namespace allomon::gate

#endif  // ALLOMON_TOOLS_GATE_REPORT_H_
