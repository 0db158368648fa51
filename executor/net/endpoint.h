// "address:port" as text, IPv6 in brackets.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <string>

namespace transload {

std::string to_text(const boost::asio::ip::tcp::endpoint& endpoint);
// A numeric address, or a name that is looked up. InputError for anything else.
boost::asio::ip::tcp::endpoint endpoint_from_text(const std::string& text);

}  // namespace transload
