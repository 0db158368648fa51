// The other processes of a run, as one of them deals with them: bytes, meeting points, bad news.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "executor/peers/failures.h"
#include "executor/peers/transport.h"
#include "planner/schedule/hosting.h"

namespace transload {

class Company {
 public:
  Company() = default;
  Company(const Company&) = delete;
  Company& operator=(const Company&) = delete;
  virtual ~Company() = default;

  virtual std::string name() const = 0;  // of the back end: "net", "mpi"
  // Meets all processes, makes sure that they have the same plan, and connects to those that the
  // plan needs. Throws RunFailure or PeerLost.
  virtual void meet(const Plan& plan, const Hosting& hosting, double timeout_s) = 0;
  virtual Transport& transport() = 0;
  // Returns when all have called it. Throws PeerLost when somebody is lost meanwhile, RunFailure
  // after `timeout_s`.
  virtual void barrier(const std::string& name, double timeout_s) = 0;
  // Calls back once, from any thread, when somebody is lost; empty: no more.
  virtual void watch(std::function<void(const Verdict&)> fallen) = 0;
  // Tells the others that something failed here, and returns what all agree on.
  virtual Verdict report(const std::string& reason) = 0;
  // Leaves a word for whoever sums the run up, and hears everybody's: of all processes but the
  // dead, by number. A process that says nothing within `timeout_s` is left out.
  virtual void tell(const std::string& word) = 0;
  virtual std::vector<std::string> hear_all(const std::vector<std::int32_t>& dead,
                                            double timeout_s) = 0;
  // Goes in good order; the last call.
  virtual void leave() = 0;
};

}  // namespace transload
