// The monitor of the process: its ranges, and what starts and stops them.
//
// One call at a time (monitor() takes a lock); Add() is for signal handlers.
#ifndef ALLOMON_TRACKER_PROFILE_MON_MONITOR_STATE_H_
#define ALLOMON_TRACKER_PROFILE_MON_MONITOR_STATE_H_

#include <cstdint>
#include <string>

#include "tracker/profile/mon/mon_range.h"

namespace allomon::internal {

inline constexpr int kMostMonRanges = 16;

// All of these return false on failure, with one line in *error, and have changed nothing.
bool StartMonitor(const MonRequest& request, std::string* error);
bool AddMonitorRange(const MonRequest& request, std::string* error);
// Ends sampling; then writes `path`, after which the buffers are the caller's again, also if it
// could not be written.
bool StopMonitor(const std::string& path, std::string* error);

bool MonitorRuns();

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_MON_MONITOR_STATE_H_
