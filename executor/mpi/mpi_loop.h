// The one thread that calls MPI: begins, tests and finishes requests, and hands over what small
// messages say. Internal to the MPI plug-in.
//
// All MPI calls of a process are made here, so any MPI will do (MPI_THREAD_FUNNELED). It naps when
// nothing has moved: a process that waits must not take the core of one that copies.
#pragma once

#include <mpi.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace transload {

class MpiLoop {
 public:
  using Note = std::vector<std::int64_t>;
  using Noted = std::function<void(int process, const Note&)>;
  static constexpr int kNoteTag = 32767;  // MPI promises no larger one
  static constexpr int kWordTag = 32766;
  static constexpr int kDataTags = 32000;
  static constexpr std::size_t kNoteWords = 8;

  // Starts the thread and MPI on it. `noted` is called on the thread.
  explicit MpiLoop(Noted noted);
  // Ends MPI, or only the thread where requests are left that will never finish.
  ~MpiLoop();
  MpiLoop(const MpiLoop&) = delete;
  MpiLoop& operator=(const MpiLoop&) = delete;

  int self() const { return self_; }
  int processes() const { return processes_; }

  // Runs `call` on the thread, soon. A request that it returns is waited for, then `done` is
  // called; MPI_REQUEST_NULL: `done` is called at once. Returns false after `stop`.
  bool begin(std::function<MPI_Request()> call, std::function<void()> done);
  // Small messages of at most kNoteWords words; they are copied.
  void send_note(int process, const Note& note);
  // Cancels what is under way; afterwards no `done` is called and no memory is touched.
  void stop();
  // Ends all processes of the run with this code; does not return.
  [[noreturn]] void abort(int code);

 private:
  struct Call {
    std::function<MPI_Request()> call;
    std::function<void()> done;
  };

  void serve();
  bool take_calls();
  bool test_requests();
  bool test_notes();
  void cancel_all();

  Noted noted_;
  int self_ = 0;
  int processes_ = 1;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Call> calls_;
  bool started_ = false;
  bool stopping_ = false;
  bool stopped_ = false;
  bool ending_ = false;
  int abort_code_ = 0;

  // On the thread only.
  std::vector<MPI_Request> requests_;
  std::vector<std::function<void()>> dones_;
  Note arriving_ = Note(kNoteWords, 0);
  MPI_Request note_request_ = MPI_REQUEST_NULL;

  std::jthread thread_;  // last: it uses everything above
};

}  // namespace transload
