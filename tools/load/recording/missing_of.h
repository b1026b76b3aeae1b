// Converts the losses of a recorded process to those of a profile.
//
// A function of its argument; it does not fail.
#ifndef ALLOMON_TOOLS_LOAD_RECORDING_MISSING_OF_H_
#define ALLOMON_TOOLS_LOAD_RECORDING_MISSING_OF_H_

#include "tools/heap/heap_profile.h"
#include "tracker/formats/recording_process.h"

namespace allomon::recording {

heap::Missing MissingOf(const Shortages& shortages);

}  // namespace allomon::recording

#endif  // ALLOMON_TOOLS_LOAD_RECORDING_MISSING_OF_H_
