#include "dataset/consistency.h"

#include <array>
#include <string>

#include "base/hash.h"
#include "comm/agree.h"

namespace forebay {

namespace {

/// Returns 63 bits, so that the negative can be represented, too.
std::int64_t hash_of_text(std::string_view text) {
  return static_cast<std::int64_t>(hash_of(std::as_bytes(std::span(text))) >> 1);
}

void throw_worst(const Comm& comm, std::int64_t worst, const std::optional<Error>& mine) {
  if (worst == 0) return;
  if (comm.size() == 1) throw *mine;
  const Error others = told_by_others(comm, mine, worst);
  if (mine && to_int(mine->code()) == worst) throw Error(*mine);
  throw Error(others);
}

}  // namespace

SharedArgument::SharedArgument(Errc code, std::string_view bytes)
    : differs(code), hash(hash_of_text(bytes)) {}

// If all ranks have the same value, its minimum and the minimum of its negative are opposites.
bool agree_on_call(const Comm& comm, std::string_view function, const std::optional<Error>& mine,
                   const SharedArguments& arguments) {
  const std::int64_t name = hash_of_text(function);
  std::array<std::int64_t, 3 + 2 * most_shared_arguments> least{mine ? to_int(mine->code()) : 0,
                                                                name, -name};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    least[3 + 2 * i] = arguments[i].hash;
    least[4 + 2 * i] = -arguments[i].hash;
  }
  comm.all_reduce(least, Reduce::min);
  if (least[1] != -least[2]) return false;
  throw_worst(comm, least[0], mine);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (least[3 + 2 * i] == -least[4 + 2 * i]) continue;
    throw Error(arguments[i].differs,
                std::string(function) + " has different arguments on different ranks",
                "give the same ones on every rank");
  }
  return true;
}

bool all_have(const Comm& comm, const std::optional<std::string_view>& bytes) {
  std::array<std::int64_t, 2> least{-1, 0};  // no bytes have that hash
  if (bytes) {
    least[0] = hash_of_text(*bytes);
    least[1] = -least[0];
  }
  comm.all_reduce(least, Reduce::min);
  return least[0] == -least[1];
}

void agree_on_worst_error(const Comm& comm, const std::optional<Error>& mine) {
  throw_worst(comm, comm.all_reduce(mine ? to_int(mine->code()) : 0, Reduce::min), mine);
}

}  // namespace forebay
