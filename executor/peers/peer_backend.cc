#include "executor/peers/peer_backend.h"

#include <utility>
#include <vector>

#include "executor/peers/peers_of.h"
#include "planner/schedule/access.h"

namespace transload {

PeerBackend::PeerBackend(const Plan& plan, const HostMemory& memory, const Hosting& hosting,
                         Transport& transport, std::uint32_t refit)
    : plan_(plan), hosting_(hosting), local_(plan, memory), transport_(transport), refit_(refit) {}

void PeerBackend::move(OpId op, std::uint64_t begin, std::uint64_t bytes) {
  local_.move(op, begin, bytes);
}

void PeerBackend::post(OpId op, std::uint32_t part, std::uint64_t begin, std::uint64_t bytes,
                       Done done) {
  const PartTag tag{refit_, op, part};
  if (hosting_.hosts(plan_.op_source[op]))
    send(op, tag, begin, bytes, std::move(done));
  else
    receive(op, tag, begin, bytes, std::move(done));
}

void PeerBackend::send(OpId op, const PartTag& tag, std::uint64_t begin, std::uint64_t bytes,
                       Done done) {
  const std::int32_t peer = hosting_.process_of(plan_.op_destination[op]);
  if (const std::byte* from = local_.source_span(op, begin, bytes)) {
    transport_.send(peer, plane_of(plan_, op), tag, {from, bytes}, std::move(done));
    return;
  }
  auto gathered = std::make_shared<std::vector<std::byte>>(bytes);
  local_.read(op, begin, bytes, gathered->data());
  transport_.send(
      peer, plane_of(plan_, op), tag, *gathered,
      [gathered, done = std::move(done)](std::exception_ptr failure) { done(std::move(failure)); });
}

void PeerBackend::receive(OpId op, const PartTag& tag, std::uint64_t begin, std::uint64_t bytes,
                          Done done) {
  const std::int32_t peer = hosting_.process_of(plan_.op_source[op]);
  if (std::byte* to = local_.destination_span(op, begin, bytes)) {
    transport_.receive(peer, plane_of(plan_, op), tag, {to, bytes}, std::move(done));
    return;
  }
  auto arrived = std::make_shared<std::vector<std::byte>>(bytes);
  transport_.receive(
      peer, plane_of(plan_, op), tag, *arrived,
      [this, op, begin, bytes, arrived, done = std::move(done)](std::exception_ptr failure) {
        if (failure) return done(std::move(failure));
        try {
          local_.write(op, begin, bytes, arrived->data());
        } catch (...) {
          return done(std::current_exception());
        }
        done(nullptr);
      });
}

void PeerBackend::notify(std::int32_t process, OpId op) { transport_.notify(process, op); }

void PeerBackend::on_notice(Notified notified) { transport_.on_notice(std::move(notified)); }

}  // namespace transload
