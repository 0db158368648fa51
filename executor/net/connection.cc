#include "executor/net/connection.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <array>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "executor/peers/failures.h"

namespace transload {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

std::uint64_t checksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace

Connection::Connection(Socket socket, std::int32_t self, std::int32_t peer, Noticed noticed,
                       std::int64_t corrupt_from)
    : socket_(std::move(socket)),
      strand_(asio::make_strand(socket_.get_executor())),
      self_(self),
      peer_(peer),
      noticed_(std::move(noticed)),
      corrupt_from_(corrupt_from) {}

void Connection::start() {
  asio::post(strand_, [self = shared_from_this()] { self->read_header(); });
}

void Connection::close() {
  asio::post(strand_,
             [self = shared_from_this()] { self->fail("the connection was closed here"); });
}

std::exception_ptr Connection::failure() const {
  return std::make_exception_ptr(
      TransportFailure(peer_, fmt::format("process {}: {}", peer_, problem_)));
}

void Connection::fail(const std::string& problem) {
  if (!problem_.empty()) return;
  problem_ = problem;
  error_code ignored;
  socket_.close(ignored);
  // Whatever is under way is told by its own handler; it may still be using its memory.
  std::vector<Transport::Done> told;
  for (std::size_t i = 1; i < queue_.size(); ++i)
    if (queue_[i].done) told.push_back(std::move(queue_[i].done));
  if (queue_.size() > 1) queue_.erase(queue_.begin() + 1, queue_.end());
  for (auto& [tag, part] : waiting_) told.push_back(std::move(part.done));
  for (auto& [tag, part] : expected_) told.push_back(std::move(part.done));
  waiting_.clear();
  expected_.clear();
  for (Transport::Done& done : told) done(failure());
}

// The checksum is taken on the caller's thread: there are more of them than of ours.
void Connection::send(const PartTag& tag, std::span<const std::byte> bytes, Transport::Done done) {
  FrameHeader header;
  header.kind = FrameKind::kData;
  header.tag = tag;
  header.sender = static_cast<std::uint32_t>(self_);
  header.bytes = bytes.size();
  header.check = checksum(bytes);
  asio::post(strand_, [self = shared_from_this(),
                       frame = Outgoing{header, bytes, std::move(done)}]() mutable {
    if (!self->problem_.empty()) return frame.done(self->failure());
    const PartTag& part = frame.header.tag;
    if (self->ready_.erase(part) > 0)
      self->queue(std::move(frame));
    else
      self->waiting_.emplace(part, std::move(frame));
  });
}

void Connection::receive(const PartTag& tag, std::span<std::byte> bytes, Transport::Done done) {
  asio::post(strand_, [self = shared_from_this(), tag, bytes, done = std::move(done)]() mutable {
    if (!self->problem_.empty()) return done(self->failure());
    self->expected_.emplace(tag, Incoming{bytes, std::move(done)});
    FrameHeader header;
    header.kind = FrameKind::kReady;
    header.tag = tag;
    header.sender = static_cast<std::uint32_t>(self->self_);
    self->queue({header, {}, {}});
  });
}

void Connection::notify(std::uint32_t operation) {
  asio::post(strand_, [self = shared_from_this(), operation] {
    FrameHeader header;
    header.kind = FrameKind::kNotice;
    header.tag.operation = operation;
    header.sender = static_cast<std::uint32_t>(self->self_);
    if (self->problem_.empty()) self->queue({header, {}, {}});
  });
}

void Connection::queue(Outgoing frame) {
  queue_.push_back(std::move(frame));
  if (queue_.size() == 1) write_next();
}

void Connection::write_next() {
  const Outgoing& frame = queue_.front();
  std::span<const std::byte> bytes = frame.bytes;
  if (corrupt_from_ >= 0 && !bytes.empty() && frame.header.tag.operation >= corrupt_from_) {
    corrupted_.assign(bytes.begin(), bytes.end());
    corrupted_[bytes.size() / 2] ^= std::byte{1};
    bytes = corrupted_;
  }
  const std::array<asio::const_buffer, 2> buffers = {
      asio::buffer(&frame.header, sizeof frame.header), asio::buffer(bytes.data(), bytes.size())};
  asio::async_write(
      socket_, buffers,
      asio::bind_executor(strand_, [self = shared_from_this()](error_code error, std::size_t) {
        Outgoing sent = std::move(self->queue_.front());
        self->queue_.pop_front();
        if (error) self->fail(error.message());
        if (sent.done) sent.done(error ? self->failure() : nullptr);
        if (!error && !self->queue_.empty()) self->write_next();
      }));
}

void Connection::read_header() {
  asio::async_read(
      socket_, asio::buffer(&arriving_, sizeof arriving_),
      asio::bind_executor(strand_, [self = shared_from_this()](error_code error, std::size_t) {
        if (error)
          self->fail(error == asio::error::eof ? "it closed the connection" : error.message());
        else
          self->take(self->arriving_);
      }));
}

void Connection::take(const FrameHeader& header) {
  if (!problem_.empty()) return;
  if (header.magic != FrameHeader::kMagic || header.sender != static_cast<std::uint32_t>(peer_))
    return fail("it sent something that is no frame of Transload");
  switch (header.kind) {
    case FrameKind::kReady:
      if (auto part = waiting_.find(header.tag); part != waiting_.end()) {
        queue(std::move(part->second));
        waiting_.erase(part);
      } else {
        ready_.insert(header.tag);
      }
      break;
    case FrameKind::kData:
      return take_data(header);
    case FrameKind::kNotice:
      noticed_(header.tag.operation);
      break;
    case FrameKind::kHello:
      return fail("it said hello twice");
  }
  read_header();
}

void Connection::take_data(const FrameHeader& header) {
  const auto found = expected_.find(header.tag);
  if (found == expected_.end() || found->second.bytes.size() != header.bytes)
    return fail(fmt::format("it sent {} bytes of operation {}, part {}, which nobody expects",
                            header.bytes, header.tag.operation, header.tag.part));
  Incoming part = std::move(found->second);
  expected_.erase(found);
  const auto to = asio::buffer(part.bytes.data(), part.bytes.size());
  asio::async_read(
      socket_, to,
      asio::bind_executor(strand_, [self = shared_from_this(), header, part = std::move(part)](
                                       error_code error, std::size_t) mutable {
        if (error) {
          self->fail(error == asio::error::eof ? "it closed the connection" : error.message());
          return part.done(self->failure());
        }
        self->finish_data(header, std::move(part));
      }));
}

void Connection::finish_data(const FrameHeader& header, Incoming part) {
  if (checksum(part.bytes) != header.check) {
    fail(
        fmt::format("the checksum of operation {}, part {} is wrong: bytes were changed on the way",
                    header.tag.operation, header.tag.part));
    return part.done(failure());
  }
  part.done(nullptr);
  read_header();
}

}  // namespace transload
