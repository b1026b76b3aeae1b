// recording_text FILE: prints a recording in the format of read_recording.py. recording_text
// --make=SEED FILE: writes a recording.

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "tests/recording_reader/support/recording_builder.h"
#include "tracker/formats/recording.h"

namespace allomon::recording {
namespace {

template <typename... Numbers>
std::string Tuple(Numbers... numbers) {
  std::string text;
  ((text += (text.empty() ? "(" : ", ") + std::to_string(numbers)), ...);
  return text + ")";
}

// Prints nine digits, on which two readers agree however they round.
std::string Nine(double value) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.9g", value);
  return text;
}

std::string Tuple(const Sum& sum) {
  return "(" + std::to_string(sum.samples) + ", " + Nine(sum.blocks) + ", " + Nine(sum.bytes) + ")";
}

std::string FrameOf(const Process& process, const Node& node) {
  char text[24];
  std::snprintf(text, sizeof(text), "%" PRIx64, node.address);
  if (node.kind < static_cast<uint8_t>(NodeKind::kNamed)) return text;
  std::string name(process.NameOf(node));
  for (char& letter : name) letter = letter == '\t' ? '|' : letter;
  return name;
}

std::string StackOf(const Process& process, uint32_t number) {
  std::string stack;
  for (const char* comma = ""; number != 0; comma = ",") {
    const Node& node = process.nodes[number - 1];
    stack += comma + FrameOf(process, node) + (node.cut != 0 ? "~" : "");
    number = node.parent;
  }
  return stack;
}

void PrintLine(const std::string& line) { std::printf("%s\n", line.c_str()); }

// "tenant|acme|".
std::string LabelsOf(const Process& process, const TextRef& labels) {
  std::string text(process.TextOf(labels));
  for (char& letter : text) letter = letter == '\0' ? '|' : letter;
  return text;
}

void PrintRow(const Process& process, const Process::Row& row) {
  if (row.size_class == 0) return;
  PrintLine("row " + StackOf(process, row.node) + " " +
            std::to_string(LeastSizeOf(static_cast<uint16_t>(row.size_class - 1))) + " " +
            std::to_string(row.source) + " " + std::to_string(row.young ? 1 : 0) + " " +
            Tuple(row.allocated) + " " + Tuple(row.live) + " " + Tuple(row.peak) + " " +
            LabelsOf(process, row.labels));
}

void PrintHead(const Process& process) {
  const Process::Record& record = process.record;
  std::string missing;
  for (uint32_t i = 0; i < kShortages; ++i) {
    missing += " " + std::to_string(record.missing[static_cast<Shortage>(i)]);
  }
  PrintLine("process " + std::to_string(record.pid) + " " + std::to_string(record.parent_pid) +
            " " + process.program + " seed " + std::to_string(record.seed) + " rate " +
            Nine(record.rate) + " allocated " + Tuple(record.allocated) + " live " +
            Tuple(record.live) + " peak " + Tuple(record.peak) + " last " +
            std::to_string(record.last_nanos) + " missing" + missing);
  const ProcessMemory& memory = record.memory;
  if (memory.nanos == 0) return;
  PrintLine("memory " + Tuple(memory.nanos, memory.resident_bytes, memory.live_bytes,
                              memory.most_resident_bytes));
  const HeapPages& heap = memory.heap;
  if (heap.known == HeapKnown::kNot) return;
  PrintLine("heap " + Tuple(static_cast<uint64_t>(heap.known), heap.live_bytes, heap.free_bytes,
                            heap.kept_bytes, heap.sampled_free_bytes, heap.file_bytes));
}

std::string FileText(const Module& module) {
  if (module.build_id_bytes != 0) return "";
  if (module.file_known == static_cast<uint8_t>(FileState::kElsewhere)) return " elsewhere";
  if (module.file_known != static_cast<uint8_t>(FileState::kAtPath)) return "";
  FileIdentity file;
  std::memcpy(&file, module.build_id, sizeof(file));
  return " file " + Tuple(file.device, file.inode, file.size_bytes, file.change_nanos);
}

void PrintModule(const Process& process, const Module& module) {
  std::string id;
  for (int i = 0; i < module.build_id_bytes; ++i) {
    char digits[4];
    std::snprintf(digits, sizeof(digits), "%02x", module.build_id[i]);
    id += digits;
  }
  PrintLine("module " + Tuple(module.begin, module.end, module.bias, module.moved_by) + " " +
            std::string(process.TextOf(module.path)) + " " + id + FileText(module));
}

void Print(const Process& process) {
  PrintHead(process);
  for (const Process::Row& row : process.rows) PrintRow(process, row);
  for (const Process::Event& event : process.events) {
    if (event.kind == 0) continue;
    PrintLine("event " +
              Tuple(event.row, event.kind, event.other_thread, event.log2_bytes, event.log2_nanos) +
              " " + Tuple(event.sum));
  }
  for (const LiveBlock& block : process.live) {
    if (block.row == 0) continue;
    PrintLine("live " + Tuple(block.row, block.thread, block.size_bytes, block.birth_nanos,
                              block.birth_bytes));
  }
  for (const Scope& scope : process.scopes) {
    if (scope.thread == 0) continue;
    PrintLine("scope " + Tuple(scope.thread, scope.label, scope.begin_nanos, scope.end_nanos) +
              " " + LabelsOf(process, scope.labels));
  }
  for (const Process::Thread& thread : process.threads) {
    if (thread.tid == 0) continue;
    PrintLine("thread " + std::to_string(thread.tid) + " " + thread.name + " " +
              std::to_string(thread.exact_words) + " " + Nine(thread.estimated_words) + " " +
              Nine(thread.estimated_words_variance) + " " + Tuple(thread.allocated) + " " +
              Tuple(thread.live));
  }
  for (size_t i = 0; i < process.timeline.size(); ++i) {
    const TimelinePoint& point = process.timeline[i];
    const uint64_t resident = process.resident.empty() ? 0 : process.resident[i].bytes;
    const auto print = [](auto... numbers) { PrintLine("point " + Tuple(numbers...)); };
    if (resident == 0) {
      print(point.nanos, point.allocated_bytes, point.live_bytes, point.most_live_bytes);
    } else {
      print(point.nanos, point.allocated_bytes, point.live_bytes, point.most_live_bytes, resident);
    }
  }
  for (const Module& module : process.modules) {
    if (module.begin != 0) PrintModule(process, module);
  }
}

int Make(const char* seed, const char* path) {
  const uint64_t number = std::strtoull(seed, nullptr, 10);
  RecordedProcess first = RandomProcess(7, number, 5000, 12);
  first.record.memory = {1, 20, 300, 4000, {HeapKnown::kSincePart, 5, 60, 700, 8000, 90000}};
  std::ofstream(path, std::ios::binary) << BytesOf({first, RandomProcess(8, number + 1, 20, 3)});
  return 0;
}

int Show(const char* path) {
  FileBytes bytes;
  Recording recording;
  std::string error;
  if (!bytes.Open(path, &error) || !ReadRecording(bytes, &recording, &error)) {
    std::fprintf(stderr, "%s: %s\n", path, error.c_str());
    return 2;
  }
  for (const Process& process : recording.processes) Print(process);
  return 0;
}

}  // namespace
}  // namespace allomon::recording

int main(int argc, char** argv) {
  constexpr char kMake[] = "--make=";
  if (argc == 3 && std::strncmp(argv[1], kMake, sizeof(kMake) - 1) == 0) {
    return allomon::recording::Make(argv[1] + sizeof(kMake) - 1, argv[2]);
  }
  return argc == 2 ? allomon::recording::Show(argv[1]) : 2;
}
