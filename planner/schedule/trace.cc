#include "planner/schedule/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>

#include "common/check.h"
#include "common/error.h"
#include "planner/schedule/access.h"
#include "planner/schedule/op_facts.h"
#include "planner/schedule/text.h"

namespace transload {
namespace {

// Perfetto drops complete events that overlap without nesting within one thread
// (perfetto.dev/docs/faq, "Why are overlapping events in JSON traces not displayed correctly"), and
// the operations of a window do overlap. So a lane has as many rows as it has operations at once:
// row k of a lane is thread lane + 8 k. All rows bear the lane's name; where nothing overlaps, the
// thread number is the lane's.
constexpr std::uint32_t kThreadsPerRow = 8;
static_assert(kLanes <= kThreadsPerRow);

constexpr std::size_t kFlushBytes = 1 << 20;
constexpr std::size_t kNameCharacters = 24;
constexpr double kMicroseconds = 1e6;

class TraceFile {
 public:
  explicit TraceFile(const std::string& path)
      : path_(path), file_(std::fopen(path.c_str(), "wb"), &std::fclose) {
    if (!file_) fail();
  }

  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Args>(args)...);
    if (buffer_.size() > kFlushBytes) flush();
  }
  // The comma between events.
  void next_event() {
    print("{}", first_ ? "\n" : ",\n");
    first_ = false;
  }
  void close() {
    flush();
    if (std::fclose(file_.release()) != 0) fail();
  }

 private:
  void flush() {
    if (std::fwrite(buffer_.data(), 1, buffer_.size(), file_.get()) != buffer_.size()) fail();
    buffer_.clear();
  }
  [[noreturn]] void fail() const {
    throw InputError(fmt::format("{}: cannot write the trace: {}", path_, std::strerror(errno)));
  }

  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  fmt::memory_buffer buffer_;
  bool first_ = true;
};

struct Span {
  OpId op;
  Lane lane;
  double start_s;
  double finish_s;
  std::uint32_t row = 0;
};

// A run that broke off leaves operations without a start or a finish; they are drawn without width.
Span span_of(const Plan& plan, const OpTimes& times, OpId op, bool at_source) {
  const double start = std::isfinite(times.start_s[op]) ? times.start_s[op] : 0.0;
  const double finish = std::isfinite(times.finish_s[op]) ? times.finish_s[op] : start;
  return {op, lane_of(plan, op, at_source), start, std::max(start, finish)};
}

bool on_rank_as_source(const Plan& plan, OpId op, std::int32_t rank) {
  return plan.op_source[op] == rank;
}

// The spans of a rank by start, each in the first row of its lane that is free by then. Returns the
// number of rows per lane.
std::array<std::uint32_t, kLanes> lay_out(std::vector<Span>& spans) {
  std::stable_sort(spans.begin(), spans.end(),
                   [](const Span& a, const Span& b) { return a.start_s < b.start_s; });
  std::array<std::vector<double>, kLanes> busy_until;
  for (Span& span : spans) {
    std::vector<double>& rows = busy_until[static_cast<std::size_t>(span.lane)];
    const auto free =
        std::find_if(rows.begin(), rows.end(), [&](double until) { return until <= span.start_s; });
    span.row = static_cast<std::uint32_t>(free - rows.begin());
    if (free == rows.end()) rows.push_back(0);
    rows[span.row] = span.finish_s;
  }
  std::array<std::uint32_t, kLanes> rows{};
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    rows[lane] = static_cast<std::uint32_t>(busy_until[lane].size());
  return rows;
}

class TraceWriter {
 public:
  TraceWriter(const Plan& plan, const OpTimes& times, const std::string& path)
      : plan_(plan), times_(times), tensors_(plan), file_(path) {
    for (std::size_t port = 0; port < plan.ports(); ++port)
      port_names_.push_back(json_quoted(plan_name(plan, plan.port_name[port])));
  }

  void write(const std::string& origin) {
    file_.print("{{\"traceEvents\": [");
    for (std::size_t rank = 0; rank < plan_.ranks(); ++rank)
      if (takes_part(plan_, static_cast<std::int32_t>(rank)))
        write_rank(static_cast<std::int32_t>(rank));
    const PlanHeader& header = plan_.header();
    file_.print(
        "\n],\n\"displayTimeUnit\": \"ms\",\n\"otherData\": {{\"origin\": {}, \"strategy\": {}, "
        "\"discipline\": {}, \"plan\": {}, \"job\": {}}}}}\n",
        json_quoted(origin), json_quoted(header.strategy), json_quoted(name_of(header.discipline)),
        json_quoted(to_string(plan_.digest())), json_quoted(header.job_name));
    file_.close();
  }

