#include "executor/control/client.h"

#include <fmt/format.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

#include "executor/net/endpoint.h"

namespace transload {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

constexpr double kBeatsPerTimeout = 6;
constexpr double kAnswer_s = 30;  // for what the service answers at once
constexpr auto kRetry = std::chrono::milliseconds(50);

Clock::duration duration(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// The service may start a little later than its clients.
tcp::socket connect(asio::io_context& io, const std::string& endpoint, double timeout_s) {
  const auto deadline = Clock::now() + duration(timeout_s);
  while (true) {
    tcp::socket socket(io);
    error_code error;
    socket.connect(endpoint_from_text(endpoint), error);
    if (!error) return socket;
    if (Clock::now() >= deadline)
      throw RunFailure(fmt::format("the control service at {} cannot be reached: {}", endpoint,
                                   error.message()));
    std::this_thread::sleep_for(kRetry);
  }
}

}  // namespace

ControlClient::ControlClient(const std::string& endpoint, std::int32_t process, std::uint64_t epoch,
                             double beat_timeout_s, double timeout_s)
    : epoch_(epoch),
      beat_timeout_s_(beat_timeout_s),
      work_(asio::make_work_guard(io_)),
      beat_(io_),
      lines_(std::make_shared<Lines>(connect(io_, endpoint, timeout_s))),
      heard_(Clock::now()) {
  lines_->start([this](const nlohmann::json& line) { take(line); },
                [this] { lose_service("its connection ended"); });
  lines_->write({{"call", "join"}, {"process", process}});
  beat();
  thread_ = std::jthread([this] { io_.run(); });
}

ControlClient::~ControlClient() {
  asio::post(io_, [this] { io_.stop(); });
  thread_.join();
}

void ControlClient::write(nlohmann::json line) {
  asio::post(io_, [this, line = std::move(line)] { lines_->write(line); });
}

void ControlClient::beat() {
  if (Clock::now() - heard_ > duration(beat_timeout_s_))
    return lose_service(fmt::format("it was silent for {} s", beat_timeout_s_));
  lines_->write({{"call", "beat"}});
  beat_.expires_after(duration(beat_timeout_s_ / kBeatsPerTimeout));
  beat_.async_wait([this](error_code error) {
    if (!error) beat();
  });
}

void ControlClient::take(const nlohmann::json& line) {
  heard_ = Clock::now();
  if (const auto verdict = line.find("verdict"); verdict != line.end())
    return judge({verdict->at("epoch").get<std::uint64_t>(),
                  verdict->at("dead").get<std::vector<std::int32_t>>(),
                  verdict->at("reason").get<std::string>()});
  const std::lock_guard lock(mutex_);
  if (line.contains("refused")) refused_ = line.at("refused").get<std::string>();
  if (line.contains("id")) answers_[line.at("id").get<std::int64_t>()] = line.at("value");
  changed_.notify_all();
}

void ControlClient::lose_service(const std::string& how) {
  {
    const std::lock_guard lock(mutex_);
    if (left_) return;
  }
  judge({epoch_ + 1, {}, "the control service is lost: " + how});
}

void ControlClient::judge(const Verdict& verdict) {
  {
    const std::lock_guard lock(mutex_);
    if (verdict_) return;
    verdict_ = verdict;
    changed_.notify_all();
  }
  const std::lock_guard lock(watch_mutex_);
  if (fallen_) std::exchange(fallen_, nullptr)(verdict);
}

void ControlClient::watch(std::function<void(const Verdict&)> fallen) {
  const std::lock_guard lock(watch_mutex_);
  std::optional<Verdict> verdict;
  {
    const std::lock_guard state(mutex_);
    verdict = verdict_;
  }
  if (verdict && fallen)
    fallen(*verdict);
  else
    fallen_ = std::move(fallen);
}

nlohmann::json ControlClient::ask(nlohmann::json line, double timeout_s) {
  std::unique_lock lock(mutex_);
  const std::int64_t id = ++last_id_;
  line["id"] = id;
  const std::string what = line.value("key", "");
  const bool judged = verdict_.has_value();  // before: what is asked now is about the aftermath
  write(std::move(line));
  changed_.wait_for(lock, std::chrono::duration<double>(timeout_s),
                    [&] { return answers_.count(id) > 0 || (verdict_ && !judged) || refused_; });
  if (const auto found = answers_.find(id); found != answers_.end()) {
    nlohmann::json answer = std::move(found->second);
    answers_.erase(found);
    return answer;
  }
  if (verdict_ && !judged) throw PeerLost(*verdict_);
  if (refused_) throw RunFailure("the control service refused: " + *refused_);

  throw RunFailure(fmt::format("nothing came of '{}' within {} s", what, timeout_s));
}

void ControlClient::put(const std::string& key, const std::string& value) {
  write({{"call", "put"}, {"key", key}, {"value", value}});
}

std::string ControlClient::wait(const std::string& key, double timeout_s) {
  return ask({{"call", "wait"}, {"key", key}}, timeout_s).get<std::string>();
}

std::int64_t ControlClient::add(const std::string& key, std::int64_t amount) {
  return ask({{"call", "add"}, {"key", key}, {"amount", amount}}, kAnswer_s).get<std::int64_t>();
}

void ControlClient::leave() {
  {
    const std::lock_guard lock(mutex_);
    if (left_) return;
    left_ = true;
  }
  try {
    ask({{"call", "leave"}}, kAnswer_s);
  } catch (const RunFailure&) {
    // Whoever leaves does not mind how the others fare.
  }
}

}  // namespace transload
