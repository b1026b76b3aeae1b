// Control pages, from both sides.  An input is a page: a command reads it as the page of a hostile
// process, and the process executes its request as that of a hostile command.
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <memory>

#include "tests/fuzz/target.h"
#include "tools/control/page_client.h"
#include "tracker/control/orders.h"
#include "tracker/formats/control_layout.h"
#include "tracker/formats/control_names.h"

namespace allomon::fuzz {
namespace {

using control::Page;

template <size_t kBytes>
std::string TextOf(const char (&text)[kBytes]) {
  return std::string(text, strnlen(text, kBytes));
}

// The page of this process, which is removed when the process ends.
class PageFile {
 public:
  PageFile()
      : path_(control::kFolders[0] +
              std::string(control::ControlStemOf(static_cast<uint32_t>(getpid()),
                                                 control::OwnPidNamespace())
                              .text) +
              control::kNameSuffix),
        file_(open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {
    Require(file_ >= 0, "a page can be made", path_);
  }
  ~PageFile() {
    unlink(path_.c_str());
    close(file_);
  }
  PageFile(const PageFile&) = delete;
  PageFile& operator=(const PageFile&) = delete;

  void Write(const void* bytes, size_t size) {
    Require(ftruncate(file_, 0) == 0, "a page can be cut");
    Require(pwrite(file_, bytes, size, 0) == static_cast<ssize_t>(size), "a page can be written");
  }

 private:
  const std::string path_;
  const int file_;
};

uint64_t BootNanos() {
  timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// Tests the command's side.  Returns whether it accepts the page.
bool CheckClient(std::string_view input) {
  // One for each process: libFuzzer's jobs are processes.
  static PageFile file;
  std::string bytes(input);
  Page page = {};
  memcpy(&page, bytes.data(), std::min(bytes.size(), sizeof(page)));
  // No input has these by chance.
  page.pid = static_cast<uint32_t>(getpid());
  page.made_at_nanos = BootNanos();
  memcpy(bytes.data(), &page, std::min(bytes.size(), sizeof(page)));
  file.Write(bytes.data(), bytes.size());
  const auto client = control::PageClient::Open(static_cast<uint32_t>(getpid()));
  if (!client.ok()) {
    Require(!client.status().message().empty(), "a refusal has a reason");
    return false;
  }
  const auto state = (*client)->Read();
  if (!state.ok()) return false;
  (*client)->PathFromHere(state->recording);
  Require(state->recording == TextOf(page.reply.recording), "a text ends at its zero");
  Require(state->refusal == TextOf(page.reply.text), "a text ends within its room");
  const auto number = (*client)->Send(control::Order{});
  Require(!number.ok() || *number != 0, "a request has a number");
  return true;
}

// Tests the process's side.  The recording that a request asks for goes into a separate folder,
// whatever its path says.
class Host {
 public:
  Host() {
    Require(mkdtemp(folder_) != nullptr, "a folder can be made");
    control::AttendOptions options;
    options.path = "";
    Require(orders_.SetDefaults(options), "a path fits");
    orders_.SetPlace(folder_, 0);
  }
  ~Host() { rmdir(folder_); }

  void Check(const control::Request& asked) {
    control::Request request = asked;
    Confine(asked, &request);
    control::Reply reply = {};
    orders_.CarryOut(request, &reply);
    Require(reply.number == request.number, "a reply is to its request");
    Require(reply.answer != control::Answer::kNone, "a request has an answer");
    Require(reply.answer == control::Answer::kDone || reply.text[0] != '\0',
            "a refusal has a reason");
    Require((reply.answer == control::Answer::kDone && request.verb != control::Verb::kStop) ==
                (reply.state == control::State::kRecording),
            "it records if that was done");
    unlink(TextOf(reply.recording).c_str());
    if (reply.state == control::State::kRecording) Stop();
  }

 private:
  // The attending process also ends the path at a zero.
  void Confine(const control::Request& asked, control::Request* request) const {
    std::string name = TextOf(asked.path);
    name.resize(std::min(name.size(), sizeof(asked.path) - 64));
    for (char& c : name) c = c == '/' ? '_' : c;
    const std::string path = name.empty() ? "" : std::string(folder_) + "/" + name;
    memset(request->path, 0, sizeof(request->path));
    memcpy(request->path, path.data(), path.size());
  }

  void Stop() {
    control::Request request = {};
    request.verb = control::Verb::kStop;
    control::Reply reply = {};
    orders_.CarryOut(request, &reply);
    Require(reply.answer == control::Answer::kDone, "what records can be stopped");
    unlink(TextOf(reply.recording).c_str());
  }

  char folder_[40] = "/dev/shm/allomon-fuzz-XXXXXX";
  control::Orders orders_;
};

bool CheckPage(std::string_view input) {
  static Host host;
  const bool is_believed = CheckClient(input);
  control::Request request = {};
  if (input.size() <= offsetof(Page, request)) return is_believed;
  const std::string_view asked = input.substr(offsetof(Page, request));
  memcpy(&request, asked.data(), std::min(asked.size(), sizeof(request)));
  host.Check(request);
  return is_believed;
}

}  // namespace

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (const control::Verb verb : {control::Verb::kStart, control::Verb::kStop}) {
    auto page = std::make_unique<Page>();
    memcpy(page->magic, control::kMagic, sizeof(page->magic));
    page->version = control::kLayoutVersion;
    page->size_bytes = sizeof(Page);
    strcpy(page->library_version, "0.2.0");
    page->request.number = 3;
    page->request.verb = verb;
    page->request.rate = 1e-3;
    strcpy(page->request.path, "x.%p.rec");
    page->reply.sequence = 4;
    page->reply.number = 2;
    page->reply.answer = control::Answer::kRefused;
    page->reply.rate = 1e-4;
    strcpy(page->reply.recording, "/tmp/x.rec");
    strcpy(page->reply.text, "it does not record");
    seeds.emplace_back(reinterpret_cast<const char*>(page.get()), sizeof(Page));
  }
  return seeds;
}

}  // namespace allomon::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace allomon::fuzz;
  return Done(CheckPage(TextOf(data, size)));
}
