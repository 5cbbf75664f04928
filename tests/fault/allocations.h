// Makes allocations of a program, and of the C++ libraries that it is linked with, fail; and the
// start of threads.
#pragma once

/// Between arm() and disarm() the allocations of all threads are counted, and number `first` fails,
/// as does every `every`-th behind it (0: none). Zero arms for counting alone.
void arm_allocations(long first, long every);
/// Returns how many there were.
long disarm_allocations();
/// How many failed while armed, since the last arm_allocations().
long failed_allocations();
/// Prints where the next that fails was asked for.
void trace_failed_allocations(bool on);

/// From now on no thread can be started.
void refuse_threads();
/// How many were asked for since then.
long refused_threads();
