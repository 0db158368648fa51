#include "executor/mpi/mpi_loop.h"

#include <chrono>
#include <cstdlib>
#include <memory>
#include <utility>

namespace transload {
namespace {

constexpr auto kNap = std::chrono::microseconds(50);
constexpr int kLooksBeforeNap = 64;

}  // namespace

MpiLoop::MpiLoop(Noted noted) : noted_(std::move(noted)), thread_([this] { serve(); }) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return started_; });
}

MpiLoop::~MpiLoop() {
  const std::lock_guard lock(mutex_);
  ending_ = true;
}

bool MpiLoop::begin(std::function<MPI_Request()> call, std::function<void()> done) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return false;
  calls_.push_back({std::move(call), std::move(done)});
  return true;
}

void MpiLoop::send_note(int process, const Note& note) {
  const auto copy = std::make_shared<Note>(note);
  copy->resize(kNoteWords, 0);
  begin(
      [copy, process] {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Isend(copy->data(), static_cast<int>(copy->size()), MPI_INT64_T, process, kNoteTag,
                  MPI_COMM_WORLD, &request);
        return request;
      },
      [copy] {});
}

void MpiLoop::stop() {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  changed_.wait(lock, [&] { return stopped_; });
}

void MpiLoop::abort(int code) {
  {
    const std::lock_guard lock(mutex_);
    abort_code_ = code;
    ending_ = true;
  }
  thread_.join();
  std::_Exit(code);  // MPI_Abort may return in some implementations
}

bool MpiLoop::take_calls() {
  std::vector<Call> calls;
  {
    const std::lock_guard lock(mutex_);
    calls.swap(calls_);
  }
  for (Call& call : calls) {
    const MPI_Request request = call.call();
    if (request == MPI_REQUEST_NULL) {
      call.done();
      continue;
    }
    requests_.push_back(request);
    dones_.push_back(std::move(call.done));
  }
  return !calls.empty();
}

bool MpiLoop::test_requests() {
  if (requests_.empty()) return false;
  int count = 0;
  std::vector<int> indices(requests_.size());
  MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, indices.data(),
               MPI_STATUSES_IGNORE);
  if (count <= 0) return false;
  std::vector<std::function<void()>> finished;
  for (int i = 0; i < count; ++i)
    finished.push_back(
        std::move(dones_[static_cast<std::size_t>(indices[static_cast<std::size_t>(i)])]));
  std::size_t kept = 0;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) continue;
    requests_[kept] = requests_[i];
    if (kept != i) dones_[kept] = std::move(dones_[i]);
    ++kept;
  }
  requests_.resize(kept);
  dones_.resize(kept);
  for (const auto& done : finished) done();
  return true;
}

bool MpiLoop::test_notes() {
  bool any = false;
  while (true) {
    if (note_request_ == MPI_REQUEST_NULL)
      MPI_Irecv(arriving_.data(), static_cast<int>(arriving_.size()), MPI_INT64_T, MPI_ANY_SOURCE,
                kNoteTag, MPI_COMM_WORLD, &note_request_);
    int arrived = 0;
    MPI_Status status;
    MPI_Test(&note_request_, &arrived, &status);
    if (arrived == 0) return any;
    noted_(status.MPI_SOURCE, arriving_);
    any = true;
  }
}

// A request whose peer is gone never finishes; cancelled ones are left to the end of the process.
void MpiLoop::cancel_all() {
  for (MPI_Request& request : requests_) {
    MPI_Cancel(&request);
    MPI_Request_free(&request);
  }
  requests_.clear();
  dones_.clear();
}

void MpiLoop::serve() {
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &self_);
  MPI_Comm_size(MPI_COMM_WORLD, &processes_);
  {
    const std::lock_guard lock(mutex_);
    started_ = true;
  }
  changed_.notify_all();
  int idle = 0;
  while (true) {
    const bool moved = static_cast<int>(take_calls()) + static_cast<int>(test_requests()) +
                           static_cast<int>(test_notes()) >
                       0;
    std::unique_lock lock(mutex_);
    if (stopping_ && !stopped_) {
      cancel_all();
      stopped_ = true;
      changed_.notify_all();
    }
    if (abort_code_ != 0) MPI_Abort(MPI_COMM_WORLD, abort_code_);
    if (ending_ && calls_.empty() && requests_.empty()) break;
    lock.unlock();
    idle = moved ? 0 : idle + 1;
    if (idle > kLooksBeforeNap) std::this_thread::sleep_for(kNap);
  }
  if (note_request_ != MPI_REQUEST_NULL) {
    MPI_Cancel(&note_request_);
    MPI_Request_free(&note_request_);
  }
  MPI_Finalize();
}

}  // namespace transload
