// The two ways in which Transload fails for a reason that its user can act on.
//
// `InputError`: something the user wrote cannot be right. The CLI prints it and exits 2 before a
// byte moves. `RunFailure`: something broke while a plan ran (peer lost, time-out, out of memory).
// Exit code 3. Broken invariants of our own are neither: see common/check.h.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace transload {

// Where an input went wrong. Any part may be empty; `line` counts from 1, 0 means unknown.
struct InputPlace {
  std::string file;
  int line = 0;
  std::string field;  // dotted path, e.g. "source.parallel.tp", or "tensor w, rank 3"
};

// "file:line: field: problem". The message says what was found and what was expected.
class InputError : public std::runtime_error {
 public:
  explicit InputError(const std::string& problem)
      : std::runtime_error(problem), problem_(problem) {}
  InputError(const InputPlace& place, const std::string& problem);

  const InputPlace& place() const { return place_; }
  const std::string& problem() const { return problem_; }

 private:
  InputPlace place_;
  std::string problem_;
};

class RunFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace transload
