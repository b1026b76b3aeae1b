#include "tools/heap/missing.h"

#include <cstdio>
#include <vector>

namespace allomon::heap {
namespace {

std::string Number(double value) {
  char text[64];
  snprintf(text, sizeof text, "%.0f", value);
  return text;
}

// Returns "1 death" or "2 deaths".
std::string Counted(double count, const std::string& what) {
  return Number(count) + " " + what + (count == 1 ? "" : "s");
}

std::vector<std::string> PartsOf(const Missing& missing) {
  std::vector<std::string> parts;
  if (missing.samples > 0) {
    parts.push_back(Counted(missing.samples, "sample") + " of blocks of " +
                    Counted(missing.bytes, "byte"));
  }
  if (missing.ends > 0) {
    parts.push_back("the ages of " + Counted(missing.ends, "death") + " and promotions");
  }
  if (missing.threads > 0) {
    parts.push_back("ages of blocks of " + Counted(missing.threads, "thread"));
  }
  if (missing.saved > 0) {
    parts.push_back("what " + Counted(missing.saved, "row") + " had at the peak");
  }
  if (missing.names > 0) parts.push_back(Counted(missing.names, "name") + " of functions");
  if (missing.frames > 0) parts.push_back("the modules of " + Counted(missing.frames, "frame"));
  if (missing.scopes > 0) parts.push_back(Counted(missing.scopes, "end") + " of labels");
  return parts;
}

std::string UnseenText(const Missing& missing) {
  if (missing.unseen == 0) return "";
  return Counted(missing.unseen, "block") +
         " ended when the address was taken again: the program freed them where Allomon does not "
         "see it, so they seem to have lived longer";
}

std::string RoomText(const Missing& missing) {
  const std::vector<std::string> parts = PartsOf(missing);
  if (parts.empty()) return "";
  std::string text = "not in the recording, for want of room: ";
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 == parts.size() ? ", and " : ", ";
    text += parts[i];
  }
  return text + "; a larger --limit may help";
}

}  // namespace

bool IsWhole(const Missing& missing, Metric metric) {
  if (missing.samples > 0) return false;
  switch (metric) {
    case Metric::kAllocated:
      return true;
    case Metric::kLive:
      return missing.unseen == 0;
    case Metric::kPeak:
      return missing.saved == 0 && missing.unseen == 0;
    case Metric::kTemporary:
      return missing.ends == 0 && missing.threads == 0 && missing.unseen == 0;
    case Metric::kPromoted:
    case Metric::kDiedYoung:
      return missing.ends == 0 && missing.unseen == 0;
  }
  return false;
}

std::string MissingText(const Missing& missing) {
  const std::string room = RoomText(missing);
  const std::string unseen = UnseenText(missing);
  return room.empty() || unseen.empty() ? room + unseen : room + "; " + unseen;
}

}  // namespace allomon::heap
