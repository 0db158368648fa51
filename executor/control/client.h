// A process's connection to the control service of its run (executor/control/service.h).
//
// Its own thread beats, so a process that is stopped falls silent and one that is busy does not.
// A client that hears nothing from the service judges by itself: the service is lost.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "executor/control/control.h"
#include "executor/control/lines.h"

namespace transload {

class ControlClient : public ControlPlane {
 public:
  // Joins as `process`. RunFailure where the service cannot be reached within `timeout_s`.
  ControlClient(const std::string& endpoint, std::int32_t process, std::uint64_t epoch,
                double beat_timeout_s, double timeout_s);
  ~ControlClient() override;

  void put(const std::string& key, const std::string& value) override;
  std::string wait(const std::string& key, double timeout_s) override;
  std::int64_t add(const std::string& key, std::int64_t amount) override;
  void watch(std::function<void(const Verdict&)> fallen) override;
  void leave() override;

 private:
  nlohmann::json ask(nlohmann::json line, double timeout_s);
  void write(nlohmann::json line);
  void beat();
  void take(const nlohmann::json& line);
  void judge(const Verdict& verdict);
  void lose_service(const std::string& how);

  std::uint64_t epoch_;
  double beat_timeout_s_;
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  boost::asio::steady_timer beat_;
  std::shared_ptr<Lines> lines_;
  std::chrono::steady_clock::time_point heard_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t last_id_ = 0;
  std::map<std::int64_t, nlohmann::json> answers_;
  std::optional<Verdict> verdict_;
  std::optional<std::string> refused_;
  bool left_ = false;

  std::mutex watch_mutex_;
  std::function<void(const Verdict&)> fallen_;

  std::jthread thread_;  // last: it uses everything above
};

}  // namespace transload
