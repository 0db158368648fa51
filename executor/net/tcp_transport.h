// A mesh of TCP connections between the processes of a run.
//
// Every process listens on the addresses that it is given and no others, publishes where, and is
// connected to the peers that its plan needs: the process with the smaller number calls. Where a
// process has an address of its own for NVLink traffic (the test bed; a second network between
// hosts), there are two connections to a peer.
#pragma once

#include <array>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "executor/net/connection.h"
#include "executor/peers/notices.h"
#include "executor/peers/transport.h"

namespace transload {

inline constexpr std::size_t kPlanes = 2;

struct TcpOptions {
  std::int32_t self = 0;
  std::string run_name;               // only processes of one run talk to each other
  std::string address = "127.0.0.1";  // to listen on, and to call from
  std::string nvlink_address;         // empty: NVLink traffic takes the network's connections
  unsigned threads = 1;
  std::int64_t corrupt_from = -1;  // for tests: see Connection
};

// Where a process can be reached: "address:port" per plane, the same twice without a second one.
using Endpoints = std::array<std::string, kPlanes>;

struct PeerAddress {
  std::int32_t process = 0;
  Plane plane = Plane::kNetwork;
  std::string endpoint;
};

class TcpTransport : public Transport {
 public:
  // Listens. RunFailure where an address cannot be bound.
  explicit TcpTransport(const TcpOptions& options);
  ~TcpTransport() override;

  const Endpoints& endpoints() const { return endpoints_; }
  bool two_planes() const { return !options_.nvlink_address.empty(); }
  // Calls the peers with larger numbers and waits for those with smaller ones. TransportFailure
  // naming a peer that is not there in time.
  void connect(const std::vector<PeerAddress>& peers, double deadline_s);

  void send(std::int32_t process, Plane plane, const PartTag& tag, std::span<const std::byte> bytes,
            Done done) override;
  void receive(std::int32_t process, Plane plane, const PartTag& tag, std::span<std::byte> bytes,
               Done done) override;
  void notify(std::int32_t process, std::uint32_t operation) override;
  void on_notice(Notified notified) override;
  void stop() override;

 private:
  using Acceptor = boost::asio::ip::tcp::acceptor;
  using Socket = boost::asio::ip::tcp::socket;
  using Key = std::pair<std::int32_t, Plane>;

  void listen(Plane plane, const std::string& address);
  void accept(Plane plane);
  void greet(std::shared_ptr<Socket> socket, Plane plane);
  void call(const PeerAddress& peer);
  void add(std::int32_t process, Plane plane, Socket socket);
  void refuse(const Key& key, const std::string& problem);
  Connection& connection(std::int32_t process, Plane plane);

  TcpOptions options_;
  std::uint64_t run_check_;
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::array<std::optional<Acceptor>, kPlanes> acceptors_;
  Endpoints endpoints_;
  std::vector<std::jthread> threads_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, std::shared_ptr<Connection>> connections_;
  std::map<Key, std::string> refused_;
  bool stopped_ = false;

  Notices notices_;
};

}  // namespace transload
