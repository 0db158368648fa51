// One line on the terminal that says what is being done; nothing where there is no terminal.
#pragma once

#include <mutex>
#include <string>

#include "cli/session.h"

namespace transload {

// May be used from several threads. The line is gone when the object is.
class Progress {
 public:
  explicit Progress(Session& session) : session_(session) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(const std::string& text);
  void clear();

 private:
  Session& session_;
  std::mutex mutex_;
  bool shown_ = false;
};

}  // namespace transload
