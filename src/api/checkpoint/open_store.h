// What the files of this C interface share.
#pragma once

#include <string>

#include "checkpoint/store.h"
#include "comm/comm.h"

namespace forebay::checkpoint {

/// Collective. Opens checkpoints, and gives them a number.
void open_store(const Comm& comm, const char* name, const char* hints, int* number);

/// Errc::ebadid where the number is none of an open store.
Store& store_of(int number);

}  // namespace forebay::checkpoint
