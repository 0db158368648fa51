// One defect of SimGrid 3.32 that makes large replays 10 to 500 times slower, and its removal.
//
// `Comm::sendto_init()` calls `CommImpl::detach()`, which appends the communication to a std::list
// of the main actor; its end searches that list from the front (docs/simulator.md).
// Newer versions use a set. We define the same symbol in front of the library's; switched on,
// it skips the list (the replay owns its communications), switched off, it calls the library's.
#pragma once

namespace transload {

// Switches the shortcut on if the library that is loaded is 3.32 and proves to call our definition
// when `make_communication` creates (and drops) one. Otherwise nothing changes, the replay is
// merely slower, and false is returned. To be called in the process that replays, before its first
// communication.
bool skip_activity_list(void (*make_communication)());

}  // namespace transload
