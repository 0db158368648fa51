// Plans that were made before: a folder of plan files, each named by a digest of all that its plan
// depends on.
//
// The key is the job's content (planner/job/job_digest.h: files count by what is in them), strategy
// and discipline, the strategies' constants, and the program itself; so an entry can be wrong in no
// way but by damage, which a plan file's own digest tells. Entries are written beside their place
// and renamed, so several programs may share a folder. Above the size limit the entries that were
// not used for longest go.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "common/hash.h"
#include "planner/job/job.h"
#include "planner/schedule/plan_file.h"

namespace transload {

struct CachedPlan {
  Plan plan;
  bool hit = false;
};

class PlanCache {
 public:
  static constexpr std::uint64_t kDefaultLimit = 20'000'000'000;  // bytes

  // `flag` is --cache; without it $TRANSLOAD_CACHE; without both, or where it is empty, nothing is
  // kept. The limit is $TRANSLOAD_CACHE_BYTES ("50GB"). InputError where the folder cannot be made
  // or the limit is no size.
  static PlanCache open(const std::optional<std::string>& flag);

  PlanCache(std::string folder, std::uint64_t limit_bytes);

  // The plan of `job` under this strategy and discipline: the one in the folder, else what `make`
  // makes, which is then kept. A damaged entry is replaced. A plan that cannot be kept (a full
  // disk, more than the limit) is returned all the same.
  CachedPlan plan(const Job& job, const StrategyChoice& strategy, Discipline discipline,
                  const std::function<Plan()>& make) const;

 private:
  std::optional<Plan> look_up(const std::string& path, const Job& job,
                              const StrategyChoice& strategy, Discipline discipline) const;
  void keep(const Plan& plan, const std::string& path) const;
  void drop_oldest(const std::string& kept) const;

  std::string folder_;  // empty: nothing is kept
  std::uint64_t limit_;
};

}  // namespace transload
