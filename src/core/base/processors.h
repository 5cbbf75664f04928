// How many idle processors a process may expect for more threads.
#pragma once

#include <string_view>

namespace forebay {

/// Returns how many other processors of this machine are idle now; a large number if that is
/// unknown. Costs some microseconds.
int idle_processors();

/// Returns the same from the text of /proc/loadavg for a machine of so many processors. In "0.5 0.4
/// 0.3 2/300 4711", two threads run or are ready, with the caller.
int idle_processors(std::string_view loadavg, int processors);

}  // namespace forebay
