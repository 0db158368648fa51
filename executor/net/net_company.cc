#include "executor/net/net_company.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <nlohmann/json.hpp>

#include "executor/peers/peers_of.h"

namespace transload {
namespace {

// A report is answered by a verdict within the silence that proves a death, and some.
constexpr double kVerdictMargin_s = 5;

std::string card_key(std::int32_t process) { return fmt::format("card/{}", process); }

}  // namespace

std::string word_key(std::int32_t process) { return fmt::format("word/{}", process); }

NetCompany::NetCompany(const NetOptions& options)
    : options_(options),
      control_(options.control, options.process, options.epoch, options.beat_timeout_s,
               options.join_timeout_s) {
  TcpOptions tcp;
  tcp.self = options.process;
  tcp.run_name = fmt::format("{} epoch {}", options.control, options.epoch);
  tcp.address = options.address;
  tcp.nvlink_address = options.nvlink_address;
  tcp.threads = options.threads;
  tcp.corrupt_from = options.corrupt_from;
  transport_ = std::make_unique<TcpTransport>(tcp);
}

// Every process puts up a card that says where it listens and which plan it has.
void NetCompany::meet(const Plan& plan, const Hosting& hosting, double timeout_s) {
  const std::string digest = to_string(plan.digest());
  const nlohmann::json own = {{"plan", digest}, {"endpoints", transport_->endpoints()}};
  control_.put(card_key(options_.process), own.dump());
  std::vector<PeerAddress> addresses;
  std::map<std::int32_t, nlohmann::json> cards;
  for (std::int32_t process = 0; process < options_.processes; ++process)
    cards[process] = nlohmann::json::parse(control_.wait(card_key(process), timeout_s));
  for (const auto& [process, card] : cards) {
    if (card.at("plan") != digest)
      throw RunFailure(fmt::format("process {} has plan {}, process {} has {}; all need the same",
                                   options_.process, digest, process,
                                   card.at("plan").get<std::string>()));
    const auto endpoints = card.at("endpoints").get<Endpoints>();
    if ((endpoints[0] != endpoints[1]) != transport_->two_planes())
      throw RunFailure(
          fmt::format("process {} {} an address of its own for NVLink traffic, unlike process {}",
                      process, transport_->two_planes() ? "lacks" : "has", options_.process));
  }
  std::set<PeerPlane> peers;
  for (PeerPlane peer : peers_of(plan, hosting)) {
    if (!transport_->two_planes()) peer.plane = Plane::kNetwork;
    peers.insert(peer);
  }
  for (const PeerPlane& peer : peers)
    addresses.push_back({peer.process, peer.plane,
                         cards[peer.process]
                             .at("endpoints")
                             .get<Endpoints>()[static_cast<std::size_t>(peer.plane)]});
  transport_->connect(addresses, timeout_s);
}

void NetCompany::barrier(const std::string& name, double timeout_s) {
  transload::barrier(control_, name, options_.processes, timeout_s);
}

void NetCompany::watch(std::function<void(const Verdict&)> fallen) {
  control_.watch(std::move(fallen));
}

Verdict NetCompany::report(const std::string& reason) {
  // The watcher may be called long after this has given up.
  const auto fallen = std::make_shared<std::promise<Verdict>>();
  std::future<Verdict> verdict = fallen->get_future();
  control_.watch([fallen](const Verdict& known) { fallen->set_value(known); });
  control_.put(fmt::format("failure/{}", options_.process),
               fmt::format("process {}: {}", options_.process, reason));
  const double timeout_s = options_.beat_timeout_s + kVerdictMargin_s;
  const bool known =
      verdict.wait_for(std::chrono::duration<double>(timeout_s)) == std::future_status::ready;
  control_.watch({});
  if (known) return verdict.get();
  return {options_.epoch + 1, {}, reason + " (and no verdict came)"};
}

void NetCompany::tell(const std::string& word) { control_.put(word_key(options_.process), word); }

std::vector<std::string> NetCompany::hear_all(const std::vector<std::int32_t>& dead,
                                              double timeout_s) {
  std::vector<std::string> words;
  for (std::int32_t process = 0; process < options_.processes; ++process) {
    if (std::binary_search(dead.begin(), dead.end(), process)) continue;
    try {
      words.push_back(control_.wait(word_key(process), timeout_s));
    } catch (const RunFailure&) {
      // It has nothing more to say.
    }
  }
  return words;
}

void NetCompany::leave() { control_.leave(); }

}  // namespace transload
