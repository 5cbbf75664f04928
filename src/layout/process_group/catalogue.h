// The names that all ranks know: of the variables that any of them has written so far, and of
// attributes, in one order on all ranks.
//
// Ranks may write different variables. A name is told to the others in the first step that has it;
// from then on a step costs nothing for it. Where those ranks that have new names have the same
// ones in the same order, which hashes tell, the list comes from one of them; else each different
// list is gathered from one rank that has it: every rank receives the bytes of all different lists,
// once.
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
#include "format/bp.h"

namespace forebay::process_group {

/// What a block is to a reader. All blocks of a variable are of one kind.
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

  /// Collective. All ranks know `names` of rank 0, which are in the file already.
  void learn(const Comm& comm, std::span<const Name> names);

  /// Throws Errc::emultidefine_var_type where `name` is known otherwise than this; else returns its
  /// place, if it is known. Local.
  std::optional<std::size_t> check(const Name& name) const;

  /// Collective. Behind it all ranks know the names in `mine`. `failed`: an error of this rank from
  /// before. Throws on all ranks where one has failed, or knows a name otherwise. One meeting;
  /// where there are new names up to three more, and at most one broadcast or two gatherings.
  void agree(const Comm& comm, std::span<const Name> mine, const std::optional<Error>& failed);

 private:
  static std::string key_of(const Name& name);
  static void take(std::span<const std::byte> list, Rank owner, std::vector<Name>& into);
  void add(std::vector<Name>&& names);

  std::vector<Name> names_;
  std::unordered_map<std::string, std::size_t> places_;
};

}  // namespace forebay::process_group
