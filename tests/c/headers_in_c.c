// What C11 makes of the headers, for c_interface_test, which declares the two names that it shows.
#include <allomon/allomon.h>

static const allomon_tracker_options options = ALLOMON_TRACKER_DEFAULTS;
static const allomon_callbacks callbacks = ALLOMON_CALLBACKS_DEFAULTS;
static const allomon_recording_options recording = ALLOMON_RECORDING_DEFAULTS;
static const allomon_tracker_counts counts = ALLOMON_TRACKER_COUNTS;
static const allomon_recording_counts recorded = ALLOMON_RECORDING_COUNTS;

extern const size_t sizes_in_c[];
const size_t sizes_in_c[] = {sizeof(allomon_allocation),
                             sizeof(options),
                             sizeof(callbacks),
                             sizeof(allomon_live_stack),
                             sizeof(counts),
                             sizeof(recording),
                             sizeof(recorded),
                             sizeof(allomon_live_labels),
                             0};

static const char* (*volatile text)(void) = allomon_version_text;

const char* version_in_c(void);

const char* version_in_c(void) { return text(); }
