#include "executor/control/lines.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <istream>
#include <utility>

namespace transload {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

}  // namespace

Lines::Lines(Socket socket) : socket_(std::move(socket)) {
  error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
}

void Lines::start(Taken taken, Broken broken) {
  taken_ = std::move(taken);
  broken_ = std::move(broken);
  read_next();
}

void Lines::read_next() {
  asio::async_read_until(socket_, arrived_, '\n',
                         [self = shared_from_this()](error_code error, std::size_t) {
                           if (error) return self->fail();
                           std::istream stream(&self->arrived_);
                           std::string line;
                           std::getline(stream, line);
                           const nlohmann::json value = nlohmann::json::parse(line, nullptr, false);
                           if (!value.is_object()) return self->fail();
                           if (self->taken_) self->taken_(value);
                           self->read_next();
                         });
}

void Lines::write(const nlohmann::json& line) {
  queue_.push_back(line.dump() + "\n");
  if (queue_.size() == 1) write_next();
}

void Lines::write_next() {
  asio::async_write(socket_, asio::buffer(queue_.front()),
                    [self = shared_from_this()](error_code error, std::size_t) {
                      if (error) return self->fail();
                      self->queue_.pop_front();
                      if (!self->queue_.empty()) self->write_next();
                    });
}

void Lines::close() {
  error_code ignored;
  socket_.close(ignored);
}

void Lines::fail() {
  close();
  taken_ = nullptr;
  if (const Broken broken = std::exchange(broken_, nullptr)) broken();
}

}  // namespace transload
