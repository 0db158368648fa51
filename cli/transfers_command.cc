// transload transfers: the overlap of both layouts, before any strategy.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands.h"
#include "cli/shard_listing.h"
#include "cli/subject.h"
#include "cli/table.h"
#include "common/units.h"
#include "planner/demand/transfers.h"

namespace transload {
namespace {

struct Arguments {
  std::string job;
  std::optional<std::string> tensor;
  std::uint64_t limit = 10'000;
};

nlohmann::json overlap_json(const ReshardProblem& problem, const Overlap& overlap) {
  return {{"tensor", problem.names[overlap.tensor]},
          {"source_rank", overlap.holders.front()},
          {"destination_rank", overlap.destination},
          {"box", box_json(overlap.box)},
          {"bytes", overlap.bytes},
          {"holders", overlap.holders},
          {"source_runs", overlap.source_runs},
          {"destination_runs", overlap.destination_runs}};
}

// Written piece by piece: a whole model has more operations than memory should hold.
void print_json_stream(Session& session, const ReshardProblem& problem, OverlapLister& lister,
                       const std::vector<std::uint32_t>& tensors, const OverlapTotals& totals,
                       std::uint64_t limit) {
  const ShardListing listing(problem, tensors, limit);
  const bool truncated = listing.truncated() || static_cast<std::uint64_t>(totals.count) > limit;
  session.out << fmt::format(
      "{{\n  \"count\": {},\n  \"pairs\": {},\n  \"bytes\": {},\n  \"truncated\": {},\n"
      "  \"operations\": [",
      totals.count, totals.pairs, totals.bytes, truncated);
  bool first = true;
  lister.visit(tensors, limit, [&](const Overlap& overlap) {
    session.out << (first ? "\n    " : ",\n    ") << json_line(overlap_json(problem, overlap));
    first = false;
  });
  session.out << "\n  ],\n  \"shards\": ";
  listing.write_shards(session.out);
  session.out << ",\n  \"buffers\": ";
  listing.write_buffers(session.out);
  session.out << "\n}\n";
}

std::string holders_text(std::span<const Rank> holders) {
  constexpr std::size_t kShown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(holders.size(), kShown); ++i)
    text += fmt::format("{}{}", i > 0 ? " " : "", holders[i]);
  if (holders.size() > kShown) text += fmt::format(" +{}", holders.size() - kShown);
  return text;
}

void print_text(Session& session, const Job& job, OverlapLister& lister,
                const std::vector<std::uint32_t>& tensors, const OverlapTotals& totals,
                std::uint64_t limit) {
  session.out << fmt::format("{}: {} boxes of {} in common, {} in all, between {} pairs of ranks\n",
                             job.name, totals.count, counted(tensors.size(), "tensor"),
                             format_bytes(static_cast<double>(totals.bytes)), totals.pairs);
  Table table({"from", "to", "bytes", "box", "runs", "holders", "tensor"},
              {Align::kRight, Align::kRight, Align::kRight, Align::kLeft, Align::kLeft,
               Align::kLeft, Align::kLeft});
  lister.visit(tensors, limit, [&](const Overlap& overlap) {
    table.add({fmt::format("{}", overlap.holders.front()), fmt::format("{}", overlap.destination),
               format_bytes(static_cast<double>(overlap.bytes)), to_string(overlap.box),
               fmt::format("{} -> {}", overlap.source_runs, overlap.destination_runs),
               holders_text(overlap.holders), job.problem.names[overlap.tensor]});
  });
  session.out << table.text();
  if (static_cast<std::uint64_t>(totals.count) > limit)
    session.out << fmt::format("... {} of {} shown; --limit and --tensor show others\n", limit,
                               totals.count);
}

int transfers_command(Session& session, const Arguments& arguments) {
  const Job job = load_job_only(arguments.job);
  const auto tensors = naming_file(arguments.job, [&] {
    make_demand(job.problem);  // refuses what no source holds
    return select_tensors(job.problem, arguments.tensor);
  });
  OverlapLister lister(job.problem);
  const OverlapTotals totals = lister.totals(tensors);
  if (session.json)
    print_json_stream(session, job.problem, lister, tensors, totals, arguments.limit);
  else
    print_text(session, job, lister, tensors, totals, arguments.limit);
  return kDone;
}

}  // namespace

void add_transfers(CLI::App& program, Session& session) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(program, session, "transfers",
                                  "List what both layouts have in common, before any strategy",
                                  "transfers examples/8x8.yaml");
  command->add_option("JOB", arguments->job, "Job file (YAML)")->required();
  command->add_option("--tensor", arguments->tensor, "Only this tensor (name or glob)");
  command
      ->add_option("--limit", arguments->limit,
                   "List at most so many operations and shards; totals stay exact")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  on_chosen(command, session,
            [arguments, &session] { return transfers_command(session, *arguments); });
}

}  // namespace transload
