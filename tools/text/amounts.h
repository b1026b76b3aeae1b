// Formats amounts of a profile for people.
#ifndef ALLOMON_TOOLS_TEXT_AMOUNTS_H_
#define ALLOMON_TOOLS_TEXT_AMOUNTS_H_

#include <string>

#include "tracker/formats/mlmon.h"

namespace allomon::report {

// Returns the unit of a kind: "bytes", "hundredths of a second", "calls".
const char* UnitName(ProfileKind kind);

// Returns "81.7 MiB" (units of 1024), "0.12 s", "1,234,567".
std::string Amount(ProfileKind kind, MlmonInt value);

// Returns the same text as Amount(), with a sign also for growth.
std::string SignedAmount(ProfileKind kind, MlmonInt value);

// Returns "12.3 s", "250 ms", "2 h 5 min".
std::string SecondsText(double seconds);

// Returns "12.3%".
std::string Percentage(double percent);

// Returns "x12.3".
std::string Times(double ratio);

// Returns all digits: "85,697,228".
std::string Exact(MlmonInt value);

// Returns all digits without commas, for JSON and CSV.
std::string Digits(MlmonInt value);

// Returns "81.7 MiB allocated (85,697,228 bytes), and 16.2 KiB by the collector".
std::string TotalsText(const Mlmon& data, bool live);

// Returns the sum of both totals, which is 100 %.
double Whole(const Mlmon& data);

// Returns `part` in percent of `whole`; 0 if `whole` is 0.
double PercentOf(MlmonInt part, double whole);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_TEXT_AMOUNTS_H_
