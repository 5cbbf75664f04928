// The index of a BP file as one rank parses and broadcasts it: the steps of each variable, the
// places of its block entries, and the properties of the first block if they differ from the step
// before. Steps with equal contents take a few bytes each, whatever they contain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "groups/format/bp_read.h"
#include "groups/process_group/name_catalogue.h"
#include "groups/process_group/name_places.h"
#include "groups/process_group/step_places.h"

namespace forebay::process_group {

/// The files of a BP file.
enum class Container : std::uint8_t {
  directory,  ///< BP4
  one_file,   ///< BP3
  subfiles    ///< BP3, with an index of its own
};

/// Properties of a variable that are equal in most steps.
struct Said {
  bp::Type type = bp::Type::string_array;  // no variable has this type
  bp::Shape at;
  std::string unreadable;
  std::size_t text = 0;
  bool operator==(const Said&) const = default;
};
Said said_by(const bp::Variable& variable, bp::Block&& first);

/// Prints the broadcast, in the order of calls. Variables are numbered in the order of their first
/// call.
class IndexBroadcast {
 public:
  void order(Container container, bp::Form form, bool swapped);
  /// Begins a step. `time` is the step number that its blocks have.
  void step(bool column_major, std::uint32_t time);
  /// Adds a variable that is new in this step. `first` is its first block as in the file.
  void variable(const bp::Variable& variable, std::span<const std::byte> first);
  /// Gives a variable other properties in this step and later ones.
  void changed(std::uint32_t number, bp::Type type, std::span<const std::byte> first);
  /// Adds a variable's entry in this step, after changed() if that is called. Errc::ebad_file: the
  /// step has the variable twice.
  void place(std::uint32_t number, std::string_view name, const EntryPlace& place);
  /// Errc::ebad_file: there are too many attributes.
  void attribute(const bp::Attribute& attribute);

  /// Ends the broadcast and returns its bytes. Calls that follow begin one of further steps, for
  /// receive_more().
  std::vector<std::byte> take();

 private:
  template <typename T>
  void put(T value);
  void put(std::span<const std::byte> some);

  std::vector<std::byte> told_;
  std::uint32_t steps_ = 0;
  std::vector<StepPlaces> places_;  // of each variable; they come last in the broadcast
  Count attribute_bytes_ = 0;
};

/// A variable in a file. Shapes are in C order, so that the last dimension varies fastest, even if
/// the writing program has the other order.
struct StoredVariable {
  bp::Variable variable;
  Kind kind = Kind::scalar;
  std::size_t dimensions = 0;
  /// Why its values cannot be read, by the operator of the first block of a step; empty: they can.
  std::string unreadable;
  std::string fault;             ///< why it cannot be read; empty: it can be read
  std::size_t longest_text = 0;  ///< of a string, over all steps
  StepPlaces steps;              ///< steps that have it, from 0
  std::vector<Count> shape;      ///< of a global array, in the first step that has one
  bool without_extents = false;  ///< all extents are 0 in all steps: it may be a global array, too
  bool varies = false;           ///< a later step has another shape
};

/// Returns the kind and the number of dimensions of a block in a file.
Kind kind_of(const bp::Shape& at);
std::size_t dimensions_of(const bp::Shape& at);

/// The contents of a broadcast.
struct StoredIndex {
  Container container = Container::directory;
  bp::Origin origin;                     ///< its column_major is that of the last step
  std::vector<bool> column_major;        ///< of each step
  std::vector<std::uint32_t> times;      ///< the step number that blocks have, for each step
  std::deque<StoredVariable> variables;  ///< names stay where they are when others follow
  NamePlaces places;                     ///< of `variables`
  std::vector<bp::Attribute> attributes;
};
StoredIndex receive_index(std::span<const std::byte> told);
/// Adds the steps of a further broadcast.
void receive_more(StoredIndex& index, std::span<const std::byte> told);

}  // namespace forebay::process_group
