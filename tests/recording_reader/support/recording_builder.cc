#include "tests/recording_reader/support/recording_builder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

namespace allomon::recording {
namespace {

constexpr uint64_t kTextRoom = kSegmentBytes - sizeof(SegmentHeader);

void Add(double added, Wide* sum) {
  const double whole = std::floor(added);
  sum->whole += static_cast<uint64_t>(whole);
  sum->fraction += static_cast<uint64_t>(std::llround((added - whole) * 4294967296.0));
}

template <typename Record>
uint32_t NumberOfLast(const std::vector<Record>& records) {
  return static_cast<uint32_t>(records.size());
}

class FileBuilder {
 public:
  FileBuilder() : bytes_(kSegmentBytes, '\0') {}

  void Add(RecordedProcess process) {
    const uint32_t number = NextNumber();
    process_ = number;
    auto& count = process.record.records;
    count.nodes = NumberOfLast(process.nodes);
    count.rows = NumberOfLast(process.rows);
    count.events = NumberOfLast(process.events);
    count.live = NumberOfLast(process.live);
    count.threads = NumberOfLast(process.threads);
    count.timeline = NumberOfLast(process.timeline);
    count.modules = NumberOfLast(process.modules);
    count.text_bytes = static_cast<uint32_t>(process.text.size());
    count.saved = NumberOfLast(process.saved);
    count.scopes = NumberOfLast(process.scopes);
    AddSegment(SegmentKind::kProcess, 0, &process.record, sizeof(process.record));
    AddRecords(SegmentKind::kNodes, process.nodes);
    AddRecords(SegmentKind::kRows, process.rows);
    AddRecords(SegmentKind::kEvents, process.events);
    AddRecords(SegmentKind::kLive, process.live);
    AddRecords(SegmentKind::kThreads, process.threads);
    AddRecords(SegmentKind::kTimeline, process.timeline);
    AddRecords(SegmentKind::kResident, process.resident);
    AddRecords(SegmentKind::kModules, process.modules);
    AddRecords(SegmentKind::kSaved, process.saved);
    AddRecords(SegmentKind::kScopes, process.scopes);
    AddPieces(SegmentKind::kText, process.text.data(), process.text.size(), kTextRoom);
  }

  std::string Finish() {
    FileHeader header = {};
    std::memcpy(header.magic, kMagic, sizeof(kMagic));
    header.version = kLayoutVersion;
    header.segment_bytes = kSegmentBytes;
    header.limit_bytes = kDefaultLimitBytes;
    header.segments_used = NextNumber();
    std::memcpy(bytes_.data(), &header, sizeof(header));
    return std::move(bytes_);
  }

 private:
  uint32_t NextNumber() const { return static_cast<uint32_t>(bytes_.size() / kSegmentBytes); }

  void AddSegment(SegmentKind kind, uint32_t index, const void* data, size_t count) {
    SegmentHeader header = {};
    header.magic = kSegmentMagic;
    header.kind = kind;
    header.process = process_;
    header.index = index;
    const size_t at = bytes_.size();
    bytes_.resize(at + kSegmentBytes);
    std::memcpy(&bytes_[at], &header, sizeof(header));
    std::memcpy(&bytes_[at + sizeof(header)], data, count);
  }

  void AddPieces(SegmentKind kind, const void* data, size_t count, size_t most) {
    const char* next = static_cast<const char*>(data);
    for (uint32_t index = 0; count > 0; ++index) {
      const size_t here = std::min(count, most);
      AddSegment(kind, index, next, here);
      next += here;
      count -= here;
    }
  }

  template <typename Record>
  void AddRecords(SegmentKind kind, const std::vector<Record>& records) {
    AddPieces(kind, records.data(), records.size() * sizeof(Record),
              kRecordsPerSegment<Record> * sizeof(Record));
  }

