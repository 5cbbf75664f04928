// Safe mode compares, at each collective call, the arguments that all ranks must have alike.
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

/// An argument of a collective call, and the error code if ranks differ in it.
struct SharedArgument {
  Errc differs;
  std::int64_t hash;  ///< its negative can be represented, too

  SharedArgument(Errc code, std::string_view bytes);
  template <std::integral T>
  SharedArgument(Errc code, T value)
      : differs(code), hash(std::max<std::int64_t>(static_cast<std::int64_t>(value), -INT64_MAX)) {}
};
/// Holds at most `most_shared_arguments`. All ranks that are in the same function have equally
/// many.
using SharedArguments = std::vector<SharedArgument>;
constexpr std::size_t most_shared_arguments = 6;

/// Collective: one reduction. Throws on every rank the worst error of any rank. If there is none,
/// throws the code of the first argument in which ranks differ. Returns false on every rank,
/// without an exception, if the ranks are not in the same function.
bool agree_on_call(const Comm& comm, std::string_view function, const std::optional<Error>& mine,
                   const SharedArguments& arguments);

/// Collective: one reduction. Returns on every rank whether all ranks have the same bytes. nullopt:
/// this rank has none.
bool all_have(const Comm& comm, const std::optional<std::string_view>& bytes);

/// Collective. Throws the worst error of any rank on every rank.
void agree_on_worst_error(const Comm& comm, const std::optional<Error>& mine);

}  // namespace forebay
