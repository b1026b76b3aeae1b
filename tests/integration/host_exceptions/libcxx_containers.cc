// Containers that grow, on three threads.  Compiled by libcxx_host_test with libc++.
#include <string>
#include <thread>
#include <vector>

extern "C" __attribute__((noinline)) void Fill(std::vector<std::string>* texts) {
  for (int i = 0; i < 1000; ++i) texts->push_back(std::string(100, 'x'));
}

int main() {
  std::vector<std::string> texts[3];
  std::vector<std::thread> threads;
  for (auto& own : texts) threads.emplace_back(Fill, &own);
  for (std::thread& thread : threads) thread.join();
  return texts[2].size() == 1000 ? 0 : 1;
}
