// Writes MLton's mlmon.out, and a script that tells mlprof the names of the functions, unless the
// executable does.
#include <utility>

#include "tracker/formats/output_format.h"

namespace allomon {

// Declared by output_format.cc, for every format by one line of output_formats.inc.
OutputFiles MlmonFiles(const NamedProfile& profile);

OutputFiles MlmonFiles(const NamedProfile& profile) {
  OutputFiles files;
  files.reserve(2);
  if (!profile.self_described) {
    const StubOf what = profile.live ? StubOf::kLive : StubOf::kAll;
    files.push_back({".sources",
                     FormatSourcesStub(profile.sources, what, FormatCallSites(profile.call_sites)),
                     0700});
  }
  files.push_back({"", FormatMlmon(profile.mlmon), 0600});
  return files;
}

}  // namespace allomon
