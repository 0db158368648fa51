#include "cli/explanation_sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "cli/describe_plan.h"
#include "common/counted.h"
#include "common/units.h"

namespace transload {
namespace {

// What each bound of the family says, for whoever has not read docs/bounds.md.
struct BoundWords {
  std::string_view name;
  std::string_view meaning;
};
constexpr BoundWords kBoundWords[] = {
    {"dst_gpu", "every destination GPU must take in what it wants"},
    {"domain_in", "every byte that an NVLink domain wants must enter it once"},
    {"pod_in", "what the nodes below a narrow link want must come in through it"},
    {"src_once", "what only some sources hold must leave them once"},
    {"pod_out", "what only the nodes below a narrow link hold must leave through it"},
    {"volume", "every byte that enters a domain must leave some NIC of the job"},
    {"nvlink", "a domain's bytes must pass its NICs and NVLink ports"},
    {"domain_part", "some GPUs of an NVLink domain get or send too much for their ports"},
    {"hbm", "a GPU's memory must write what arrives"},
};

std::string meaning_of(const std::string& bound) {
  for (const BoundWords& words : kBoundWords)
    if (words.name == bound) return fmt::format(" ({})", words.meaning);
  return "";
}

std::string bytes_text(std::uint64_t bytes) { return format_bytes(static_cast<double>(bytes)); }

std::string percent(double share) {
  const double value = 100 * share;
  return value >= 0.05 && value < 10 ? fmt::format("{:.1f} %", value)
                                     : fmt::format("{:.0f} %", value);
}

std::string some_names(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i)
    text += (i > 0 ? ", " : "") + names[i];
  return text + (names.size() > kShown ? ", ..." : "");
}

class Sentences {
 public:
  Sentences(const Plan& plan, const std::optional<BoundReport>& bounds, const PlanTotals& totals,
            const Explanation& facts, const std::optional<SimulationResult>& simulation)
      : plan_(plan), bounds_(bounds), totals_(totals), facts_(facts), simulation_(simulation) {}

  std::vector<std::string> make() {
    say_time();
    say_bound();
    say_gap();
    say_ports();
    say_idle();
    say_bytes();
    say_roles();
    say_waiting();
    return std::move(sentences_);
  }

 private:
  void say(std::string sentence) { sentences_.push_back(std::move(sentence)); }

  double bound_s() const { return plan_.header().bound_s; }

  void say_time() {
    const PlanHeader& header = plan_.header();
    std::string text = fmt::format(
        "The refit takes {} {} ({} under {} on {}, {} of {} to {}).",
        format_seconds(facts_.refit_s),
        facts_.simulated ? "in simulation" : "by the closed-form estimate",
        strategy_title(header.strategy), name_of(header.discipline), header.topology_name,
        bytes_text(totals_.payload_bytes), counted(plan_.tensors(), "tensor"),
        counted(destinations(plan_), "destination rank"));
    say(std::move(text));
  }

  void say_bound() {
    if (bound_s() <= 0) return say("Nothing has to cross a port, so no bound holds.");
    const std::string& name = plan_.header().bound_name;
    std::string text = fmt::format("No schedule takes less than {}: what binds is {}{}",
                                   format_seconds(bound_s()), name, meaning_of(name));
    if (bounds_)
      for (const Bound& bound : bounds_->bounds)
        if (bound.name == name && bound.rate > 0)
          text += fmt::format(", {} over the {}, which reach {}",
                              format_bytes(static_cast<double>(bound.bytes)), bound.port,
                              format_rate(static_cast<double>(bound.rate)));
    say(text + ".");
  }

