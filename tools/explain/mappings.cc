#include "tools/explain/mappings.h"

#include <charconv>

namespace allomon::explain {
namespace {

// Reads a number and leaves `text` after it.
bool Take(std::string_view* text, int base, uint64_t* number) {
  const auto [rest, error] =
      std::from_chars(text->data(), text->data() + text->size(), *number, base);
  text->remove_prefix(static_cast<size_t>(rest - text->data()));
  return error == std::errc();
}

bool TakeChar(std::string_view* text, char expected) {
  if (text->empty() || text->front() != expected) return false;
  text->remove_prefix(1);
  return true;
}

void SkipBlanks(std::string_view* text) {
  while (!text->empty() && text->front() == ' ') text->remove_prefix(1);
}

// "7f00-7f10 rw-p 00001000 08:01 1234    /path"
bool ParseHead(std::string_view line, Mapping* mapping) {
  uint64_t device = 0;
  if (!Take(&line, 16, &mapping->begin) || !TakeChar(&line, '-') ||
      !Take(&line, 16, &mapping->end) || !TakeChar(&line, ' ') || line.size() < 5) {
    return false;
  }
  mapping->is_readable = line[0] == 'r';
  mapping->is_writable = line[1] == 'w';
  mapping->is_executable = line[2] == 'x';
  mapping->is_shared = line[3] == 's';
  line.remove_prefix(5);
  if (!Take(&line, 16, &mapping->offset_bytes) || !TakeChar(&line, ' ') ||
      !Take(&line, 16, &device) || !TakeChar(&line, ':') || !Take(&line, 16, &device) ||
      !TakeChar(&line, ' ') || !Take(&line, 10, &mapping->inode)) {
    return false;
  }
  SkipBlanks(&line);
  mapping->name = std::string(line);
  return true;
}

struct Field {
  std::string_view name;
  uint64_t Mapping::*bytes;
};
constexpr Field kFields[] = {{"Rss:", &Mapping::resident_bytes},
                             {"Pss:", &Mapping::proportional_bytes},
                             {"Anonymous:", &Mapping::anonymous_bytes},
                             {"AnonHugePages:", &Mapping::huge_bytes},
                             {"Swap:", &Mapping::swapped_bytes}};

// "Rss:                1234 kB", "VmFlags: rd wr mr mw me ac"
void ParseField(std::string_view line, Mapping* mapping) {
  if (line.substr(0, 8) == "VmFlags:") {
    mapping->is_wiped_by_fork = line.find(" wf") != std::string_view::npos;
    return;
  }
  for (const Field& field : kFields) {
    if (line.substr(0, field.name.size()) != field.name) continue;
    line.remove_prefix(field.name.size());
    SkipBlanks(&line);
    uint64_t kibibytes = 0;
    if (Take(&line, 10, &kibibytes) && kibibytes < UINT64_MAX / 1024) {
      mapping->*field.bytes = kibibytes * 1024;
    }
    return;
  }
}

}  // namespace

std::vector<Mapping> ParseMappings(std::string_view smaps) {
  std::vector<Mapping> mappings;
  bool is_known = false;  // whether fields belong to the last mapping
  while (!smaps.empty()) {
    const size_t length = std::min(smaps.find('\n'), smaps.size());
    const std::string_view line = smaps.substr(0, length);
    smaps.remove_prefix(std::min(length + 1, smaps.size()));
    Mapping mapping;
    if (!ParseHead(line, &mapping)) {
      if (is_known) ParseField(line, &mappings.back());
      continue;
    }
    is_known =
        mapping.begin < mapping.end && (mappings.empty() || mappings.back().end <= mapping.begin);
    if (is_known) mappings.push_back(std::move(mapping));
  }
  return mappings;
}

Totals SumOf(const std::vector<Mapping>& mappings) {
  Totals sum;
  for (const Mapping& mapping : mappings) {
    sum.resident_bytes += mapping.resident_bytes;
    sum.proportional_bytes += mapping.proportional_bytes;
    sum.huge_bytes += mapping.huge_bytes;
    sum.swapped_bytes += mapping.swapped_bytes;
  }
  return sum;
}

}  // namespace allomon::explain
