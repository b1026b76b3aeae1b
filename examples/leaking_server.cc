// A server that leaks: it serves requests for ever, and does not close the session of every third.
// It knows nothing of Allomon.  README.md shows how to find the leak while it runs.
#include <unistd.h>

#include <cstdio>
#include <map>
#include <memory>
#include <string>

struct Session {
  std::string user;
  char buffer[2000];
};

class Server {
 public:
  void Serve(int request) {
    OpenSession(request);
    answered_bytes_ += Answer(request).size();
    if (request % 3 != 0) CloseSession(request);
  }

 private:
  __attribute__((noinline)) void OpenSession(int request) {
    sessions_[request] = std::make_unique<Session>();
    sessions_[request]->user = "user " + std::to_string(request);
  }
  __attribute__((noinline)) void CloseSession(int request) { sessions_.erase(request); }
  __attribute__((noinline)) std::string Answer(int request) {
    std::string page;
    for (int i = 0; i < 500; ++i) page += std::to_string(i * request);
    return page;
  }

  std::map<int, std::unique_ptr<Session>> sessions_;
  size_t answered_bytes_ = 0;
};

int main() {
  Server server;
  for (int request = 0;; ++request) {
    server.Serve(request);
    if (request % 10 == 0) usleep(10000);
  }
}
