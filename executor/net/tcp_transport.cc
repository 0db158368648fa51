#include "executor/net/tcp_transport.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <boost/asio/connect.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <chrono>

#include "common/check.h"
#include "executor/net/endpoint.h"
#include "executor/peers/failures.h"

namespace transload {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

}  // namespace

TcpTransport::TcpTransport(const TcpOptions& options)
    : options_(options),
      run_check_(XXH3_64bits(options.run_name.data(), options.run_name.size())),
      work_(asio::make_work_guard(io_)) {
  listen(Plane::kNetwork, options.address);
  endpoints_[1] = endpoints_[0];
  if (two_planes()) listen(Plane::kNvlink, options.nvlink_address);
  for (unsigned i = 0; i < std::max(1u, options.threads); ++i)
    threads_.emplace_back([this] { io_.run(); });
}

TcpTransport::~TcpTransport() { stop(); }

void TcpTransport::listen(Plane plane, const std::string& address) {
  const auto p = static_cast<std::size_t>(plane);
  try {
    acceptors_[p].emplace(io_, tcp::endpoint(asio::ip::make_address(address), 0));
  } catch (const boost::system::system_error& error) {
    throw RunFailure(fmt::format("cannot listen on {}: {}", address, error.code().message()));
  }
  endpoints_[p] = to_text(acceptors_[p]->local_endpoint());
  accept(plane);
}

void TcpTransport::accept(Plane plane) {
  acceptors_[static_cast<std::size_t>(plane)]->async_accept(
      [this, plane](error_code error, Socket socket) {
        if (error == asio::error::operation_aborted) return;
        if (!error) greet(std::make_shared<Socket>(std::move(socket)), plane);
        accept(plane);
      });
}

// Who calls says hello first; whoever says something else is no part of this run.
void TcpTransport::greet(std::shared_ptr<Socket> socket, Plane plane) {
  auto hello = std::make_shared<FrameHeader>();
  asio::async_read(*socket, asio::buffer(hello.get(), sizeof *hello),
                   [this, socket, hello, plane](error_code error, std::size_t) {
                     if (error || hello->magic != FrameHeader::kMagic ||
                         hello->kind != FrameKind::kHello || hello->check != run_check_ ||
                         hello->bytes != static_cast<std::uint64_t>(plane))
                       return;  // closes it
                     add(static_cast<std::int32_t>(hello->sender), plane, std::move(*socket));
                   });
}

void TcpTransport::call(const PeerAddress& peer) {
  const Key key{peer.process, peer.plane};
  auto socket = std::make_shared<Socket>(io_);
  error_code error;
  const tcp::endpoint to = endpoint_from_text(peer.endpoint);
  const std::string& own =
      two_planes() && peer.plane == Plane::kNvlink ? options_.nvlink_address : options_.address;
  socket->open(to.protocol(), error);
  if (!error) socket->bind(tcp::endpoint(asio::ip::make_address(own), 0), error);
  if (error) return refuse(key, error.message());
  socket->async_connect(to, [this, socket, key](error_code refused) {
    if (refused) return refuse(key, refused.message());
    auto hello = std::make_shared<FrameHeader>();
    hello->sender = static_cast<std::uint32_t>(options_.self);
    hello->bytes = static_cast<std::uint64_t>(key.second);
    hello->check = run_check_;
    asio::async_write(*socket, asio::buffer(hello.get(), sizeof *hello),
                      [this, socket, hello, key](error_code failed, std::size_t) {
                        if (failed) return refuse(key, failed.message());
                        add(key.first, key.second, std::move(*socket));
                      });
  });
}

void TcpTransport::add(std::int32_t process, Plane plane, Socket socket) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  auto connection = std::make_shared<Connection>(
      std::move(socket), options_.self, process,
      [this](std::uint32_t operation) { notices_.hear(operation); }, options_.corrupt_from);
  const std::lock_guard lock(mutex_);
  if (stopped_ || !connections_.emplace(Key{process, plane}, connection).second) return;
  connection->start();
  changed_.notify_all();
}

void TcpTransport::refuse(const Key& key, const std::string& problem) {
  const std::lock_guard lock(mutex_);
  refused_.emplace(key, problem);
  changed_.notify_all();
}

void TcpTransport::connect(const std::vector<PeerAddress>& peers, double deadline_s) {
  for (const PeerAddress& peer : peers)
    if (peer.process > options_.self) call(peer);
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                             std::chrono::duration<double>(deadline_s));
  std::unique_lock lock(mutex_);
  for (const PeerAddress& peer : peers) {
    const Key key{peer.process, peer.plane};
    const bool settled = changed_.wait_until(lock, deadline, [&] {
      return connections_.count(key) > 0 || refused_.count(key) > 0 || stopped_;
    });
    if (connections_.count(key) > 0) continue;
    const std::string why = !settled                  ? "it did not call in time"
                            : refused_.count(key) > 0 ? refused_[key]
                                                      : "the transport was stopped";
    throw TransportFailure(peer.process,
                           fmt::format("process {} at {}: {}", peer.process, peer.endpoint, why));
  }
}

Connection& TcpTransport::connection(std::int32_t process, Plane plane) {
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find({process, two_planes() ? plane : Plane::kNetwork});
  TRANSLOAD_CHECK(found != connections_.end(), "a peer that the plan names is connected");
  return *found->second;
}

void TcpTransport::send(std::int32_t process, Plane plane, const PartTag& tag,
                        std::span<const std::byte> bytes, Done done) {
  connection(process, plane).send(tag, bytes, std::move(done));
}

void TcpTransport::receive(std::int32_t process, Plane plane, const PartTag& tag,
                           std::span<std::byte> bytes, Done done) {
  connection(process, plane).receive(tag, bytes, std::move(done));
}

void TcpTransport::notify(std::int32_t process, std::uint32_t operation) {
  std::shared_ptr<Connection> to;
  {
    const std::lock_guard lock(mutex_);
    for (const Plane plane : {Plane::kNetwork, Plane::kNvlink})
      if (const auto found = connections_.find({process, plane});
          found != connections_.end() && to == nullptr)
        to = found->second;
  }
  TRANSLOAD_CHECK(to != nullptr, "a peer that waits for a notice is connected");
  to->notify(operation);
}

void TcpTransport::on_notice(Notified notified) { notices_.hand_to(std::move(notified)); }

void TcpTransport::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    stopped_ = true;
    for (auto& [key, connection] : connections_) connection->close();
    changed_.notify_all();
  }
  asio::post(io_, [this] {
    error_code ignored;
    for (auto& acceptor : acceptors_)
      if (acceptor) acceptor->close(ignored);
  });
  work_.reset();
  io_.stop();
  threads_.clear();  // joins: no handler runs from here on
  connections_.clear();
}

}  // namespace transload
