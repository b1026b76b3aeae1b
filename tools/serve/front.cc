#include "tools/serve/front.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tools/serve/connection.h"
#include "tools/serve/workers.h"

namespace allomon::serve {
namespace {

using Clock = std::chrono::steady_clock;
using State = Connection::State;

constexpr FrontLimits::Milliseconds kDrainTime{1'000};
// Pauses accepting when no descriptor is free, because accept(2) would fail again and again at
// once.
constexpr FrontLimits::Milliseconds kPause{100};
constexpr int kMostAccepted = 64;  // before other connections get their turn

}  // namespace

class Front::Connections {
 public:
  Connections(int listening, const FrontLimits& limits, Answer answer)
      : listening_(listening),
        limits_(limits),
        workers_(limits.threads, limits.unsent_bytes / 2, std::move(answer)) {}
  ~Connections() { close(listening_); }
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  // Handles the events of one poll.  False when `stop` is readable.
  bool Turn(int stop) {
    Poll(stop);
    if (polled_[0].revents != 0) return false;
    for (size_t i = kFixed; i < polled_.size(); ++i) Handle(at_[i - kFixed], polled_[i].revents);
    if (polled_[1].revents != 0) TakeAnswers();
    if (polled_[2].revents != 0) Accept();
    EndLate();
    BoundUnsent();
    EraseEnded();
    return true;
  }

 private:
  static constexpr size_t kFixed = 3;  // stop, answers, the listening socket

  void Poll(int stop) {
    const bool pauses = Clock::now() < accepts_again_;
    const short accepts = pauses ? 0 : POLLIN;
    polled_ = {{stop, POLLIN, 0}, {workers_.done_fd(), POLLIN, 0}, {listening_, accepts, 0}};
    at_.clear();
    for (const auto& [id, connection] : all_) {
      polled_.push_back({connection->fd(), connection->events(), 0});
      at_.push_back(connection.get());
    }
    if (poll(polled_.data(), polled_.size(), WaitMilliseconds(pauses)) >= 0) return;
    for (pollfd& each : polled_) each.revents = 0;  // poll() was interrupted
  }

  int WaitMilliseconds(bool pauses) const {
    Clock::time_point next = Clock::time_point::max();
    for (const Connection* const connection : at_) next = std::min(next, connection->deadline());
    if (pauses) next = std::min(next, accepts_again_);
    if (next == Clock::time_point::max()) return -1;
    const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(next - Clock::now());
    return static_cast<int>(std::max<int64_t>(0, wait.count())) + 1;
  }

  void SetState(Connection* connection, FrontLimits::Milliseconds time) {
    const auto now = Clock::now();
    connection->SetTimes(now, now + time);
  }

  void Handle(Connection* connection, short events) {
    if (events == 0) return;
    const bool was_idle = connection->is_idle();
    if ((events & POLLOUT) != 0) {
      connection->Send();
      AfterSending(connection);
    } else if ((events & POLLIN) != 0) {
      connection->Receive();
      if (was_idle && !connection->is_idle()) SetState(connection, limits_.request_time);
      Look(connection);
    } else if (events == POLLRDHUP) {
      AfterClosing(connection);
    } else {
      connection->End();  // an error, or the client has gone: cancels the answer
    }
  }

  // Shortens the deadline of a client that has closed its side.  It may still wait for the answer,
  // or have gone; only sending would show which.  So it gets an answer that is ready soon.
  void AfterClosing(Connection* connection) {
    connection->NoteClosed();
    connection->SetTimes(connection->since(),
                         std::min(connection->deadline(), Clock::now() + limits_.closed_time));
  }

  // Handles the client's input, if it is a whole request or a wrong one.
  void Look(Connection* connection) {
    if (connection->state() != State::kReads || connection->is_idle()) return;
    const Frame frame = connection->NextFrame();
    if (frame.state == Frame::State::kRefused) Send(connection, Refusal(frame.status));
    if (frame.state == Frame::State::kWhole) Ask(connection, frame);
  }

