// The index of a BP file, as the rank that looks through it tells the others: of each step and each
// of its variables where the blocks are told, and what the first of them says where that is other
// than in the step before. Some 21 bytes for each variable and step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/types.h"
#include "format/bp_read.h"

namespace forebay::process_group {

/// Where an index tells of a variable's blocks in a step: its entry in md.0; in BP3 the blocks
/// alone, of the first of the step to the last one. Those of other steps may lie between them.
struct EntryPlace {
  Offset offset = 0;
  Count bytes = 0;
};

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
  /// One that was not told before. `first`: its first block, as it stands in the file.
  void variable(const bp::Variable& variable, std::span<const std::byte> first,
                const EntryPlace& place);
  void changed(std::uint32_t number, bp::Type type, std::span<const std::byte> first,
               const EntryPlace& place);
  /// Its first block says what others of it have said.
  void again(std::uint32_t number, const EntryPlace& place);
  /// Errc::ebad_file: there are too many.
  void attribute(const bp::Attribute& attribute);

  std::vector<std::byte> take() { return std::move(told_); }

 private:
  template <typename T>
  void put(T value);
  void put(std::span<const std::byte> some);

  std::vector<std::byte> told_;
  Count attribute_bytes_ = 0;
};

class ToldTaker {
 public:
  virtual ~ToldTaker() = default;
  virtual void order(Container container, bp::Form form, bool swapped) = 0;
  virtual void step(bool column_major, std::uint32_t time) = 0;
  virtual void variable(const bp::Variable& variable, const bp::Block& first,
                        const EntryPlace& place) = 0;
  virtual void changed(std::size_t number, bp::Type type, const bp::Block& first,
                       const EntryPlace& place) = 0;
  virtual void again(std::size_t number, const EntryPlace& place) = 0;
  virtual void attribute(bp::Attribute attribute) = 0;
};
void take_told(std::span<const std::byte> told, ToldTaker& taker);

}  // namespace forebay::process_group
