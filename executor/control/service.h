// The control service of a run: keys, counters, heartbeats, and the verdict on who is lost.
//
// One TCP port. A process that is silent for `beat_timeout_s`, or whose connection ends before it
// has left, is dead. The first death, or the first failure that a process reports, opens a case. It
// is settled when everybody has been heard of since, or is dead (others may die of the same cause);
// then the service publishes one verdict to all: epoch, dead set, and what was reported meanwhile.
// Local views differ, and may blame a process that itself gave up; the verdict is what counts.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "executor/control/lines.h"
#include "executor/peers/failures.h"

namespace transload {

struct ControlOptions {
  std::string endpoint = "127.0.0.1:0";  // port 0: any
  std::int32_t processes = 1;
  std::uint64_t epoch = 0;      // that the run begins in; a verdict ends it and names the next
  double beat_timeout_s = 1.5;  // silence after which a process is dead
};

class ControlService {
 public:
  // Listens at once. RunFailure where it cannot.
  explicit ControlService(const ControlOptions& options);
  ~ControlService();
  ControlService(const ControlService&) = delete;
  ControlService& operator=(const ControlService&) = delete;

  const std::string& endpoint() const { return endpoint_; }
  // Somebody saw the process end without leaving: a launcher its child.
  void report_dead(std::int32_t process, const std::string& how);
  // What a key has been set to.
  std::optional<std::string> value(const std::string& key);
  // Seconds since the verdict fell; nothing while there is none.
  std::optional<double> seconds_since_verdict();

 private:
  struct Member {
    std::shared_ptr<Lines> lines;
    std::chrono::steady_clock::time_point heard;
    bool left = false;
  };

  template <class Ask>
  auto asked(Ask&& ask);
  void accept();
  void take(const std::shared_ptr<Lines>& lines, const std::shared_ptr<std::int32_t>& process,
            const nlohmann::json& line);
  bool join(std::int32_t process, const std::shared_ptr<Lines>& lines);
  void set(const std::string& key, const std::string& value);
  void broken(std::int32_t process);
  void look_round();
  bool settled() const;
  void died(std::int32_t process, const std::string& how);
  void open_case(const std::string& reason);
  void publish();
  nlohmann::json verdict_line() const;

  ControlOptions options_;
  boost::asio::io_context io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer tick_;
  std::string endpoint_;
  std::map<std::string, std::string> keys_;
  std::map<std::string, std::int64_t> counters_;
  std::map<std::string, std::vector<std::pair<std::shared_ptr<Lines>, std::int64_t>>> waiting_;
  std::map<std::int32_t, Member> members_;
  std::set<std::int32_t> dead_;
  std::vector<std::string> reasons_;  // of the case that is open; empty: none is
  std::chrono::steady_clock::time_point opened_;
  std::optional<Verdict> verdict_;
  std::chrono::steady_clock::time_point judged_;
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace transload
