#include "executor/mpi/mpi_company.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <thread>
#include <utility>

#include "common/error.h"
#include "common/hash.h"

namespace transload {
namespace {

enum NoteKind : std::int64_t { kReady, kNotice };
// Time for the others to notice by themselves and write their reports: mpirun ends all when one
// ends.
constexpr auto kPatience = std::chrono::seconds(3);
constexpr int kRunFailed = 3;

// Runs a call on MPI's thread and waits for its request. RunFailure after `timeout_s`.
void finish(MpiLoop& loop, std::function<MPI_Request()> call, double timeout_s,
            const std::string& what) {
  const auto done = std::make_shared<std::promise<void>>();
  std::future<void> finished = done->get_future();
  if (!loop.begin(std::move(call), [done] { done->set_value(); }))
    throw RunFailure(what + ": the run has been stopped");
  if (finished.wait_for(std::chrono::duration<double>(timeout_s)) != std::future_status::ready)
    throw RunFailure(fmt::format("{}: not every process came within {} s", what, timeout_s));
}

}  // namespace

MpiTransport::MpiTransport()
    : loop_(std::make_unique<MpiLoop>(
          [this](int process, const MpiLoop::Note& note) { noted(process, note); })) {}

void MpiTransport::transmit(std::int32_t process, int mpi_tag, Outgoing part) {
  loop_->begin(
      [process, mpi_tag, bytes = part.bytes] {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, process, mpi_tag,
                  MPI_COMM_WORLD, &request);
        return request;
      },
      [done = std::move(part.done)] { done(nullptr); });
}

void MpiTransport::send(std::int32_t process, Plane, const PartTag& tag,
                        std::span<const std::byte> bytes, Done done) {
  std::unique_lock lock(mutex_);
  const Key key{process, tag};
  const auto ready = ready_.find(key);
  if (ready == ready_.end()) {
    waiting_.emplace(key, Outgoing{bytes, std::move(done)});
    return;
  }
  const int mpi_tag = ready->second;
  ready_.erase(ready);
  lock.unlock();
  transmit(process, mpi_tag, {bytes, std::move(done)});
}

void MpiTransport::receive(std::int32_t process, Plane, const PartTag& tag,
                           std::span<std::byte> bytes, Done done) {
  int mpi_tag = 0;
  {
    const std::lock_guard lock(mutex_);
    int& next = next_tag_[process];
    mpi_tag = next;
    next = (next + 1) % MpiLoop::kDataTags;
  }
  loop_->begin(
      [process, mpi_tag, bytes] {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, process, mpi_tag,
                  MPI_COMM_WORLD, &request);
        return request;
      },
      [done = std::move(done)] { done(nullptr); });
  loop_->send_note(process, {kReady, tag.refit, tag.operation, tag.part, mpi_tag});
}

void MpiTransport::notify(std::int32_t process, std::uint32_t operation) {
  loop_->send_note(process, {kNotice, operation});
}

void MpiTransport::noted(int process, const MpiLoop::Note& note) {
  if (note[0] == kNotice) return notices_.hear(static_cast<std::uint32_t>(note[1]));
  const PartTag tag{static_cast<std::uint32_t>(note[1]), static_cast<std::uint32_t>(note[2]),
                    static_cast<std::uint32_t>(note[3])};
  const auto mpi_tag = static_cast<int>(note[4]);
  std::unique_lock lock(mutex_);
  const auto part = waiting_.find({process, tag});
  if (part == waiting_.end()) {
    ready_.emplace(Key{process, tag}, mpi_tag);
    return;
  }
  Outgoing outgoing = std::move(part->second);
  waiting_.erase(part);
  lock.unlock();
  transmit(process, mpi_tag, std::move(outgoing));
}

void MpiTransport::on_notice(Notified notified) { notices_.hand_to(std::move(notified)); }

void MpiTransport::stop() { loop_->stop(); }

void MpiCompany::meet(const Plan& plan, const Hosting&, double timeout_s) {
  const Digest own = plan.digest();
  // All have the same plan if the least and the greatest digest are the same.
  std::array<std::uint64_t, 4> mine = {own.high, own.low, ~own.high, ~own.low};
  std::array<std::uint64_t, 4> least{};
  finish(
      transport_.loop(),
      [&] {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Iallreduce(mine.data(), least.data(), static_cast<int>(mine.size()), MPI_UINT64_T,
                       MPI_MIN, MPI_COMM_WORLD, &request);
        return request;
      },
      timeout_s, "meeting the other processes");
  if (least != mine)
    throw RunFailure(fmt::format("process {} has plan {}, others have another; all need the same",
                                 process(), to_string(own)));
}

void MpiCompany::barrier(const std::string& name, double timeout_s) {
  finish(
      transport_.loop(),
      [] {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        return request;
      },
      timeout_s, "barrier " + name);
}

Verdict MpiCompany::report(const std::string& reason) {
  failed_ = true;
  return {1, {}, fmt::format("process {}: {}", process(), reason)};
}

void MpiCompany::tell(const std::string& word) {
  word_ = word;
  if (failed_ || process() == 0) return;
  finish(
      transport_.loop(),
      [&] {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Isend(word_.data(), static_cast<int>(word_.size()), MPI_CHAR, 0, MpiLoop::kWordTag,
                  MPI_COMM_WORLD, &request);
        return request;
      },
      kPatience.count(), "telling the result");
}

std::vector<std::string> MpiCompany::hear_all(const std::vector<std::int32_t>&, double timeout_s) {
  std::vector<std::string> words = {word_};
  if (failed_) return words;
  for (int other = 1; other < processes(); ++other) {
    std::string word;
    finish(
        transport_.loop(),
        [&] {
          MPI_Status status;
          MPI_Probe(other, MpiLoop::kWordTag, MPI_COMM_WORLD, &status);
          int length = 0;
          MPI_Get_count(&status, MPI_CHAR, &length);
          word.resize(static_cast<std::size_t>(length));
          MPI_Recv(word.data(), length, MPI_CHAR, other, MpiLoop::kWordTag, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
          return MPI_Request(MPI_REQUEST_NULL);
        },
        timeout_s, fmt::format("the result of process {}", other));
    words.push_back(std::move(word));
  }
  return words;
}

void MpiCompany::leave() {
  if (!failed_) return barrier("leave", kPatience.count());
  std::this_thread::sleep_for(kPatience);
  transport_.loop().abort(kRunFailed);
}

}  // namespace transload
