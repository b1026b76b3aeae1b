// Heap profiles as OTLP, which OpenTelemetry's collectors take.  README.md, "OTLP", says what goes
// where.
//
// Functions of their arguments: the same profile gives the same bytes.  Nothing here fails.
#ifndef ALLOMON_TOOLS_EXPORT_OTLP_H_
#define ALLOMON_TOOLS_EXPORT_OTLP_H_

#include <string>
#include <string_view>

#include "tools/heap/heap_profile.h"

namespace allomon::interchange {

// Returns a message ProfilesData, which is an ExportProfilesServiceRequest, too.  The profiles of
// the metric `first` are the first ones, which viewers show.  `host` is the name of the machine on
// which the program ran; empty: not known.
std::string EncodeOtlp(const heap::HeapProfile& profile, heap::Metric first,
                       std::string_view host = "");

// Returns that message, which must be from EncodeOtlp(), in OTLP's JSON: one line.
std::string OtlpJson(std::string_view message);

}  // namespace allomon::interchange

#endif  // ALLOMON_TOOLS_EXPORT_OTLP_H_
