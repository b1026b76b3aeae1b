// Writes a comparison as text for people and for CI systems.
#ifndef ALLOMON_TOOLS_GATE_REPORT_H_
#define ALLOMON_TOOLS_GATE_REPORT_H_

#include <string>

#include "tools/gate/comparison.h"

namespace allomon::gate {

// Returns a table of the growth, and the call sites that cause it; one line if nothing grew.
std::string ToText(const Comparison& comparison);

// Returns JUnit's XML, with one test case per benchmark.
std::string ToJunit(const Comparison& comparison);

// Returns GitHub's workflow commands: one ::error per benchmark that does not pass, at the
// allocating line if that is known.
std::string ToGithub(const Comparison& comparison);

}  // namespace allomon::gate

#endif  // ALLOMON_TOOLS_GATE_REPORT_H_
