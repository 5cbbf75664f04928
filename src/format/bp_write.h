// Printing BP4 (format/bp.h): heads, process groups, entries of md.0, records of md.idx; and the
// index and footer of BP3, whose entries are the same but for what Form tells (bp4 or bp3).
//
// Numbers go out in the machine's byte order. Where a name, a text or an entry is longer than its
// field can tell, these throw Errc::emaxname or Errc::evarsize.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "format/bp.h"

namespace forebay::bp {

using Bytes = std::vector<std::byte>;

/// `kind`, for people: "Data", "Metadata", "Index Table".
std::array<std::byte, head_bytes> print_head(std::string_view kind);
std::array<std::byte, record_bytes> print_record(const StepRecord& record);

/// Throws what printing them would, so that a program hears of it where it writes.
void check(const Variable& variable, const Shape& at);
void check(const Attribute& attribute);
void check_text(std::string_view text);

// ---- data.K

inline constexpr Count payload_alignment = 64;
/// Of a block whose writer does not know yet which number all ranks give its variable.
inline constexpr std::uint32_t unknown_member = 0xffffffff;
/// Bytes of the smallest group that fills().
inline constexpr Count least_filler = 82;

/// One process group: heads that are made here, and payloads where the program has them, which stay
/// there until it is written. Places are counted from its first byte, which is to lie at a multiple
/// of payload_alignment.
class GroupImage {
 public:
  GroupImage(std::string_view name, bool column_major, std::uint32_t step,
             const GroupMark& mark = {});
  /// How many groups the step has, of all ranks; else the group says that it does not know.
  void tell_groups(std::int64_t groups);

  struct Places {
    Offset head = 0, payload = 0;
  };
  /// `block` tells dimensions, and the range if it has one. A string's payload is its text.
  Places add(const Variable& variable, std::uint32_t member, const Block& block,
             std::span<const std::byte> payload);
  /// After all variables.
  void add(const Attribute& attribute, std::uint32_t member);
  /// Ends the group, and puts an empty one behind it, so that the next begins at a multiple of
  /// `alignment` and nothing lies between them.
  void finish(Count alignment);

  Count bytes() const { return bytes_; }
  /// What goes one behind the other into the file. Valid until this ends.
  std::vector<std::span<const std::byte>> pieces() const;

 private:
  struct Piece {
    std::size_t own_end;                 // heads up to here come first
    std::span<const std::byte> payload;  // and then this
  };
  void end_variables();
  void add_payload(std::span<const std::byte> payload);
  Offset here() const;

  Bytes own_;
  std::vector<Piece> pieces_;
  Count payload_bytes_ = 0, bytes_ = 0;
  std::size_t variables_at_ = 0, attributes_at_ = 0;  // their counts and lengths, in own_
  std::size_t groups_at_ = 0;                         // GroupMark::groups, too
  Count variables_from_ = 0;
  std::uint32_t variables_ = 0, attributes_ = 0, step_;
};

/// Appends an empty group of just so many bytes (at least least_filler).
void append_filler(Bytes& out, Count bytes, std::uint32_t step);

/// Bytes from `end` to where the next group may begin: none, or enough for a filler.
Count gap_before_group(Offset end, Count alignment);

// ---- md.0: indexes of a step. Entries of groups, variables and attributes follow their heads.

void append_groups_head(Bytes& out, std::uint64_t groups, Count bytes);
void append_elements_head(Bytes& out, std::uint32_t elements, Count bytes);

void append_group(Bytes& out, const Group& group);
/// Of any rank's entry, as ranks have equally many.
Count group_entry_bytes(std::string_view name, std::uint32_t step);

/// What stands before the entries of a variable's blocks, which have `bytes` together.
void append_variable_head(Bytes& out, const Variable& variable, std::uint32_t member,
                          std::uint64_t blocks, Count bytes, Form form = Form::bp4);
inline Count variable_head_bytes(std::string_view name) {
  return 23 + static_cast<Count>(name.size());
}
/// Places may be counted from anywhere, if move_entry() follows.
void append_block(Bytes& out, const Variable& variable, const Block& block, Form form = Form::bp4);
/// Adds `by` to the places of an entry that append_block made.
void move_entry(std::span<std::byte> entry, Offset by);

void append_attribute(Bytes& out, const Attribute& attribute, std::uint32_t member,
                      std::uint32_t step, std::uint32_t file);

// ---- BP3

/// What a file of BP3 ends with: a tag, places of the three parts of its index, and how to read it.
inline constexpr Count whole_footer_bytes = 56;
std::array<std::byte, whole_footer_bytes> print_footer(Offset groups, Offset variables,
                                                       Offset attributes);
/// Of those that print_footer() makes, what the tag begins with.
inline constexpr std::string_view own_footer_tag = "ADIOS-BP v2.9.0 forebay";

}  // namespace forebay::bp
