#include "executor/net/endpoint.h"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <sstream>

#include "common/error.h"

namespace transload {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

}  // namespace

std::string to_text(const tcp::endpoint& endpoint) {
  std::ostringstream text;
  text << endpoint;
  return text.str();
}

tcp::endpoint endpoint_from_text(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size())
    throw InputError(fmt::format("'{}': expected ADDRESS:PORT", text));
  std::string host = text.substr(0, colon);
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  asio::io_context io;
  boost::system::error_code error;
  const auto found = tcp::resolver(io).resolve(host, text.substr(colon + 1), error);
  if (error || found.empty())
    throw InputError(fmt::format("'{}': {}", text, error ? error.message() : "no such address"));
  return found.begin()->endpoint();
}

}  // namespace transload