  // The parts of the gap with what each means, the largest first.
  void say_gap() {
    if (bound_s() <= 0) return;
    const double gap = facts_.refit_s - bound_s();
    if (gap < 0.005 * bound_s())
      return say(
          fmt::format("The plan is within {} of that: nothing is left to win but a lower "
                      "bound, that is, other layouts or other hardware.",
                      percent(std::max(gap, 0.0) / bound_s())));
    const PlanHeader& header = plan_.header();
    std::vector<std::pair<double, std::string>> parts = {
        {facts_.gap.balance_s,
         fmt::format("its most loaded port, {}, carries more than the bound makes any carry",
                     busiest())},
        {facts_.gap.fill_s,
         fmt::format("chunks of {} fill and empty the pipeline, and operations pay latency and "
                     "launch",
                     bytes_text(header.chunk_bytes))}};
    if (facts_.simulated) parts.emplace_back(facts_.gap.waiting_s, waiting_reason());
    std::stable_sort(parts.begin(), parts.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::string text =
        fmt::format("The plan is {} ({}) above it", format_seconds(gap), percent(gap / bound_s()));
    const char* joint = ": ";
    for (const auto& [seconds, reason] : parts) {
      if (std::abs(seconds) < 0.02 * gap) continue;
      text += fmt::format("{}{} because {}", joint, signed_seconds(seconds), reason);
      joint = "; ";
    }
    say(text + ".");
    if (!facts_.simulated)
      say(fmt::format(
          "What order, {} and staging memory ({} a rank at most) cost beyond that, only "
          "--simulate tells.",
          header.discipline == Discipline::kGroups ? "issue groups" : "windows",
          bytes_text(totals_.staging_bytes)));
  }

  static std::string signed_seconds(double seconds) {
    return seconds < 0 ? "-" + format_seconds(-seconds) : format_seconds(seconds);
  }

  std::string waiting_reason() const {
    const PlanHeader& header = plan_.header();
    if (header.discipline == Discipline::kGroups)
      return fmt::format(
          "a group of {} colours ends with its slowest transfer before the next one "
          "begins, and chunks wait for staging slots",
          header.colours_per_group);
    return fmt::format("ports wait for their order, their window of {} and staging slots",
                       header.window);
  }

  std::string busiest() const {
    const LoadedPort* most = nullptr;
    for (const LoadedPort& port : facts_.ports)
      if (most == nullptr || port.busy_s > most->busy_s) most = &port;
    return most == nullptr ? "none" : fmt::format("{} {}", most->kind, most->name);
  }

  void say_ports() {
    for (const LoadedPort& port : facts_.ports)
      if (port.busy_s > 0)
        say(
            fmt::format("Most loaded {}: {}, {} in {}, {} of the refit; of the {} that carry "
                        "anything the median is busy {}.",
                        port.kind, port.name, bytes_text(port.bytes), format_seconds(port.busy_s),
                        percent(port.busy_s / facts_.refit_s), port.links,
                        percent(port.median_busy_s / facts_.refit_s)));
  }

  void say_idle() {
    if (facts_.idle.of == 0) return;
    if (facts_.idle.names.empty())
      return say(
          fmt::format("None of the {} is idle: each carries at least 5 % of what the most "
                      "loaded one does.",
                      counted(facts_.idle.of, "NIC")));
    say(fmt::format("{} of {} are idle (less than 5 % of the most loaded one): {}.",
                    facts_.idle.names.size(), counted(facts_.idle.of, "NIC"),
                    some_names(facts_.idle.names)));
  }

  void say_bytes() {
    const std::uint64_t all = totals_.network_bytes + totals_.nvlink_bytes + totals_.local_bytes;
    if (all == 0) return;
    const auto part = [&](std::uint64_t bytes) {
      return fmt::format("{} ({})", bytes_text(bytes),
                         percent(static_cast<double>(bytes) / static_cast<double>(all)));
    };
    say(
        fmt::format("Of {} that move, {} cross the network, {} NVLink, and {} are copies inside a "
                    "GPU.",
                    bytes_text(all), part(totals_.network_bytes), part(totals_.nvlink_bytes),
                    part(totals_.local_bytes)));
  }

  void say_roles() {
    std::map<OpRole, std::uint64_t> bytes;
    for (OpId op = 0; op < plan_.operations(); ++op)
      if (op_kind(plan_, op) == OpKind::kTransfer) bytes[op_role(plan_, op)] += plan_.op_bytes[op];
    static constexpr std::pair<OpRole, const char*> kWords[] = {
        {OpRole::kInject, "leaves the ranks that hold it"},
        {OpRole::kForward, "is passed on from domain to domain"},
        {OpRole::kRelay, "goes through ranks that do not want it, to use their ports"},
        {OpRole::kFanOut, "fans out over NVLink inside a domain"},
        {OpRole::kCollective, "moves in hops of collectives"},
        {OpRole::kExport, "is gathered among the trainers first"}};
    std::string text;
    for (const auto& [role, words] : kWords)
      if (const auto found = bytes.find(role); found != bytes.end() && found->second > 0)
        text += fmt::format("{}{} {}", text.empty() ? "" : "; ", bytes_text(found->second), words);
    if (!text.empty()) say("Of the transfers, " + text + ".");
  }

  // Busy seconds of a kind of port by rank, of the ranks whose ports carry anything.
  std::vector<double> busy_of(PortKind kind) const {
    std::vector<double> busy;
    for (std::size_t port = 0; port < plan_.ports(); ++port)
      if (plan_.port_kind[port] == static_cast<std::uint8_t>(kind) && totals_.port_bytes[port] > 0)
        busy.push_back(busy_seconds(plan_, plan_.port_link[port], totals_.port_bytes[port]));
    std::sort(busy.begin(), busy.end());
    return busy;
  }

  void say_waiting() {
    if (simulation_) {
      say_times("Sources are free", simulation_->source_free_s);
      say_times("Destinations are ready", simulation_->destination_ready_s);
      if (!simulation_->bottleneck.empty())
        say("The bottleneck is " + simulation_->bottleneck + ".");
      return;
    }
    for (const auto& [kind, words] :
         {std::pair(PortKind::kNicOut, "send"), std::pair(PortKind::kNicIn, "receive")}) {
      const std::vector<double> busy = busy_of(kind);
      if (busy.size() < 2 || busy.back() <= 0) continue;
      const double half = busy[busy.size() / 2];
      if (half > 0.95 * busy.back()) continue;
      say(fmt::format(
          "Who waits: half of the {} NICs that {} are done after {}, the last only after "
          "{}.",
          busy.size(), words, format_seconds(half), format_seconds(busy.back())));
    }
  }

  void say_times(const std::string& what, const std::vector<double>& per_rank) {
    std::vector<double> times;
    for (const double time : per_rank)
      if (!std::isnan(time)) times.push_back(time);
    if (times.empty()) return;
    std::sort(times.begin(), times.end());
    say(fmt::format("{} after {} (median), the last of {} after {}.", what,
                    format_seconds(times[times.size() / 2]), times.size(),
                    format_seconds(times.back())));
  }

  const Plan& plan_;
  const std::optional<BoundReport>& bounds_;
  const PlanTotals& totals_;
  const Explanation& facts_;
  const std::optional<SimulationResult>& simulation_;
  std::vector<std::string> sentences_;
};

}  // namespace

double busy_seconds(const Plan& plan, std::uint32_t link, std::uint64_t bytes) {
  const std::int64_t rate = link_achieved_rate(plan, link);
  return rate > 0 ? static_cast<double>(bytes) / static_cast<double>(rate) : 0;
}

std::vector<std::string> sentences_of(const Plan& plan, const Explanation& facts,
                                      const PlanTotals& totals,
                                      const std::optional<BoundReport>& bounds,
                                      const std::optional<SimulationResult>& simulation) {
  return Sentences(plan, bounds, totals, facts, simulation).make();
}

}  // namespace transload
