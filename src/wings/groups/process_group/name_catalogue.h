// The names that all ranks know, in the same order on all ranks: variables that any of them has
// written so far, and attributes.
//
// Ranks may write different variables. A name is sent to the others in the first step that has it.
// After that it costs nothing. If all ranks with new names have the same ones in the same order,
// which is found by hashes, one of them broadcasts the list. Otherwise each different list is
// gathered from one rank that has it: every rank receives the bytes of all different lists once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/types.h"
#include "comm/comm.h"
#include "groups/format/bp.h"

namespace forebay::process_group {

/// The kind of a block for a reader. All blocks of a variable have the same kind.
enum class Kind : std::uint8_t { scalar, local_value, local, global, joined, attribute };

struct Name {
  bp::Variable variable;
  Kind kind = Kind::scalar;
  std::uint8_t dimensions = 0;
  Rank owner = 0;  ///< the lowest rank that had it when it was new
  bool operator==(const Name& other) const {
    return variable == other.variable && kind == other.kind && dimensions == other.dimensions;
  }
};

class Catalogue {
 public:
  std::size_t size() const { return names_.size(); }
  const Name& operator[](std::size_t n) const { return names_[n]; }
  /// Variables and attributes may have the same name.
  std::optional<std::size_t> find(std::string_view name, bool attribute) const;

  /// Collective. Broadcasts `names` of rank 0, which are in the file already.
  void learn(const Comm& comm, std::span<const Name> names);

  /// Local. Returns the place of `name` if it is known. Throws Errc::emultidefine_var_type if it is
  /// known with another type or kind.
  std::optional<std::size_t> check(const Name& name) const;

  /// Collective. Adds the names in `mine` of all ranks. `failed` is an earlier error of this rank.
  /// Throws on all ranks if one has failed, or knows a name with another type or kind. It takes one
  /// reduction; with new names up to three more, and at most one broadcast or two gathers.
  void agree(const Comm& comm, std::span<const Name> mine, const std::optional<Error>& failed);

 private:
  static std::string key_of(const Name& name);
  static void take(std::span<const std::byte> list, Rank owner, std::vector<Name>& into);
  void add(std::vector<Name>&& names);

  std::vector<Name> names_;
  std::unordered_map<std::string, std::size_t> places_;
};

}  // namespace forebay::process_group
