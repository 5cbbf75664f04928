// The index of a BP file as one rank parses and broadcasts it: the steps of each variable, the
// places of its block entries, and the properties of the first block if they differ from the step
// before. Steps with equal contents take a few bytes each, whatever they contain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/types.h"
#include "groups/format/bp_read.h"
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
  std::string operation;
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

  /// Ends the broadcast and returns its bytes.
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

/// Receives the contents of a broadcast from receive_index().
class IndexReceiver {
 public:
  virtual ~IndexReceiver() = default;
  virtual void order(Container container, bp::Form form, bool swapped) = 0;
  virtual void step(bool column_major, std::uint32_t time) = 0;
  virtual void variable(const bp::Variable& variable, const bp::Block& first) = 0;
  virtual void changed(std::size_t number, bp::Type type, const bp::Block& first) = 0;
  virtual void places(std::size_t number, const StepPlaces::Stretch& stretch) = 0;
  virtual void attribute(bp::Attribute attribute) = 0;
};
void receive_index(std::span<const std::byte> told, IndexReceiver& taker);

}  // namespace forebay::process_group
