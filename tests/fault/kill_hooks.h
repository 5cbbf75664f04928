// System calls of the library, seen by the test program: it defines pwrite, pwritev, fsync,
// ftruncate, fallocate, unlink and rename, which the shared library then finds before the C
// library's.
#pragma once

#include <string>

namespace kill_test {

/// From here on calls of this rank are counted. FOREBAY_TEST_KILL
/// ("RANK:CALL:before|half|after[:NAME]") ends the process with SIGKILL at the CALL-th of these
/// calls (those named NAME, such as unlink) of RANK: before it, in the midst of a write (between
/// two sectors), or after it. Renames count where `renames` says so.
void arm(int rank, bool renames = false);

/// Each fsync of this process of the file `path`, or of one in the folder `path`.subfiles, copies
/// it to the same name with .durable behind it once it is done: what a power failure would leave at
/// least. Several processes may do so.
void keep_durable_copies(const std::string& path);

}  // namespace kill_test
