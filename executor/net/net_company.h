// The company of a run over TCP: the control service's client and a mesh of connections.
#pragma once

#include <memory>
#include <mutex>

#include "executor/control/client.h"
#include "executor/net/tcp_transport.h"
#include "executor/peers/company.h"

namespace transload {

struct NetOptions {
  std::string control;  // endpoint of the control service
  std::int32_t process = 0;
  std::int32_t processes = 1;
  std::uint64_t epoch = 0;
  double beat_timeout_s = 1.5;
  double join_timeout_s = 60;
  std::string address = "127.0.0.1";
  std::string nvlink_address;
  unsigned threads = 1;
  std::int64_t corrupt_from = -1;  // for tests: see executor/net/connection.h
};

// Where the control service keeps what a process has told.
std::string word_key(std::int32_t process);

class NetCompany : public Company {
 public:
  // Joins the control service. RunFailure where that fails.
  explicit NetCompany(const NetOptions& options);

  std::string name() const override { return "net"; }
  void meet(const Plan& plan, const Hosting& hosting, double timeout_s) override;
  Transport& transport() override { return *transport_; }
  void barrier(const std::string& name, double timeout_s) override;
  void watch(std::function<void(const Verdict&)> fallen) override;
  Verdict report(const std::string& reason) override;
  void tell(const std::string& word) override;
  std::vector<std::string> hear_all(const std::vector<std::int32_t>& dead,
                                    double timeout_s) override;
  void leave() override;

 private:
  NetOptions options_;
  ControlClient control_;
  std::unique_ptr<TcpTransport> transport_;
};

}  // namespace transload