  void Ask(Connection* connection, const Frame& frame) {
    Job job;
    job.id = connection->id();
    job.request = connection->TakeRequest(frame);
    job.head_bytes = frame.head_bytes;
    job.is_quick = limits_.is_quick != nullptr && limits_.is_quick(job.request);
    SetState(connection, limits_.answer_time);
    workers_.Add(std::move(job));
  }

  void Send(Connection* connection, Response response) {
    SetState(connection, limits_.send_time);
    connection->Begin(std::move(response));
    AfterSending(connection);
  }

  void AfterSending(Connection* connection) {
    if (connection->state() == State::kDrains) SetState(connection, kDrainTime);
    if (connection->state() != State::kReads) return;
    SetState(connection, connection->is_idle() ? limits_.idle_time : limits_.request_time);
    Look(connection);  // the next request may already be in the input
  }

  void TakeAnswers() {
    for (Done& done : workers_.TakeDone()) {
      const auto found = all_.find(done.id);
      if (found == all_.end() || found->second->state() != State::kWaits) continue;
      Send(found->second.get(), std::move(done.response));
    }
  }

  void Accept() {
    for (int i = 0; i < kMostAccepted; ++i) {
      const int fd = accept4(listening_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) return Pause(errno);
      if (all_.size() >= limits_.connections && !EndLongestReading()) {
        close(fd);
        continue;
      }
      auto connection = std::make_unique<Connection>(fd, ++last_id_);
      SetState(connection.get(), limits_.request_time);
      all_.emplace(last_id_, std::move(connection));
    }
  }

  void Pause(int error) {
    if (error == EAGAIN || error == EWOULDBLOCK || error == EINTR || error == ECONNABORTED) return;
    EndLongestReading();
    accepts_again_ = Clock::now() + kPause;
  }

  // Ends the connection that has waited for a request longest.  False if all of them wait for
  // answers or are sending.
  bool EndLongestReading() {
    Connection* longest = nullptr;
    for (const auto& [id, connection] : all_) {
      if (connection->state() != State::kReads && connection->state() != State::kDrains) continue;
      if (longest == nullptr || connection->since() < longest->since()) longest = connection.get();
    }
    if (longest == nullptr) return false;
    all_.erase(longest->id());
    return true;
  }

  void EndLate() {
    const auto now = Clock::now();
    for (const auto& [id, connection] : all_) {
      if (connection->deadline() <= now) connection->End();
    }
  }

  // Ends connections when unsent responses take too many bytes.  Counts a text that several clients
  // get once, with the connection that began to send last.
  void BoundUnsent() {
    std::vector<Connection*> sending;
    for (const auto& [id, connection] : all_) {
      if (connection->state() == State::kSends) sending.push_back(connection.get());
    }
    const auto is_later = [](const Connection* a, const Connection* b) {
      return a->since() > b->since();
    };
    std::sort(sending.begin(), sending.end(), is_later);
    std::set<const std::string*> texts;
    size_t bytes = 0;
    for (Connection* const connection : sending) {
      const Response& response = connection->response();
      if (texts.insert(response.body.get()).second) bytes += response.size();
      if (bytes > limits_.unsent_bytes && connection != sending.front()) connection->End();
    }
  }

  void EraseEnded() {
    for (auto each = all_.begin(); each != all_.end();) {
      const bool has_ended = each->second->state() == State::kHasEnded;
      if (has_ended) workers_.Cancel(each->first);
      each = has_ended ? all_.erase(each) : std::next(each);
    }
  }

  const int listening_;
  const FrontLimits limits_;
  std::map<uint64_t, std::unique_ptr<Connection>> all_;
  uint64_t last_id_ = 0;
  Clock::time_point accepts_again_;
  std::vector<pollfd> polled_;
  std::vector<Connection*> at_;  // connections of `polled_`, without the fixed ones
  Workers workers_;
};

Front::Front(int listening, const FrontLimits& limits, Answer answer)
    : connections_(std::make_unique<Connections>(listening, limits, std::move(answer))) {}

Front::~Front() = default;

void Front::Run(int stop) {
  while (connections_->Turn(stop)) {
  }
}

}  // namespace allomon::serve
