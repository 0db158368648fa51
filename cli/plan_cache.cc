#include "cli/plan_cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/files.h"
#include "common/content_hash.h"
#include "common/error.h"
#include "common/home.h"
#include "common/units.h"
#include "planner/job/job_digest.h"

namespace transload {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEnding = ".plan";
constexpr const char* kTemporary = ".part";

std::string content_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

// Another build of the program may plan otherwise under the same version number.
const std::string& program_digest() {
  static const std::string digest = [] {  // once: the image is megabytes
    const std::string image = content_of("/proc/self/exe");
    return to_string(digest_of(std::as_bytes(std::span(image))));
  }();
  return digest;
}

// Constants of published strategies are read while planning.
void add_constants(ContentHash& hash) {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const fs::directory_entry& file :
       fs::directory_iterator(transload_home() + "/planner/strategy", ignored))
    if (file.path().extension() == ".yaml") files.push_back(file.path());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    hash.add_text(file.filename().string());
    hash.add_text(content_of(file));
  }
}

std::string key_of(const Job& job, const StrategyChoice& strategy, Discipline discipline) {
  ContentHash hash;
  hash.add_text(program_digest());
  add_constants(hash);
  const Digest content = content_digest(job);
  hash.add(content.high, content.low, discipline, strategy.bucket_bytes.has_value(),
           strategy.bucket_bytes.value_or(0));
  hash.add_text(strategy.name);
  hash.add_text(strategy.mode);
  return to_string(hash.finish());
}

struct Entry {
  fs::path path;
  fs::file_time_type used;
  std::uint64_t bytes = 0;
};

// Entries that vanish meanwhile are somebody else's work.
std::vector<Entry> entries_of(const std::string& folder) {
  std::vector<Entry> entries;
  std::error_code error;
  for (const fs::directory_entry& file : fs::directory_iterator(folder, error)) {
    const std::string ending = file.path().extension().string();
    if (ending != kEnding && ending != kTemporary) continue;
    std::error_code gone;
    const fs::file_time_type used = fs::last_write_time(file.path(), gone);
    const std::uint64_t bytes = gone ? 0 : fs::file_size(file.path(), gone);
    if (gone) continue;
    // A writer that died left this behind.
    const bool left_behind =
        ending == kTemporary && fs::file_time_type::clock::now() - used > std::chrono::hours(1);
    if (left_behind) fs::remove(file.path(), gone);
    if (ending == kEnding) entries.push_back({file.path(), used, bytes});
  }
  return entries;
}

}  // namespace

PlanCache PlanCache::open(const std::optional<std::string>& flag) {
  const char* const environment = std::getenv("TRANSLOAD_CACHE");
  const std::string folder = flag ? *flag : environment != nullptr ? environment : "";
  if (flag || !folder.empty()) require_folder(folder, flag ? "--cache" : "TRANSLOAD_CACHE");
  std::uint64_t limit = kDefaultLimit;
  if (const char* const text = std::getenv("TRANSLOAD_CACHE_BYTES")) {
    const auto bytes = parse_bytes(text);
    if (!bytes)
      throw InputError(
          fmt::format("TRANSLOAD_CACHE_BYTES: expected a size such as 50GB, found {}", text));
    limit = static_cast<std::uint64_t>(*bytes);
  }
  return {folder, limit};
}

PlanCache::PlanCache(std::string folder, std::uint64_t limit_bytes)
    : folder_(std::move(folder)), limit_(limit_bytes) {}

CachedPlan PlanCache::plan(const Job& job, const StrategyChoice& strategy, Discipline discipline,
                           const std::function<Plan()>& make) const {
  if (folder_.empty()) return {make(), false};
  const std::string path =
      fmt::format("{}/{}{}", folder_, key_of(job, strategy, discipline), kEnding);
  if (const auto found = look_up(path, job, strategy, discipline)) return {*found, true};
  Plan plan = make();
  keep(plan, path);
  return {std::move(plan), false};
}

std::optional<Plan> PlanCache::look_up(const std::string& path, const Job& job,
                                       const StrategyChoice& strategy,
                                       Discipline discipline) const {
  std::error_code error;
  if (!fs::exists(path, error)) return std::nullopt;
  try {
    Plan plan = open_plan(path);
    // A whole plan under another plan's name is damage, too.
    const PlanHeader& header = plan.header();
    if (header.job_text != job.text || header.job_name != job.name ||
        header.strategy != strategy.name || header.discipline != discipline)
      return std::nullopt;
    fs::last_write_time(path, fs::file_time_type::clock::now(), error);
    return plan;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

void PlanCache::keep(const Plan& plan, const std::string& path) const {
  if (plan.image().size() > limit_) return;
  // A name of its own for each writer, so that two of one plan do not write into one file.
  std::string temporary = path + ".XXXXXX" + kTemporary;
  const int descriptor =
      mkstemps(temporary.data(), static_cast<int>(std::string(kTemporary).size()));
  if (descriptor < 0) return;
  close(descriptor);
  std::error_code error;
  {
    std::ofstream stream(temporary, std::ios::binary | std::ios::trunc);
    stream.write(reinterpret_cast<const char*>(plan.image().data()),
                 static_cast<std::streamsize>(plan.image().size()));
    stream.close();
    if (stream) {
      fs::permissions(temporary,
                      fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read |
                          fs::perms::others_read,
                      error);
      fs::rename(temporary, path, error);
      if (!error) return drop_oldest(path);
    }
  }
  fs::remove(temporary, error);
}

void PlanCache::drop_oldest(const std::string& kept) const {
  std::vector<Entry> entries = entries_of(folder_);
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.used < b.used; });
  std::uint64_t bytes = 0;
  for (const Entry& entry : entries) bytes += entry.bytes;
  for (const Entry& entry : entries) {
    if (bytes <= limit_) return;
    if (entry.path == kept) continue;
    std::error_code gone;
    fs::remove(entry.path, gone);
    bytes -= entry.bytes;
  }
}

}  // namespace transload
