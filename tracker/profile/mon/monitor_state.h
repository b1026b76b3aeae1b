// The monitor of the process: its ranges, its start and its stop.
//
// One call at a time (monitor() takes a lock); Add() is for signal handlers.
#ifndef ALLOMON_TRACKER_PROFILE_MON_MONITOR_STATE_H_
#define ALLOMON_TRACKER_PROFILE_MON_MONITOR_STATE_H_

#include <cstdint>
#include <string>

#include "tracker/profile/mon/mon_range.h"

namespace allomon::internal {

inline constexpr int kMostMonRanges = 16;

// Each function returns false on failure, with one line in *error, and has then changed nothing.
bool StartMonitor(const MonRequest& request, std::string* error);
bool AddMonitorRange(const MonRequest& request, std::string* error);
// Ends sampling, then writes `path`.  Afterwards the buffers belong to the caller again, also if
// the file could not be written.
bool StopMonitor(const std::string& path, std::string* error);

bool MonitorRuns();

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_MON_MONITOR_STATE_H_
