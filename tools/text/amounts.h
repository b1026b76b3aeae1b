// Amounts of a profile, in words.
#ifndef ALLOMON_TOOLS_TEXT_AMOUNTS_H_
#define ALLOMON_TOOLS_TEXT_AMOUNTS_H_

#include <string>

#include "tracker/formats/mlmon.h"

namespace allomon::report {

// The unit of a kind: "bytes", "hundredths of a second", "calls".
const char* UnitName(ProfileKind kind);

// "81.7 MiB" (of 1024 each), "0.12 s", "1,234,567".
std::string Amount(ProfileKind kind, MlmonInt value);

// As Amount(), with a sign for growth too.
std::string SignedAmount(ProfileKind kind, MlmonInt value);

// "12.3%".
std::string Percentage(double percent);

// "x12.3".
std::string Times(double ratio);

// All digits: "85,697,228".
std::string Exact(MlmonInt value);

// All digits and nothing else, for JSON and CSV.
std::string Digits(MlmonInt value);

// "81.7 MiB allocated (85,697,228 bytes), and 16.2 KiB by the collector".
std::string TotalsText(const Mlmon& data, bool live);

// The sum of both totals, which is 100 %.
double Whole(const Mlmon& data);

// `part` of `whole` in percent.  0 if `whole` is 0.
double PercentOf(MlmonInt part, double whole);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_TEXT_AMOUNTS_H_
