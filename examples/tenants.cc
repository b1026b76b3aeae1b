// A server with fifty tenants, one of which leaks an answer in a hundred.
//
//   allomon run -o tenants.pb.gz -- bazel-bin/examples/tenants
//   allomon report --by=label:tenant tenants.pb.gz
//   allomon report --leaks --by=label:tenant tenants.pb.gz
//
// Labels are set by scopes; tasks carry them along.  Nothing of Allomon is linked: without `allomon
// run` (or LD_PRELOAD) scopes do nothing.
#include <allomon/labels.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kTenants = 50;
constexpr int kLeakingTenant = 17;

using Answer = std::vector<char>;

// A queue of work for later, which keeps the labels of the submitter.
class LaterQueue {
 public:
  void Push(std::function<void()> task) {
    tasks_.push_back({std::move(task), allomon::CurrentLabels()});
  }
  void RunAll() {
    for (const Task& task : tasks_) {
      const allomon::WithLabels labels(task.labels);
      task.run();
    }
    tasks_.clear();
  }

 private:
  struct Task {
    std::function<void()> run;
    allomon::Labels labels;
  };
  std::vector<Task> tasks_;
};

class Server {
 public:
  void Serve(int request) {
    const std::string name = "tenant-" + std::to_string(request % kTenants);
    const allomon::ScopedLabel tenant("tenant", name);
    const allomon::ScopedLabel phase("phase", "answer");
    Cache(name, Answer(4000));
    later_.Push([this, name] { log_[name].append(40, '.'); });
    const bool is_leaking = request % kTenants == kLeakingTenant;
    if (is_leaking && request / kTenants % 100 == 0) leaked_.push_back(new Answer(4000));
  }

  void Later() {
    later_.RunAll();
    for (auto& [name, text] : log_) text.clear();
  }
  size_t leaked() const { return leaked_.size(); }

 private:
  void Cache(const std::string& name, Answer answer) {
    std::deque<Answer>& cache = caches_[name];
    cache.push_back(std::move(answer));
    if (cache.size() > 16) cache.pop_front();
  }

  std::map<std::string, std::deque<Answer>> caches_;
  std::map<std::string, std::string> log_;
  std::vector<Answer*> leaked_;
  LaterQueue later_;
};

}  // namespace

// tenants [SECONDS]
int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  Server server;
  int requests = 0;
  while (std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < 1000; ++i) server.Serve(requests++);
    server.Later();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  std::printf("%d requests, %zu answers leaked\n", requests, server.leaked());
}
