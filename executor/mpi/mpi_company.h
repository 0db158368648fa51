// The company of a run under mpirun or srun: any MPI, one thread that calls it.
//
// A receiver tells the sender by a small message that it has room for a part, and under which MPI
// tag it waits (MPI promises only 32,767 of them, fewer than a plan has parts); the bytes follow
// under that tag. No claim to survive a lost peer: a refit that gets nowhere ends by its own
// time-out, every process writes its reports, and the run ends with code 3.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "executor/mpi/mpi_loop.h"
#include "executor/peers/company.h"
#include "executor/peers/notices.h"

namespace transload {

class MpiTransport : public Transport {
 public:
  MpiTransport();

  MpiLoop& loop() { return *loop_; }
  void send(std::int32_t process, Plane plane, const PartTag& tag, std::span<const std::byte> bytes,
            Done done) override;
  void receive(std::int32_t process, Plane plane, const PartTag& tag, std::span<std::byte> bytes,
               Done done) override;
  void notify(std::int32_t process, std::uint32_t operation) override;
  void on_notice(Notified notified) override;
  void stop() override;

 private:
  struct Outgoing {
    std::span<const std::byte> bytes;
    Done done;
  };
  using Key = std::pair<std::int32_t, PartTag>;

  void noted(int process, const MpiLoop::Note& note);
  void transmit(std::int32_t process, int mpi_tag, Outgoing part);

  std::mutex mutex_;
  std::map<Key, Outgoing> waiting_;
  std::map<Key, int> ready_;  // the peer has room, under this MPI tag
  std::map<std::int32_t, int> next_tag_;

  Notices notices_;
  std::unique_ptr<MpiLoop> loop_;  // last: it calls `noted`
};

class MpiCompany : public Company {
 public:
  std::int32_t process() { return transport_.loop().self(); }
  std::int32_t processes() { return transport_.loop().processes(); }

  std::string name() const override { return "mpi"; }
  void meet(const Plan& plan, const Hosting& hosting, double timeout_s) override;
  Transport& transport() override { return transport_; }
  void barrier(const std::string& name, double timeout_s) override;
  void watch(std::function<void(const Verdict&)>) override {}  // nobody tells us
  Verdict report(const std::string& reason) override;
  void tell(const std::string& word) override;
  std::vector<std::string> hear_all(const std::vector<std::int32_t>& dead,
                                    double timeout_s) override;
  void leave() override;

 private:
  MpiTransport transport_;
  std::string word_;
  bool failed_ = false;
};

}  // namespace transload
