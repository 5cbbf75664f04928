// What ranks tell each other while they plan together.
//
// A plan that no rank can make alone is a state for each rank and steps between them: what a rank
// has been told goes in, what it tells others comes out. Who carries notes is not the plan's
// matter: an exchange in a run (comm/exchange.h), a loop over all ranks in a test. Notes may
// arrive in any order: what comes of them is the same.
#pragma once

#include <vector>

#include "base/types.h"

namespace forebay {

template <typename T>
struct Note {
  Rank peer = 0;  ///< to whom, where it leaves; from whom, where it has come
  T what{};       ///< trivially copyable, without padding
};

template <typename T>
using Notes = std::vector<Note<T>>;

}  // namespace forebay
