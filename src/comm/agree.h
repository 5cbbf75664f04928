// Agreement on errors: a collective step ends with the same outcome on every rank.
#pragma once

#include <cstdint>
#include <optional>

#include "base/attempt.h"
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

/// Collective. The sum of all ranks' values, if no rank has an error; otherwise throws as above.
/// For steps that reduce something anyway: agreement costs them nothing while all is well.
inline std::int64_t sum_or_error(const Comm& comm, std::int64_t value,
                                 const std::optional<Error>& mine) {
  std::int64_t sums[2] = {value, mine ? 1 : 0};
  comm.all_reduce(sums, Reduce::sum);
  if (sums[1] != 0) agree_on_error(comm, mine);
  return sums[0];
}

}  // namespace forebay
