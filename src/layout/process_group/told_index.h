// The index of a BP file, as the rank that looks through it tells the others: which steps each
// variable is in, where its blocks are told, and what the first of them says where that is other
// than in the step before. Steps that are alike take a few bytes each, whatever is in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/types.h"
#include "format/bp_read.h"
#include "layout/process_group/step_places.h"

namespace forebay::process_group {

/// Which files there are.
enum class Container : std::uint8_t {
  directory,  ///< BP4
  one_file,   ///< BP3
  subfiles    ///< BP3, with an index of its own
};

/// What entries of a variable say alike in most steps.
struct Said {
  bp::Type type = bp::Type::string_array;  // that of no variable
  bp::Shape at;
  std::string operation;
  std::size_t text = 0;
  bool operator==(const Said&) const = default;
};
Said said_by(const bp::Variable& variable, bp::Block&& first);

/// What is told, in the order of calls. Variables are numbered as they are told for the first time.
class ToldIndex {
 public:
  void order(Container container, bp::Form form, bool swapped);
  /// `time`: what blocks say of their step.
  void step(bool column_major, std::uint32_t time);
  /// One that was not told before, of this step. `first`: its first block, as it stands in the
  /// file.
  void variable(const bp::Variable& variable, std::span<const std::byte> first);
  /// It says something else in this step, and in those that follow.
  void changed(std::uint32_t number, bp::Type type, std::span<const std::byte> first);
  /// Behind that, or where nothing has changed: it is in this step. Errc::ebad_file: twice.
  void place(std::uint32_t number, std::string_view name, const EntryPlace& place);
  /// Errc::ebad_file: there are too many.
  void attribute(const bp::Attribute& attribute);

  std::vector<std::byte> take();

 private:
  template <typename T>
  void put(T value);
  void put(std::span<const std::byte> some);

  std::vector<std::byte> told_;
  std::uint32_t steps_ = 0;
  std::vector<StepPlaces> places_;  // of each variable; they are told last
  Count attribute_bytes_ = 0;
};

class ToldTaker {
 public:
  virtual ~ToldTaker() = default;
  virtual void order(Container container, bp::Form form, bool swapped) = 0;
  virtual void step(bool column_major, std::uint32_t time) = 0;
  virtual void variable(const bp::Variable& variable, const bp::Block& first) = 0;
  virtual void changed(std::size_t number, bp::Type type, const bp::Block& first) = 0;
  virtual void places(std::size_t number, const StepPlaces::Stretch& stretch) = 0;
  virtual void attribute(bp::Attribute attribute) = 0;
};
void take_told(std::span<const std::byte> told, ToldTaker& taker);

}  // namespace forebay::process_group