  std::string bytes_;
  uint32_t process_ = 0;
};

}  // namespace

Sum WeightOf(uint64_t size_bytes, double rate, uint8_t flags) {
  const uint16_t size_class = SizeClassOf(size_bytes);
  const uint64_t weighed =
      (flags & kGreatest) != 0 ? GreatestSizeOf(size_class) : LeastSizeOf(size_class);
  const double words = static_cast<double>((weighed + 7) / 8 + 1);
  const double p = rate >= 1 ? 1 : -std::expm1(words * std::log1p(-rate));
  return {1, 1 / p, static_cast<double>(size_bytes) / p};
}

RecordedProcess::RecordedProcess(uint32_t pid, double rate, const std::string& program) {
  record.pid = pid;
  record.parent_pid = 1;
  record.begun = 1;
  record.rate = rate;
  record.seed = 42;
  record.start_realtime_nanos = 1'700'000'000'000'000'000;
  record.last_nanos = 2'000'000'000;
  for (uint32_t& epoch : record.peak_epoch) epoch = 1;
  record.program = AddText(program);
  record.command = AddText(program + std::string(1, '\0') + "--flag" + std::string(1, '\0'));
}

TextRef RecordedProcess::AddText(const std::string& added) {
  const size_t left = kTextRoom - text.size() % kTextRoom;
  if (added.size() > left) text.append(left, '\0');
  const TextRef ref = {static_cast<uint32_t>(text.size()), static_cast<uint32_t>(added.size())};
  text += added;
  return ref;
}

uint32_t RecordedProcess::AddStack(const std::vector<uint64_t>& addresses) {
  uint32_t parent = 0;
  for (const uint64_t address : addresses) {
    const auto [place, is_new] = node_of_.try_emplace({parent, address}, nodes.size() + 1);
    if (is_new) nodes.push_back({address, parent, 0, 0, 0});
    parent = place->second;
  }
  return parent;
}

uint32_t RecordedProcess::AddNamedFrame(const std::string& name_file_line, uint32_t parent) {
  const TextRef ref = AddText(name_file_line);
  const uint64_t address = ref.offset | uint64_t{ref.length_bytes} << 32;
  nodes.push_back({address, parent, static_cast<uint8_t>(NodeKind::kNamed), 0, 0});
  return NumberOfLast(nodes);
}

uint32_t RecordedProcess::AddType(const std::string& name, uint32_t parent) {
  const uint32_t number = AddNamedFrame(name, parent);
  nodes.back().kind = static_cast<uint8_t>(NodeKind::kType);
  return number;
}

void RecordedProcess::AddModule(uint64_t begin, uint64_t end, uint64_t bias,
                                const std::string& path, const std::string& build_id) {
  Module module = {};
  module.begin = begin;
  module.end = end;
  module.bias = bias;
  if (!path.empty()) module.path = AddText(path);
  module.build_id_bytes = static_cast<uint8_t>(build_id.size());
  std::memcpy(module.build_id, build_id.data(), std::min(build_id.size(), sizeof(module.build_id)));
  modules.push_back(module);
}

uint32_t RecordedProcess::AddThread(uint32_t tid, const std::string& name) {
  Thread thread = {};
  thread.tid = tid;
  name.copy(thread.name, sizeof(thread.name) - 1);
  threads.push_back(thread);
  return NumberOfLast(threads);
}

void RecordedProcess::SetLabels(const std::string& label_text) {
  TextRef& ref = labels_of_[label_text];
  if (ref.length_bytes == 0 && !label_text.empty()) ref = AddText(label_text);
  labels_ = ref;
}

uint32_t RecordedProcess::RowOf(uint32_t node, uint64_t size_bytes) {
  const uint16_t size_class = SizeClassOf(size_bytes) + 1;
  const auto [place, is_new] =
      row_of_.try_emplace({node, size_class, labels_.offset, flags_}, rows.size() + 1);
  if (is_new) {
    Row row = {};
    row.node = node;
    row.size_class = size_class;
    row.source = 3;
    row.flags = flags_;
    row.labels = labels_;
    rows.push_back(row);
  }
  return place->second;
}

uint32_t RecordedProcess::AddBlock(uint32_t node, uint64_t size_bytes, Fate fate,
                                   uint8_t log2_bytes, uint8_t log2_nanos) {
  const uint32_t number = RowOf(node, size_bytes);
  const Sum sum = WeightOf(size_bytes, record.rate, flags_);
  Row& row = rows[number - 1];
  ++row.blocks;
  row.bytes += size_bytes;
  const bool is_live = fate == Fate::kLives || fate == Fate::kIsPromoted;
  if (!threads.empty()) {
    Thread& thread = threads[0];
    ++thread.samples;
    Add(sum.blocks, &thread.blocks);
    Add(sum.bytes, &thread.bytes);
    if (!is_live) {
      ++thread.freed_samples;
      Add(sum.blocks, &thread.freed_blocks);
      Add(sum.bytes, &thread.freed_bytes);
    }
  }
  if (is_live) {
    live.push_back({number, threads.empty() ? 0u : 1u, size_bytes, 0, 0});
    live_bytes_ += sum.bytes;
  } else {
    ++row.freed_blocks;
    row.freed_bytes += size_bytes;
  }
  if (fate != Fate::kLives) {
    const EventKind kind = fate == Fate::kDies        ? EventKind::kFreed
                           : fate == Fate::kDiesYoung ? EventKind::kDiedYoung
                                                      : EventKind::kPromoted;
    events.push_back(
        {number, static_cast<uint8_t>(kind), 0, log2_bytes, log2_nanos, 1, size_bytes});
  }
  return number;
}

void RecordedProcess::MarkPeak() {
  for (uint32_t& epoch : record.peak_epoch) ++epoch;
  record.peak_bytes = static_cast<uint64_t>(std::llround(live_bytes_));
  record.peak_nanos = record.last_nanos;
}

void RecordedProcess::Save(uint32_t row, uint32_t half, uint64_t blocks, uint64_t bytes) {
  saved.push_back({blocks, bytes});
  rows[row - 1].saved[half] = NumberOfLast(saved);
  rows[row - 1].peak_epoch[half] = record.peak_epoch[half];
}

std::string BytesOf(const std::vector<RecordedProcess>& processes) {
  FileBuilder file;
  for (const RecordedProcess& process : processes) file.Add(process);
  return file.Finish();
}

RecordedProcess RandomProcess(uint32_t pid, uint64_t seed, uint32_t stacks, uint32_t depth) {
  RecordedProcess process(pid, 1e-3, "/nowhere/program");
  process.AddModule(0x400000, 0x500000, 0, "", "0123456789abcdef0123");
  process.AddModule(0x7f0000000000, 0x7f0000100000, 0x7f0000000000, "/nowhere/library.so", "");
  process.modules.back().file_known = static_cast<uint8_t>(FileState::kElsewhere);
  process.AddModule(0x7f0000200000, 0x7f0000300000, 0x7f0000200000, "/nowhere/other.so", "");
  process.modules.back().file_known = static_cast<uint8_t>(FileState::kAtPath);
  const FileIdentity file = {64768, 173521, 1 << 20, 1'700'000'000'123'456'789};
  std::memcpy(process.modules.back().build_id, &file, sizeof(file));
  process.AddThread(pid, "main");
  process.timeline.push_back({1000, 10, 5, 7});
  // The blocks are born at 0.
  const TextRef scope =
      process.AddText(std::string("tenant\0"
                                  "0\0",
                                  9));
  for (uint32_t i = 0; i < 6; ++i) process.scopes.push_back({1, i / 4, scope, i / 3, i * 100});
  process.scopes.push_back({});
  process.scopes.push_back({kEveryThread, 0, scope, 0, 300});
  for (uint32_t i = 0; i < kShortages; ++i) process.record.missing[i] = i * i;
  process.threads[0].last_nanos = process.record.last_nanos + 5;
  std::mt19937_64 random(seed);
  std::vector<uint64_t> addresses;
  for (uint32_t i = 0; i < stacks; ++i) {
    // Some outer frames are shared with the previous stack.
    addresses.resize(addresses.size() -
                     std::min<size_t>(addresses.size(), 1 + random() % depth / 2));
    while (addresses.size() < depth) {
      const uint64_t base = random() % 2 == 0 ? 0x400000 : 0x7f0000000000;
      addresses.push_back(base + 1 + random() % 10000);
    }
    const uint32_t node = process.AddStack(addresses);
    const std::string tenant = "tenant" + std::string(1, '\0') + std::to_string(i % 7);
    process.SetLabels(i % 3 == 0 ? tenant + std::string(1, '\0') : "");
    const uint64_t halves = 1 + random() % 3;
    process.SetFlags(static_cast<uint8_t>(random() % 4 | halves << 2));
    process.AddBlock(node, random() % 5000, static_cast<Fate>(random() % 4),
                     static_cast<uint8_t>(random() % 40), static_cast<uint8_t>(random() % 40));
  }
  process.AddBlock(process.AddNamedFrame("evaluate\tscript.py\t12", 1), 64, Fate::kDies);
  process.MarkPeak();
  for (uint32_t i = 0; i < process.rows.size(); i += 5) {
    process.Save(i + 1, random() % kHalves, 1 + random() % 3, random() % 10000);
  }
  return process;
}

}  // namespace allomon::recording
