// One TCP connection to another process: parts both ways, matched by tag. Internal to executor/net.
//
// A receiver announces that it has room (ready); the sender's bytes follow once it has begun the
// same part; so nothing arrives that nobody waits for, and bytes are read from the socket straight
// into their place. Every part carries an xxh3 checksum.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/strand.hpp>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "executor/net/frame.h"
#include "executor/peers/transport.h"

namespace transload {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  using Noticed = std::function<void(std::uint32_t operation)>;

  // `corrupt_from`: for tests, the first operation whose bytes are sent with one of them flipped.
  Connection(Socket socket, std::int32_t self, std::int32_t peer, Noticed noticed,
             std::int64_t corrupt_from);

  // Begins to read frames; call once, after the hellos.
  void start();
  void send(const PartTag& tag, std::span<const std::byte> bytes, Transport::Done done);
  void receive(const PartTag& tag, std::span<std::byte> bytes, Transport::Done done);
  void notify(std::uint32_t operation);
  void close();

 private:
  struct Outgoing {
    FrameHeader header;
    std::span<const std::byte> bytes;
    Transport::Done done;
  };
  struct Incoming {
    std::span<std::byte> bytes;
    Transport::Done done;
  };

  void queue(Outgoing frame);
  void write_next();
  void read_header();
  void take(const FrameHeader& header);
  void take_data(const FrameHeader& header);
  void finish_data(const FrameHeader& header, Incoming part);
  void fail(const std::string& problem);
  std::exception_ptr failure() const;

  Socket socket_;
  boost::asio::strand<Socket::executor_type> strand_;
  std::int32_t self_;
  std::int32_t peer_;
  Noticed noticed_;
  std::int64_t corrupt_from_;
  std::string problem_;  // not empty: broken

  // Everything below is touched on the strand only.
  std::deque<Outgoing> queue_;  // the first is being written
  std::map<PartTag, Outgoing> waiting_;
  std::set<PartTag> ready_;  // the peer has room for these, and we have not begun them
  std::map<PartTag, Incoming> expected_;
  FrameHeader arriving_;
  std::vector<std::byte> corrupted_;
};

}  // namespace transload
