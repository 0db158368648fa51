// Courses: the ways of a byte to everybody in one NVLink domain who wants it, and what each way
// loads. Internal to the strategy `transload`.
//
// A byte enters a domain through a NIC, or is there already with a holder; the first rank that has
// it hands it over NVLink to all that want it, or to one, the *hub*, which hands it to the others.
// So a domain of which one rank has everything can still send with all its NVLink ports: scatter,
// then exchange. A hub may be a rank that does not want the byte. What a domain holds may come
// through NICs all the same, from holders elsewhere or from a NIC of the domain itself, and enter
// twice: where NVLink is the bottleneck NICs are idle.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/strategy/routes.h"
#include "planner/strategy/transload/port_shares.h"

namespace transload {

struct Course {
  Rank holder = kNone;            // has the byte; kNone where `sender` or `first` gets it anyway
  Rank sender = kNone;            // whose NIC sends it, from the holder's domain
  std::int32_t out_port = kNone;  // NICs of `sender` and `first`; kNone: no network
  std::int32_t in_port = kNone;
  Rank first = kNone;  // the first rank of the domain to have it
  Rank hub = kNone;    // gets it from `first` and hands it on; kNone: `first` does that itself
  // A receiver that gets the byte from the NIC of a holder or of the hub, as NVLink into it is
  // full.
  Rank direct = kNone;
  Rank direct_sender = kNone;
  std::int32_t direct_out_port = kNone;
  std::int32_t direct_in_port = kNone;
  bool operator==(const Course&) const = default;
};

// Whose bytes have the same choice of courses. Rank lists are ascending.
struct CourseEnds {
  std::span<const Rank> holders;    // of all domains
  std::span<const Rank> receivers;  // of one domain, none a holder
  Rank landing = kNone;             // where the bytes come in any case; kNone: that is open
  // Of other domains, where a holder sits too: they want the bytes, so they get them from there and
  // can send them on.
  std::span<const Rank> served;
};

// A port that a course loads, `times` bytes for every byte.
struct CourseUse {
  std::int32_t port = kNone;
  std::int64_t times = 1;
};
// Appends them; a port may occur several times.
void course_uses(const Course& course, std::span<const Rank> receivers, const Fabric& fabric,
                 std::vector<CourseUse>& uses);

using CoursePrice = unsigned __int128;

// Finds the cheapest course for prices per byte that its caller keeps by port.
class CourseFinder {
 public:
  CourseFinder(const Fabric& fabric, const MayHelp& may_help);

  CoursePrice price_of(const Course& course, std::span<const Rank> receivers,
                       const std::vector<CoursePrice>& prices);
  // The first of equals. There must be one.
  Course cheapest(const CourseEnds& ends, const std::vector<CoursePrice>& prices);

 private:
  // Adds to the course how its first rank's byte comes to all receivers, and to the price what that
  // costs beside what they all take in over NVLink.
  void spread(const CourseEnds& ends, const std::vector<CoursePrice>& prices, Course& course,
              CoursePrice& price) const;
  void serve_one_directly(const CourseEnds& ends, const std::vector<CoursePrice>& prices,
                          Course& course, CoursePrice& price) const;
  void add_senders(const CourseEnds& ends, const std::vector<CoursePrice>& prices, Course& course,
                   CoursePrice& price) const;

  const Fabric& fabric_;
  const MayHelp& may_help_;
  std::vector<std::vector<Rank>> ranks_of_;  // by domain: the job's ranks
  std::vector<CourseUse> uses_;
};

}  // namespace transload