 private:
  void write_metadata(std::string_view name, std::int32_t rank, std::uint32_t thread,
                      std::string_view args) {
    file_.next_event();
    file_.print("{{\"ph\": \"M\", \"name\": \"{}\", \"pid\": {}, \"tid\": {}, \"args\": {{{}}}}}",
                name, rank, thread, args);
  }

  void write_rank(std::int32_t rank) {
    const auto r = static_cast<std::size_t>(rank);
    write_metadata("process_name", rank, 0,
                   fmt::format("\"name\": \"rank {} (node {}, domain {})\"", rank,
                               plan_.rank_node[r], plan_.rank_domain[r]));
    write_metadata("process_sort_index", rank, 0, fmt::format("\"sort_index\": {}", rank));
    std::vector<Span> spans;
    for (const OpId op : program(plan_, rank))
      spans.push_back(span_of(plan_, times_, op, on_rank_as_source(plan_, op, rank)));
    const std::array<std::uint32_t, kLanes> rows = lay_out(spans);
    std::uint32_t place = 0;  // rows of one lane stand together
    for (std::uint32_t lane = 0; lane < kLanes; ++lane)
      for (std::uint32_t row = 0; row < rows[lane]; ++row) {
        const std::uint32_t thread = lane + kThreadsPerRow * row;
        write_metadata("thread_name", rank, thread,
                       fmt::format("\"name\": \"{}\"", name_of(static_cast<Lane>(lane))));
        write_metadata("thread_sort_index", rank, thread,
                       fmt::format("\"sort_index\": {}", place++));
      }
    for (const Span& span : spans) write_span(span, rank);
  }

  void write_span(const Span& span, std::int32_t rank) {
    const OpId op = span.op;
    const bool at_source = on_rank_as_source(plan_, op, rank);
    const std::int32_t source = plan_.op_source[op];
    const std::int32_t destination = plan_.op_destination[op];
    const std::vector<std::uint32_t> tensors = tensors_.of(op);
    const std::string_view role = name_of(op_role(plan_, op));
    std::string name(role);
    if (source != destination) name += fmt::format(" {}->{}", source, destination);
    if (!tensors.empty())
      name += " " + shortened(valid_utf8(tensor_name(plan_, tensors[0])), kNameCharacters);
    file_.next_event();
    file_.print(
        "{{\"ph\": \"X\", \"name\": {}, \"cat\": \"{}\", \"ts\": {:.6f}, \"dur\": {:.6f}, "
        "\"pid\": {}, \"tid\": {}, \"args\": {{\"operation\": {}, \"lane\": \"{}\", \"bytes\": {}, "
        "\"source\": {}, \"destination\": {}",
        json_quoted(name), role, span.start_s * kMicroseconds,
        (span.finish_s - span.start_s) * kMicroseconds, rank,
        static_cast<std::uint32_t>(span.lane) + kThreadsPerRow * span.row, op, name_of(span.lane),
        plan_.op_bytes[op], source, destination);
    if (source != destination) file_.print(", \"peer\": {}", at_source ? destination : source);
    if (plan_.op_bundle[op] >= 0) file_.print(", \"bundle\": {}", plan_.op_bundle[op]);
    if (!tensors.empty())
      file_.print(", \"tensor\": {}", json_quoted(tensor_name(plan_, tensors[0])));
    if (tensors.size() > 1) file_.print(", \"tensors\": {}", tensors.size() - 1);
    file_.print(", \"chunk\": {}", plan_.op_chunk[op]);
    write_port("out_port", plan_.op_out_port[op]);
    write_port("in_port", plan_.op_in_port[op]);
    const double posted = at_source ? times_.posted_source_s[op] : times_.posted_destination_s[op];
    file_.print(", \"posted_s\": {:.12f}, \"start_s\": {:.12f}, \"finish_s\": {:.12f}",
                std::isfinite(posted) ? posted : 0.0, span.start_s, span.finish_s);
    if (plan_.op_group[op] >= 0) file_.print(", \"group\": {}", plan_.op_group[op]);
    file_.print("}}}}");
  }

  void write_port(std::string_view key, std::int32_t port) {
    if (port >= 0) file_.print(", \"{}\": {}", key, port_names_[static_cast<std::size_t>(port)]);
  }

  const Plan& plan_;
  const OpTimes& times_;
  OpTensors tensors_;
  TraceFile file_;
  std::vector<std::string> port_names_;
};

}  // namespace

void write_trace(const Plan& plan, const OpTimes& times, const std::string& origin,
                 const std::string& path) {
  const std::size_t n = plan.operations();
  TRANSLOAD_CHECK(times.posted_source_s.size() == n && times.posted_destination_s.size() == n &&
                      times.start_s.size() == n && times.finish_s.size() == n,
                  "a trace has times for every operation of its plan");
  TraceWriter(plan, times, path).write(origin);
}

}  // namespace transload
