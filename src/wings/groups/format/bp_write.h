// Prints BP4 (groups/format/bp.h): heads, process groups, entries of md.0, records of md.idx.
// Prints also the index and footer of BP3, whose entries differ only in what Form says (bp4 or
// bp3).
//
// Numbers have the machine's byte order. Errc::emaxname or Errc::evarsize if a name, a text or an
// entry is longer than its length field allows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "groups/format/bp.h"

namespace forebay::bp {

using Bytes = std::vector<std::byte>;

/// `kind` is a word for people: "Data", "Metadata", "Index Table".
std::array<std::byte, head_bytes> print_head(std::string_view kind);
std::array<std::byte, record_bytes> print_record(const StepRecord& record);

/// Throws what printing would throw, so that a program gets the error at its write call.
void check(const Variable& variable, const Shape& at);
void check(const Attribute& attribute);
void check_text(std::string_view text);

// ---- data.K

inline constexpr Count payload_alignment = 64;
/// Member number of a block whose writer does not know yet which number its variable has.
inline constexpr std::uint32_t unknown_member = 0xffffffff;
/// Size of the smallest group that fills a gap.
inline constexpr Count least_filler = 82;

/// One process group. Heads are made here. Payloads stay in the program's memory until they are
/// written. Places count from its first byte, which must lie at a multiple of payload_alignment.
class GroupImage {
 public:
  GroupImage(std::string_view name, bool column_major, std::uint32_t step,
             const GroupMark& mark = {});
  /// Sets how many groups the step has over all ranks. Without it the group says "not known".
  void tell_groups(std::int64_t groups);

  struct Places {
    Offset head = 0, payload = 0;
  };
  /// `block` has the dimensions, and the range if there is one. A string's payload is its text.
  Places add(const Variable& variable, std::uint32_t member, const Block& block,
             std::span<const std::byte> payload);
  /// Comes after all variables.
  void add(const Attribute& attribute, std::uint32_t member);
  /// Ends the group. Appends an empty one, so that the next group begins at a multiple of
  /// `alignment` without a gap.
  void finish(Count alignment);

  Count bytes() const { return bytes_; }
  /// Returns the spans to write to the file, in order. They are valid as long as this object.
  std::vector<std::span<const std::byte>> pieces() const;

 private:
  struct Piece {
    std::size_t own_end;                 // heads up to here come first
    std::span<const std::byte> payload;  // then this
  };
  void end_variables();
  void add_payload(std::span<const std::byte> payload);
  Offset here() const;

  Bytes own_;
  std::vector<Piece> pieces_;
  Count payload_bytes_ = 0, bytes_ = 0;
  std::size_t variables_at_ = 0, attributes_at_ = 0;  // where their counts and lengths are in own_
  std::size_t groups_at_ = 0;                         // where GroupMark::groups is in own_
  Count variables_from_ = 0;
  std::uint32_t variables_ = 0, attributes_ = 0, step_;
};

/// Appends an empty group of exactly `bytes` bytes (at least least_filler).
void append_filler(Bytes& out, Count bytes, std::uint32_t step);

/// Returns the bytes from `end` to where the next group may begin: none, or enough for a filler.
Count gap_before_group(Offset end, Count alignment);

// ---- md.0: indexes of a step. Entries of groups, variables and attributes follow their heads.

void append_groups_head(Bytes& out, std::uint64_t groups, Count bytes);
void append_elements_head(Bytes& out, std::uint32_t elements, Count bytes);

void append_group(Bytes& out, const Group& group);
/// Returns the size of a group's entry. It is the same for every rank.
Count group_entry_bytes(std::string_view name, std::uint32_t step);

/// Appends what comes before the entries of a variable's blocks. These have `bytes` bytes in all.
void append_variable_head(Bytes& out, const Variable& variable, std::uint32_t member,
                          std::uint64_t blocks, Count bytes, Form form = Form::bp4);
inline Count variable_head_bytes(std::string_view name) {
  return 23 + static_cast<Count>(name.size());
}
/// Places may be relative to any origin if move_entry() follows.
void append_block(Bytes& out, const Variable& variable, const Block& block, Form form = Form::bp4);
/// Adds `by` to the places of an entry that append_block() made.
void move_entry(std::span<std::byte> entry, Offset by);

void append_attribute(Bytes& out, const Attribute& attribute, std::uint32_t member,
                      std::uint32_t step, std::uint32_t file);

// ---- BP3

/// The end of a BP3 file: a tag, the places of the three parts of its index, and how to read it.
inline constexpr Count whole_footer_bytes = 56;
std::array<std::byte, whole_footer_bytes> print_footer(const StepRecord& index);
/// The beginning of the tag in a footer that print_footer() makes.
inline constexpr std::string_view own_footer_tag = "ADIOS-BP v2.9.0 forebay";

}  // namespace forebay::bp
