// Safe mode: what all ranks have to say alike in a collective call is compared at the call.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "comm/comm.h"

namespace forebay {

/// An argument of a collective call, and the code for ranks that differ in it.
struct SharedArgument {
  Errc differs;
  std::int64_t hash;  ///< its negative is a number, too

  SharedArgument(Errc code, std::string_view bytes);
  template <std::integral T>
  SharedArgument(Errc code, T value)
      : differs(code), hash(std::max<std::int64_t>(static_cast<std::int64_t>(value), -INT64_MAX)) {}
};
/// At most `most_shared_arguments`, as many on every rank that is in the same function.
using SharedArguments = std::vector<SharedArgument>;
constexpr std::size_t most_shared_arguments = 6;

/// Collective: one reduction. Throws on every rank the worst error that any rank brings, or where
/// there is none the code of the first argument in which ranks differ. False on every rank, without
/// an exception, if they are not in the same function.
bool agree_on_call(const Comm& comm, std::string_view function, const std::optional<Error>& mine,
                   const SharedArguments& arguments);

/// Collective: one reduction. Whether all ranks have the same bytes; all get to know. Nothing: this
/// rank has none.
bool all_have(const Comm& comm, const std::optional<std::string_view>& bytes);

/// Collective. Throws the worst error that any rank brings on every rank.
void agree_on_worst_error(const Comm& comm, const std::optional<Error>& mine);

}  // namespace forebay
