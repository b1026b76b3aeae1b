#include "tracker/formats/output_format.h"

namespace allomon {

#define ALLOMON_OUTPUT_FORMAT(name, function) OutputFiles function(const NamedProfile& profile);
#include "tracker/formats/output_formats.inc"
#undef ALLOMON_OUTPUT_FORMAT

OutputFormat FindOutputFormat(std::string_view wanted) {
#define ALLOMON_OUTPUT_FORMAT(name, function) \
  if (wanted == #name) return function;
#include "tracker/formats/output_formats.inc"
#undef ALLOMON_OUTPUT_FORMAT
  return nullptr;
}

}  // namespace allomon
