// The back end of one process among several: its ranks' memory, and a transport to the others.
//
// Operations between ranks of this process are copies, as on the host back end. Of a transfer that
// crosses, the half here reads from or writes to where the plan says: straight, where the part is
// one run of memory, else through a buffer of its own that is gathered before it is sent or
// scattered when it has arrived.
#pragma once

#include <cstdint>

#include "executor/engine/backend.h"
#include "executor/host/host_backend.h"
#include "executor/peers/transport.h"

namespace transload {

class PeerBackend : public Backend {
 public:
  // All must outlive the back end. `refit` tells the refits of one run apart, alike in all
  // processes.
  PeerBackend(const Plan& plan, const HostMemory& memory, const Hosting& hosting,
              Transport& transport, std::uint32_t refit);

  void move(OpId op, std::uint64_t begin, std::uint64_t bytes) override;
  const Hosting* hosting() const override { return &hosting_; }
  void post(OpId op, std::uint32_t part, std::uint64_t begin, std::uint64_t bytes,
            Done done) override;
  void notify(std::int32_t process, OpId op) override;
  void on_notice(Notified notified) override;
  void stop() override { transport_.stop(); }

 private:
  void send(OpId op, const PartTag& tag, std::uint64_t begin, std::uint64_t bytes, Done done);
  void receive(OpId op, const PartTag& tag, std::uint64_t begin, std::uint64_t bytes, Done done);

  const Plan& plan_;
  const Hosting& hosting_;
  HostBackend local_;
  Transport& transport_;
  std::uint32_t refit_;
};

}  // namespace transload
