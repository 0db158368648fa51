#include "topologies/import/nvbandwidth.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "common/check.h"
#include "common/error.h"
#include "topologies/import/readers.h"
#include "topologies/import/text_lines.h"

namespace transload {
namespace {

using import_text::decimal_times;
using import_text::TextLine;
using import_text::whole_number;
using import_text::words_of;

constexpr std::int64_t kGigabyte = 1'000'000'000;
constexpr std::int64_t kPicosecondsPerNanosecond = 1'000;
constexpr std::int64_t kMaxSum = 1'000'000'000 * kGigabyte;
constexpr std::int64_t kMaxGpus = 1024;  // of one machine

bool measures_latency(std::string_view test) { return import_text::contains(test, "latency"); }

// Which tests measure one link, whether their sum is over ordered pairs of GPUs or over GPUs, and
// how often a byte of it loads the link. Sources: nvbandwidth's README (what each test sums);
// device_local_copy counts a copied byte once, and it is read and written: 3312 GB/s on a GB300
// with 8 TB/s.
struct MeasuredLink {
  std::string_view test;
  std::string_view link;
  bool over_pairs;
  std::int64_t loads;
};

constexpr std::array<MeasuredLink, 5> kLinks = {
    {{"device_to_device_memcpy_read_ce", "nvlink", true, 1},
     {"device_to_device_memcpy_write_ce", "nvlink", true, 1},
     {"host_to_device_memcpy_ce", "host", false, 1},
     {"device_to_host_memcpy_ce", "host", false, 1},
     {"device_local_copy", "copy", false, 2}}};

const MeasuredLink* link_of(const std::string& test) {
  const auto* found = std::find_if(kLinks.begin(), kLinks.end(),
                                   [&](const MeasuredLink& link) { return link.test == test; });
  return found == kLinks.end() ? nullptr : found;
}

class Parser {
 public:
  Parser(const std::string& text, const std::string& file) : text_(text), file_(file) {}

  std::vector<NvbandwidthTest> parse() {
    for (const TextLine& line : import_text::lines_of(text_)) {
      const auto words = words_of(line.text);
      if (words.empty()) continue;
      if (words[0] == "SUM")
        read_sum(words, line.number);
      else
        read_matrix_line(words);
    }
    if (tests_.empty())
      throw InputError({file_, 0, ""}, "no line SUM TEST NUMBER: not an output of nvbandwidth");
    return std::move(tests_);
  }

 private:
  void read_sum(const std::vector<std::string_view>& words, int line) {
    const bool latency = words.size() > 1 && measures_latency(words[1]);
    const auto sum = words.size() == 3
                         ? decimal_times(words[2], latency ? kPicosecondsPerNanosecond : kGigabyte)
                         : std::nullopt;
    if (!sum || *sum > kMaxSum)
      throw InputError({file_, line, ""}, "expected SUM TEST NUMBER; cut off?");
    for (const NvbandwidthTest& other : tests_)
      if (other.name == words[1])
        throw InputError(
            {file_, line, other.name},
            fmt::format("the test stands twice (line {}): two runs in one file", other.line));
    tests_.push_back({std::string(words[1]), *sum, columns_, line});
    columns_ = 0;
  }

  // The head of a matrix counts its columns: 0 1 2 3.
  void read_matrix_line(const std::vector<std::string_view>& words) {
    for (std::size_t i = 0; i < words.size(); ++i)
      if (whole_number(words[i]) != static_cast<std::int64_t>(i)) return;
    if (static_cast<std::int64_t>(words.size()) <= kMaxGpus)
      columns_ = static_cast<std::int32_t>(words.size());
  }

  const std::string& text_;
  const std::string& file_;
  std::vector<NvbandwidthTest> tests_;
  std::int32_t columns_ = 0;
};

}  // namespace

std::vector<NvbandwidthTest> parse_nvbandwidth(const std::string& text, const std::string& file) {
  std::vector<NvbandwidthTest> tests = Parser(text, file).parse();
  std::int32_t gpus = 0;
  for (const NvbandwidthTest& test : tests) {
    if (test.gpus == 0) continue;
    if (gpus > 0 && test.gpus != gpus)
      throw InputError({file, test.line, test.name},
                       fmt::format("a matrix of {} GPUs, and one of {} before: two machines in one "
                                   "file",
                                   test.gpus, gpus));
    gpus = test.gpus;
  }
  return tests;
}

std::vector<ImportedSum> nvbandwidth_sums(const std::vector<NvbandwidthTest>& tests) {
  std::vector<ImportedSum> sums;
  for (const NvbandwidthTest& test : tests)
    if (const MeasuredLink* link = link_of(test.name))
      sums.push_back({std::string(link->link), test.sum * link->loads, link->over_pairs,
                      "nvbandwidth " + test.name});
  return sums;
}

std::vector<ImportedMeasurement> rates_of_sums(const std::vector<ImportedSum>& sums,
                                               std::int32_t gpus) {
  TRANSLOAD_CHECK(gpus >= 1 && gpus <= kMaxGpus, "a machine has GPUs");
  std::vector<ImportedMeasurement> rates;
  for (const ImportedSum& sum : sums) {
    const std::int64_t count = sum.over_pairs ? static_cast<std::int64_t>(gpus) * (gpus - 1) : gpus;
    if (count == 0) continue;
    ImportedMeasurement one{sum.link, sum.rate / count, 0,
                            fmt::format("{}: the sum over {} {}", sum.what, count,
                                        sum.over_pairs ? "pairs of GPUs" : "GPUs")};
    const auto same =
        std::find_if(rates.begin(), rates.end(),
                     [&](const ImportedMeasurement& other) { return other.link == one.link; });
    if (same == rates.end())
      rates.push_back(std::move(one));
    else if (one.rate < same->rate)
      *same = std::move(one);
  }
  return rates;
}

ImportFindings read_nvbandwidth(const std::string& text, const std::string& file) {
  const std::vector<NvbandwidthTest> tests = parse_nvbandwidth(text, file);
  ImportFindings findings;
  findings.kind = "nvbandwidth";
  std::int32_t gpus = 0;
  for (const NvbandwidthTest& test : tests) gpus = std::max(gpus, test.gpus);
  if (gpus > 0) {
    findings.measurements = rates_of_sums(nvbandwidth_sums(tests), gpus);
  } else {
    findings.sums = nvbandwidth_sums(tests);
    findings.asked.push_back(
        "how many GPUs the machine has: the file holds sums over all of them and no matrix");
  }
  for (const NvbandwidthTest& test : tests)
    if (link_of(test.name) == nullptr)
      findings.ignored.push_back(test.name + ": says nothing of one link in one direction");
  return findings;
}

}  // namespace transload
