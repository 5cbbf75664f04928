// Agreement on errors: a collective step ends with the same outcome on every rank.
#pragma once

#include <optional>

#include "base/error.h"
#include "comm/comm.h"

namespace forebay {

/// Collective. Returns if no rank has an error. Otherwise throws: a rank's own error where it has
/// one, else an Error with the code of the worst (most negative) one.
inline void agree_on_error(const Comm& comm, const std::optional<Error>& mine) {
  const auto worst = comm.all_reduce(mine ? to_int(mine->code()) : 0, Reduce::min);
  if (mine) throw *mine;
  if (worst != 0)
    throw Error(static_cast<Errc>(worst), "another rank failed in this collective step");
}

}  // namespace forebay
