// JSON values over a TCP connection, one a line: what control service and clients speak. Internal
// to executor/control.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/streambuf.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

namespace transload {

// All its calls are made on the thread of its io_context.
class Lines : public std::enable_shared_from_this<Lines> {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  using Taken = std::function<void(const nlohmann::json&)>;
  using Broken = std::function<void()>;

  explicit Lines(Socket socket);

  // Calls `taken` for every line and `broken` once when the connection ends, also by `close`.
  void start(Taken taken, Broken broken);
  void write(const nlohmann::json& line);
  void close();

 private:
  void read_next();
  void write_next();
  void fail();

  Socket socket_;
  boost::asio::streambuf arrived_;
  std::deque<std::string> queue_;  // the first is being written
  Taken taken_;
  Broken broken_;
};

}  // namespace transload
