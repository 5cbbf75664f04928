// Shared by the files of this C interface.
#pragma once

#include <string>

#include "checkpoints/checkpoint_store.h"
#include "comm/comm.h"

namespace forebay::checkpoint {

/// Collective. Opens checkpoints and gives them a number.
void open_store(const Comm& comm, const char* name, const char* hints, int* number);

/// Errc::ebadid: no open store has this number.
Store& store_of(int number);

}  // namespace forebay::checkpoint
