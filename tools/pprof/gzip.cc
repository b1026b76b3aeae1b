#include "tools/pprof/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <memory>

namespace allomon::pprof {
namespace {

constexpr int kGzipWindow = 15 + 16;  // the largest window, and gzip's header and trailer
constexpr int kLevel = 3;
constexpr int kMemoryLevel = 9;
constexpr size_t kBufferBytes = size_t{1} << 18;

// zlib counts in 32 bits, and its input pointer is not const.
void Feed(std::string_view* bytes, z_stream* stream) {
  const size_t size = std::min<size_t>(bytes->size(), INT_MAX);
  stream->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes->data()));
  stream->avail_in = static_cast<uInt>(size);
}

void DropFed(const z_stream& stream, std::string_view* bytes) {
  bytes->remove_prefix(reinterpret_cast<const char*>(stream.next_in) - bytes->data());
}

struct Output {
  explicit Output(z_stream* stream) : stream(stream), buffer(new char[kBufferBytes]) {}

  void Offer() {
    stream->next_out = reinterpret_cast<Bytef*>(buffer.get());
    stream->avail_out = kBufferBytes;
  }
  std::string_view Written() const { return {buffer.get(), kBufferBytes - stream->avail_out}; }

  z_stream* stream;
  std::unique_ptr<char[]> buffer;
};

struct Inflater {
  Inflater() { ok = inflateInit2(&stream, kGzipWindow) == Z_OK; }
  ~Inflater() { inflateEnd(&stream); }

  z_stream stream = {};
  bool ok = false;
};

struct Deflater {
  Deflater() {
    ok = deflateInit2(&stream, kLevel, Z_DEFLATED, kGzipWindow, kMemoryLevel, Z_DEFAULT_STRATEGY) ==
         Z_OK;
  }
  ~Deflater() { deflateEnd(&stream); }

  z_stream stream = {};
  bool ok = false;
};

absl::Status Damaged(const char* why) {
  return absl::InvalidArgumentError(std::string("is a damaged gzip file (") + why +
                                    "): make or copy it again");
}

absl::Status CutShort() {
  return absl::InvalidArgumentError("is a gzip file that is cut short: make or copy it again");
}

absl::Status TooLarge(size_t max_bytes) {
  return absl::InvalidArgumentError("has more than " + std::to_string(max_bytes >> 20) +
                                    " MiB when uncompressed: record fewer stacks (--limit)");
}

bool IsPadding(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == 0; });
}

// Decompresses one member and removes it from the front of `file`.
absl::Status InflateMember(size_t max_bytes, Inflater* inflater, Output* output,
                           std::string_view* file, std::string* contents) {
  for (;;) {
    Feed(file, &inflater->stream);
    output->Offer();
    const int result = inflate(&inflater->stream, Z_NO_FLUSH);
    DropFed(inflater->stream, file);
    const std::string_view written = output->Written();
    if (written.size() > max_bytes - contents->size()) return TooLarge(max_bytes);
    contents->append(written);
    if (result == Z_STREAM_END) return absl::OkStatus();
    if (result == Z_DATA_ERROR || result == Z_NEED_DICT) return Damaged("its checksum differs");
    if (result == Z_MEM_ERROR) return absl::ResourceExhaustedError("needs more memory");
    if (file->empty() && written.empty()) return CutShort();
  }
}

}  // namespace

std::string Gzip(std::string_view bytes) {
  Deflater deflater;
  std::string file;
  if (!deflater.ok) return file;
  Output output(&deflater.stream);
  int result = Z_OK;
  while (result != Z_STREAM_END) {
    Feed(&bytes, &deflater.stream);
    const bool is_last = deflater.stream.avail_in == bytes.size();
    output.Offer();
    result = deflate(&deflater.stream, is_last ? Z_FINISH : Z_NO_FLUSH);
    DropFed(deflater.stream, &bytes);
    file.append(output.Written());
  }
  return file;
}

bool IsGzip(std::string_view first_bytes) { return first_bytes.substr(0, 3) == "\x1f\x8b\x08"; }

absl::StatusOr<std::string> Gunzip(std::string_view file, size_t max_bytes) {
  Inflater inflater;
  if (!inflater.ok) return absl::ResourceExhaustedError("needs more memory");
  Output output(&inflater.stream);
  std::string contents;
  do {
    const absl::Status status = InflateMember(max_bytes, &inflater, &output, &file, &contents);
    if (!status.ok()) return status;
    inflateReset(&inflater.stream);
  } while (!file.empty() && !IsPadding(file));
  return contents;
}

}  // namespace allomon::pprof
