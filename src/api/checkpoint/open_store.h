// What the files of this C interface share.
#pragma once

#include <string>

#include "comm/comm.h"

namespace forebay::checkpoint {

/// Collective. Opens checkpoints, and gives them a number.
void open_store(const Comm& comm, const char* name, const char* hints, int* number);

}  // namespace forebay::checkpoint
