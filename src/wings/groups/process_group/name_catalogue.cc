#include "groups/process_group/name_catalogue.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/attempt.h"
#include "base/hash.h"
#include "comm/agree.h"

namespace forebay::process_group {

namespace {

/// Prints names to be sent to other ranks: type, kind, dimensions, u16 length, name.
std::vector<std::byte> printed(std::span<const Name> names) {
  std::vector<std::byte> list;
  const auto put = [&](std::size_t number) { list.push_back(static_cast<std::byte>(number)); };
  for (const Name& name : names) {
    const std::string& text = name.variable.name;
    put(static_cast<std::size_t>(name.variable.type));
    put(static_cast<std::size_t>(name.kind));
    put(name.dimensions);
    put(text.size() & 0xff);
    put(text.size() >> 8);
    const auto bytes = std::as_bytes(std::span(text));
    list.insert(list.end(), bytes.begin(), bytes.end());
  }
  return list;
}

constexpr std::int64_t nothing_new = -1;

}  // namespace

std::string Catalogue::key_of(const Name& name) {
  return (name.kind == Kind::attribute ? "a" : "v") + name.variable.name;
}

std::optional<std::size_t> Catalogue::find(std::string_view name, bool attribute) const {
  const auto found = places_.find((attribute ? "a" : "v") + std::string(name));
  if (found == places_.end()) return std::nullopt;
  return found->second;
}

std::optional<std::size_t> Catalogue::check(const Name& name) const {
  const bool is_attribute = name.kind == Kind::attribute;
  const auto known = find(name.variable.name, is_attribute);
  if (is_attribute || !known || names_[*known] == name) return known;  // the first attribute stays
  throw Error(Errc::emultidefine_var_type,
              name.variable.name +
                  " was written before, or by another rank, with another type or kind of shape",
              "let all ranks and steps write a variable with one type and number of dimensions");
}

void Catalogue::take(std::span<const std::byte> list, Rank owner, std::vector<Name>& into) {
  while (!list.empty()) {
    const auto number = [&](std::size_t at) { return static_cast<std::size_t>(list[at]); };
    const std::size_t length = number(3) | number(4) << 8;
    Name name;
    name.variable.type = static_cast<bp::Type>(number(0));
    name.kind = static_cast<Kind>(number(1));
    name.dimensions = static_cast<std::uint8_t>(number(2));
    name.variable.name.assign(reinterpret_cast<const char*>(list.data()) + 5, length);
    name.owner = owner;
    into.push_back(std::move(name));
    list = list.subspan(5 + length);
  }
}

void Catalogue::add(std::vector<Name>&& names) {
  names_.reserve(names_.size() + names.size());
  places_.reserve(places_.size() + names.size());
  for (Name& name : names) {
    if (places_.emplace(key_of(name), names_.size()).second) names_.push_back(std::move(name));
  }
}

void Catalogue::learn(const Comm& comm, std::span<const Name> names) {
  std::vector<std::byte> list;
  by_root(comm, [&] { list = printed(names); });
  comm.broadcast(list);
  agree_on_error(comm, attempt_to([&] {
                   std::vector<Name> known;
                   take(list, 0, known);
                   add(std::move(known));
                 }));
}

void Catalogue::agree(const Comm& comm, std::span<const Name> mine,
                      const std::optional<Error>& failed) {
  std::vector<std::byte> list;
  std::int64_t hash = nothing_new;
  std::optional<Error> error = failed;
  attempt_into(error, [&] {
    list = printed(mine);
    if (!mine.empty()) hash = static_cast<std::int64_t>(hash_of(list) >> 2);
  });
  // The least and largest hash and the lowest rank of the ranks with new names, and their number.
  const bool any = !mine.empty();
  constexpr auto none = std::numeric_limits<std::int64_t>::min();
  std::array<std::int64_t, 4> values{hash, any ? -hash : none, any ? -comm.rank() : none, any};
  meet_with(comm, error, [&](Errc code) { comm.meet(values, Reduce::sum, code, 3); });
  if (values[3] == 0) return;

  const auto first = static_cast<Rank>(-values[2]);
  std::vector<std::int64_t> sizes;
  const bool same = values[0] == -values[1];
  if (!same) {
    const auto hashes = comm.all_gather(hash);
    const auto like_me = std::ranges::find(hashes, hash);
    if (like_me - hashes.begin() != comm.rank()) list.clear();
    list = comm.all_gather_bytes(list, sizes);
  } else if (values[3] < comm.size()) {
    comm.broadcast(list, first);
  }
  Catalogue after;  // all ranks continue with this one, or none
  agree_on_error(comm, attempt_to([&] {
                   after = *this;
                   std::vector<Name> names;
                   auto rest = std::span<const std::byte>(list);
                   for (std::size_t r = 0; r < sizes.size(); ++r) {
                     const auto bytes = static_cast<std::size_t>(sizes[r]);
                     take(rest.first(bytes), static_cast<Rank>(r), names);
                     rest = rest.subspan(bytes);
                   }
                   if (same) take(rest, first, names);
                   after.add(std::move(names));
                   for (const Name& name : mine) after.check(name);
                 }));
  *this = std::move(after);
}

}  // namespace forebay::process_group
