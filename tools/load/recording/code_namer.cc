#include "tools/load/recording/code_namer.h"

#include <algorithm>
#include <utility>

#include "tracker/base/check.h"

namespace allomon::recording {

CodeNamer::CodeNamer(const CodeIdentity& code, const NameSources& sources)
    : code_(code), sources_(sources), key_(PackKeyOf(code)) {}

std::vector<CodeFrame> CodeNamer::At(uint64_t address) {
  uint64_t start = 0;
  std::vector<CodeFrame> packed;
  const bool is_packed = PackedFramesAt(sources_, key_, address, code_.path, &start, &packed);
  const bool is_named = is_packed && packed.front().named;
  if (is_named || File() == nullptr) {
    misses_ |= !is_packed;
    Collect(address, start, packed);
    return packed;
  }
  const uint64_t start_in_file = found_.file->StartOf(address);
  std::vector<CodeFrame> frames = found_.file->At(address, start_in_file);
  ALLOMON_DCHECK("inv.load.asked", !frames.empty());
  if (is_packed && !frames.front().named) {
    Collect(address, start, packed);
    return packed;
  }
  // The file may have been found under another name.
  for (CodeFrame& frame : frames) {
    if (!frame.named) frame.name = NameByAddress(code_.path, start_in_file);
  }
  Collect(address, start_in_file, frames);
  return frames;
}

std::vector<LoadedSegment> CodeNamer::Segments() {
  std::vector<LoadedSegment> segments = PackedSegments(sources_, code_.build_id, code_.path);
  if (segments.empty() && File() != nullptr) segments = File()->Segments();
  return segments;
}

const CodeFile* CodeNamer::File() {
  if (!std::exchange(is_looked_for_, true)) {
    found_ = FindCode(code_, sources_.debug_dir);
    if (sources_.server != nullptr && !code_.build_id.empty()) Fetch();
    // Code that is in no file has no note.
    const bool is_missing = found_.file == nullptr && !found_.note.empty();
    if (is_missing && sources_.collected != nullptr) sources_.collected->AddMissing(code_.path);
  }
  return found_.file.get();
}

void CodeNamer::Fetch() {
  // The kernel's own code is in no file.
  if (code_.path.find('/') == std::string::npos) return;
  if (found_.file != nullptr && found_.file->HasDebugInformation()) return;
  CodeServer& server = *sources_.server;
  bool is_new = server.Fetch(code_.build_id, CodeServer::What::kDebugInformation, code_.path);
  // A debug file lacks the table of unwinding and the segments' places in the file.
  if (found_.file == nullptr) {
    is_new |= server.Fetch(code_.build_id, CodeServer::What::kProgram, code_.path);
  }
  if (is_new) found_ = FindCode(code_, sources_.debug_dir);
}

void CodeNamer::Collect(uint64_t address, uint64_t start, const std::vector<CodeFrame>& frames) {
  if (sources_.collected == nullptr || frames.empty()) return;
  if (!std::exchange(is_collected_, true)) {
    std::vector<LoadedSegment> segments = PackedSegments(sources_, code_.build_id, code_.path);
    if (segments.empty() && found_.file != nullptr) segments = found_.file->Segments();
    sources_.collected->AddCode(key_, code_.path, code_.is_program, std::move(segments));
  }
  sources_.collected->AddAddress(key_, address, start, frames);
}

heap::Function FunctionOf(const CodeFrame& frame) {
  return {frame.name, frame.symbol == frame.name ? "" : frame.symbol, frame.file,
          static_cast<uint32_t>(std::max(frame.start_line, 0))};
}

}  // namespace allomon::recording
