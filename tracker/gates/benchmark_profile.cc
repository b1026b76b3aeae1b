#include "tracker/gates/benchmark_profile.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <vector>

#include "tracker/gates/framework_frames.h"
#include "tracker/gates/source_frames.h"

namespace allomon::internal {
namespace {

std::string JsonFrame(const SourceFrame& frame) {
  return "{\"function\": " + JsonString(frame.function) + ", \"file\": " + JsonString(frame.file) +
         ", \"line\": " + std::to_string(frame.line) + "}";
}

// Returns the frames up to the benchmark's function: its callers are the library's, and have no
// lines. If no frame has lines, the library's frames are recognised by their names.
std::vector<SourceFrame> FramesOf(const AllocationSite& site) {
  std::vector<SourceFrame> frames = ReadableFrames(site.callstack, site.inner_frames);
  if (HasNoLines(frames)) {
    const auto is_librarys = [](const SourceFrame& frame) {
      return frame.function.compare(0, 11, "benchmark::") == 0;
    };
    frames.erase(std::find_if(frames.begin(), frames.end(), is_librarys), frames.end());
    while (!frames.empty() && frames.back().function == "[unknown]") frames.pop_back();
    return frames;
  }
  const auto has_line = [](const SourceFrame& frame) { return frame.line != 0; };
  const auto last = std::find_if(frames.rbegin(), frames.rend(), has_line);
  if (last != frames.rend()) frames.erase(last.base(), frames.end());
  return frames;
}

std::string JsonFrames(const AllocationSite& site) {
  std::string frames;
  for (const SourceFrame& frame : FramesOf(site)) {
    frames += (frames.empty() ? "" : ", ") + JsonFrame(frame);
  }
  return frames;
}

// Sums stacks with the same text as one site.
std::string JsonSites(const std::vector<AllocationSite>& sites) {
  struct Sum {
    uint64_t allocations = 0;
    uint64_t bytes = 0;
  };
  std::map<std::string, Sum> by_frames;
  for (const AllocationSite& site : sites) {
    Sum& sum = by_frames[JsonFrames(site)];
    sum.allocations += site.allocations;
    sum.bytes += site.bytes;
  }
  std::string json;
  for (const auto& [frames, sum] : by_frames) {
    json += (json.empty() ? "\n   " : ",\n   ");
    json += "{\"allocations\": " + std::to_string(sum.allocations) +
            ", \"bytes\": " + std::to_string(sum.bytes) + ", \"frames\": [" + frames + "]}";
  }
  return json;
}

}  // namespace

std::string JsonString(const std::string& text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", c);
      json += escaped;
    } else {
      json += c;
    }
  }
  return json + "\"";
}

void BenchmarkProfile::AddPass(const AllocationReport& report) {
  passes_ += passes_.empty() ? "\n  " : ",\n  ";
  passes_ += "{\"allocations\": " + std::to_string(report.allocations) +
             ", \"bytes\": " + std::to_string(report.bytes) +
             ", \"peak_bytes\": " + std::to_string(report.peak_bytes) + ", \"sites\": [" +
             JsonSites(report.sites) + "]}";
}

bool BenchmarkProfile::Write(const std::string& path) const {
  FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return false;
  const std::string text = "{\"allomon_gate_profile\": 1,\n \"passes\": [" + passes_ + "]}\n";
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return (std::fclose(file) == 0) && written;
}

}  // namespace allomon::internal
