#include "executor/control/service.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/asio/post.hpp>
#include <chrono>
#include <future>

#include "executor/net/endpoint.h"

namespace transload {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// Looks round per beat timeout, and the part of it by which a sign of life must be younger than the
// case: what was sent before may arrive after.
constexpr double kLooks = 12;
constexpr double kSignOfLife = 0.2;
// Who broke a connection and who lost it report in no certain order: all are told.
constexpr std::size_t kMostReasons = 4;
constexpr std::string_view kFailure = "failure/";

std::chrono::steady_clock::duration duration(double seconds) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(seconds));
}

tcp::acceptor listen(asio::io_context& io, const std::string& endpoint) {
  try {
    return tcp::acceptor(io, endpoint_from_text(endpoint));
  } catch (const boost::system::system_error& error) {
    throw RunFailure(fmt::format("the control service cannot listen on {}: {}", endpoint,
                                 error.code().message()));
  }
}

}  // namespace

ControlService::ControlService(const ControlOptions& options)
    : options_(options),
      acceptor_(listen(io_, options.endpoint)),
      tick_(io_),
      endpoint_(to_text(acceptor_.local_endpoint())) {
  accept();
  look_round();
  thread_ = std::jthread([this] { io_.run(); });
}

ControlService::~ControlService() {
  asio::post(io_, [this] { io_.stop(); });
  thread_.join();
}

void ControlService::accept() {
  acceptor_.async_accept([this](error_code error, tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (!error) {
      const auto lines = std::make_shared<Lines>(std::move(socket));
      const auto process = std::make_shared<std::int32_t>(-1);
      const std::weak_ptr<Lines> weak = lines;
      lines->start(
          [this, weak, process](const nlohmann::json& line) { take(weak.lock(), process, line); },
          [this, process] { broken(*process); });
    }
    accept();
  });
}

void ControlService::take(const std::shared_ptr<Lines>& lines,
                          const std::shared_ptr<std::int32_t>& process,
                          const nlohmann::json& line) {
  if (lines == nullptr) return;
  const std::string call = line.value("call", "");
  const std::string key = line.value("key", "");
  const std::int64_t id = line.value("id", std::int64_t{0});
  if (call == "join") {
    if (join(line.value("process", -1), lines)) *process = line.value("process", -1);
    return;
  }
  const auto member = members_.find(*process);
  if (member == members_.end()) return;  // it has not joined, or was refused
  member->second.heard = std::chrono::steady_clock::now();
  if (call == "beat") {
    lines->write({{"beat", true}});
  } else if (call == "put") {
    set(key, line.value("value", ""));
  } else if (call == "add") {
    lines->write({{"id", id}, {"value", counters_[key] += line.value("amount", std::int64_t{0})}});
  } else if (call == "wait") {
    if (const auto found = keys_.find(key); found != keys_.end())
      lines->write({{"id", id}, {"value", found->second}});
    else
      waiting_[key].emplace_back(lines, id);
  } else if (call == "leave") {
    member->second.left = true;
    lines->write({{"id", id}, {"value", ""}});
  }
}

bool ControlService::join(std::int32_t process, const std::shared_ptr<Lines>& lines) {
  if (process < 0 || process >= options_.processes || members_.count(process) > 0) {
    lines->write({{"refused", fmt::format("process {} is not one of {}, or is here already",
                                          process, options_.processes)}});
    return false;
  }
  members_[process] = {lines, std::chrono::steady_clock::now(), false};
  if (verdict_) lines->write(verdict_line());
  return true;
}

void ControlService::set(const std::string& key, const std::string& value) {
  if (key.starts_with(kFailure)) open_case(value);
  keys_[key] = value;
  const auto waiting = waiting_.find(key);
  if (waiting == waiting_.end()) return;
  for (const auto& [lines, id] : waiting->second) lines->write({{"id", id}, {"value", value}});
  waiting_.erase(waiting);
}

void ControlService::broken(std::int32_t process) {
  if (const auto member = members_.find(process); member != members_.end() && !member->second.left)
    died(process, "its connection to the control service ended");
}

void ControlService::look_round() {
  tick_.expires_after(duration(options_.beat_timeout_s / kLooks));
  tick_.async_wait([this](error_code error) {
    if (error) return;
    const auto now = std::chrono::steady_clock::now();
    for (const auto& [process, member] : members_)
      if (!member.left && now - member.heard > duration(options_.beat_timeout_s))
        died(process, fmt::format("it was silent for {} s", options_.beat_timeout_s));
    if (!reasons_.empty() && !verdict_ && settled()) publish();
    look_round();
  });
}

bool ControlService::settled() const {
  const auto since = opened_ + duration(kSignOfLife * options_.beat_timeout_s);
  if (std::chrono::steady_clock::now() < since) return false;
  for (const auto& [process, member] : members_)
    if (!member.left && dead_.count(process) == 0 && member.heard < since) return false;
  return true;
}

void ControlService::report_dead(std::int32_t process, const std::string& how) {
  asio::post(io_, [this, process, how] {
    const auto member = members_.find(process);
    if (member == members_.end() || !member->second.left) died(process, how);
  });
}

// Runs on the service's thread and waits for it.
template <class Ask>
auto ControlService::asked(Ask&& ask) {
  std::promise<decltype(ask())> found;
  asio::post(io_, [&] { found.set_value(ask()); });
  return found.get_future().get();
}

std::optional<std::string> ControlService::value(const std::string& key) {
  return asked([&] {
    const auto entry = keys_.find(key);
    return entry == keys_.end() ? std::nullopt : std::optional(entry->second);
  });
}

std::optional<double> ControlService::seconds_since_verdict() {
  return asked([&]() -> std::optional<double> {
    if (!verdict_) return std::nullopt;
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - judged_).count();
  });
}

void ControlService::died(std::int32_t process, const std::string& how) {
  if (verdict_ || !dead_.insert(process).second) return;
  open_case(fmt::format("process {}: {}", process, how));
}

void ControlService::open_case(const std::string& reason) {
  if (verdict_) return;
  if (reasons_.empty()) opened_ = std::chrono::steady_clock::now();
  if (reasons_.size() < kMostReasons) reasons_.push_back(reason);
}

nlohmann::json ControlService::verdict_line() const {
  return {{"verdict",
           {{"epoch", verdict_->epoch}, {"dead", verdict_->dead}, {"reason", verdict_->reason}}}};
}

void ControlService::publish() {
  if (verdict_) return;
  verdict_ = Verdict{options_.epoch + 1,
                     {dead_.begin(), dead_.end()},
                     fmt::format("{}", fmt::join(reasons_, "; "))};
  judged_ = std::chrono::steady_clock::now();
  for (const auto& [process, member] : members_) member.lines->write(verdict_line());
}

}  // namespace transload
