// https by libcurl.  It is loaded when it is asked for, so that commands neither need it nor bring
// a library of cryptography that somebody else has to keep up to date.
#include <dlfcn.h>

#include <memory>
#include <string>
#include <string_view>

#include "tools/serve/frame.h"
#include "tools/serve/push_post.h"

namespace allomon::serve {
namespace {

// Numbers of libcurl's binary interface, which is stable.
enum CurlOption : int {
  kTimeout = 13,
  kPostSize = 60,
  kConnectTimeout = 78,
  kNoSignal = 99,
  kWriteData = 10001,
  kUrl = 10002,
  kErrorText = 10010,
  kPostFields = 10015,
  kHttpHeader = 10023,
  kHeaderData = 10029,
  kCertificates = 10065,
  kWriteFunction = 20011,
  kHeaderFunction = 20079,
};
constexpr int kResponseCode = 0x200002;
constexpr size_t kErrorBytes = 256;
constexpr long kConnectSeconds = 5;
constexpr long kMostSeconds = 25;

struct Curl {
  void* (*init)();
  int (*set)(void* handle, int option, ...);
  int (*perform)(void* handle);
  int (*get)(void* handle, int info, ...);
  const char* (*error)(int code);
  void (*end)(void* handle);
  void* (*append)(void* list, const char* text);
  void (*free_list)(void* list);
};

template <typename Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

// The library stays loaded: it may have threads.
bool Load(Curl* curl) {
  for (const char* const name : {"libcurl.so.4", "libcurl-gnutls.so.4"}) {
    void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    return Find(library, "curl_easy_init", &curl->init) &&
           Find(library, "curl_easy_setopt", &curl->set) &&
           Find(library, "curl_easy_perform", &curl->perform) &&
           Find(library, "curl_easy_getinfo", &curl->get) &&
           Find(library, "curl_easy_strerror", &curl->error) &&
           Find(library, "curl_easy_cleanup", &curl->end) &&
           Find(library, "curl_slist_append", &curl->append) &&
           Find(library, "curl_slist_free_all", &curl->free_list);
  }
  return false;
}

size_t AppendBody(const char* bytes, size_t size, size_t count, void* to) {
  static_cast<RawAnswer*>(to)->body.append(bytes, size * count);
  return size * count;
}

// Stores the value if the line is of that header, in any case of letters.
void StoreHeader(std::string_view line, std::string_view name, std::string* value) {
  const size_t colon = line.find(':');
  if (colon == line.npos || !EqualsInAnyCase(line.substr(0, colon), name)) return;
  *value = Trimmed(line.substr(colon + 1));
}

size_t AddHeader(const char* bytes, size_t size, size_t count, void* to) {
  RawAnswer* const answer = static_cast<RawAnswer*>(to);
  const std::string_view line(bytes, size * count);
  StoreHeader(line, "Retry-After", &answer->retry_after);
  StoreHeader(line, "Content-Type", &answer->type);
  return size * count;
}

}  // namespace

bool HasHttps() {
  const Reply reply = MakeBounded(
      [] {
        Curl curl;
        return TextReply(Load(&curl) ? 200 : 501, "");
      },
      WorkLimits(), nullptr);
  return reply.status == 200;
}

RawAnswer PostByCurl(const Endpoint& endpoint, const std::string& body) {
  RawAnswer answer;
  Curl curl;
  if (!Load(&curl)) {
    answer.problem = "libcurl has gone";
    return answer;
  }
  const std::unique_ptr<void, void (*)(void*)> handle(curl.init(), curl.end);
  void* list = nullptr;
  const auto add = [&](const std::string& line) { list = curl.append(list, line.c_str()); };
  add("Content-Type: application/x-protobuf");
  add("Content-Encoding: gzip");
  add("User-Agent: allomon");
  add("Expect:");  // a collector need not know 100-continue
  for (const auto& [name, value] : endpoint.headers) add(name + ": " + value);
  const std::unique_ptr<void, void (*)(void*)> headers(list, curl.free_list);
  char error[kErrorBytes] = "";
  const std::string url = endpoint.Url();
  void* const self = handle.get();
  curl.set(self, kNoSignal, 1L);
  curl.set(self, kUrl, url.c_str());
  curl.set(self, kPostFields, body.data());
  curl.set(self, kPostSize, static_cast<long>(body.size()));
  curl.set(self, kHttpHeader, list);
  curl.set(self, kConnectTimeout, kConnectSeconds);
  curl.set(self, kTimeout, kMostSeconds);
  curl.set(self, kErrorText, error);
  curl.set(self, kWriteFunction, AppendBody);
  curl.set(self, kWriteData, &answer);
  curl.set(self, kHeaderFunction, AddHeader);
  curl.set(self, kHeaderData, &answer);
  if (!endpoint.certificates.empty()) {
    curl.set(self, kCertificates, endpoint.certificates.c_str());
  }
  const int failed = curl.perform(self);
  long status = 0;
  curl.get(self, kResponseCode, &status);
  if (failed == 0) {
    answer.status = static_cast<int>(status);
  } else {
    answer.problem = error[0] != '\0' ? error : curl.error(failed);
  }
  return answer;
}

}  // namespace allomon::serve
