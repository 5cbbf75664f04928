// Messages between nodes about a window: which bytes of it, as runs, and the bytes.
//
// Runs are coded in units: the largest power of two, up to 8 bytes, that divides all their ends.
// The code is a bit for each unit, or gaps of seven bits a byte, whichever is shorter. A gap is
// doubled. It is odd if the run's length follows; otherwise the length is that of the run before.
// Most runs are single elements. So the code takes at most 1/8 of the window, usually (elements of
// 4 bytes and more) 1/32, and a byte a piece if pieces are close together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/byteorder.h"
#include "base/raw_bytes.h"
#include "base/types.h"

namespace forebay {

/// Bytes [from, to) of a window.
struct WindowRun {
  std::uint32_t from, to;
};

struct WindowHead {
  enum Coding : std::uint8_t { gaps, bits };
  std::int64_t window = 0;
  std::uint32_t coded = 0;  ///< bytes of the coded runs, behind the head
  std::uint32_t first = 0;  ///< where the first run begins, in units
  Coding coding = gaps;
  std::uint8_t shift = 0;   ///< a unit is 1 << shift bytes
  std::uint8_t failed = 0;  ///< the sender could not do its part; nothing follows the head
};
static_assert(sizeof(WindowHead) == 24);

/// Returns the most bytes of a message about a window of this size.
constexpr Count largest_message(Count window_size) {
  return static_cast<Count>(sizeof(WindowHead)) + window_size + window_size / 8 + 16;
}

/// Returns how to code runs that are apart and in order: `coded`, `first`, `coding` and `shift` of
/// the head.
WindowHead coding_of(std::span<const WindowRun> runs);

/// Returns the bytes of a message with this head and `payload` bytes of data.
constexpr Count message_bytes(const WindowHead& head, Count payload) {
  return static_cast<Count>(sizeof head) + head.coded + payload;
}

/// Returns a message with these runs, apart and in order, and room for `payload` bytes behind.
RawBytes window_message(Count window, std::span<const WindowRun> runs, Count payload);

inline WindowHead head_of(std::span<const std::byte> message) {
  return load_native<WindowHead>(message.data());
}
inline std::span<const std::byte> head_bytes(const WindowHead& head) {
  return std::as_bytes(std::span(&head, 1));
}

/// Returns what lies behind the runs.
template <typename Bytes>
auto payload_of(Bytes message) {
  return message.subspan(sizeof(WindowHead) + head_of(message).coded);
}

/// Calls f(from, bytes) for each run of a message, in order.
template <typename F>
void for_each_run(std::span<const std::byte> message, F&& f) {
  const WindowHead head = head_of(message);
  const auto coded = message.subspan(sizeof head, head.coded);
  Count at = head.first;
  if (head.coding == WindowHead::gaps) {
    std::size_t i = 0;
    Count length = 1;
    const auto next = [&] {
      std::uint64_t value = 0;
      for (int shift = 0;; shift += 7) {
        const auto byte = std::to_integer<std::uint64_t>(coded[i++]);
        value |= (byte & 0x7f) << shift;
        if (byte < 0x80) return static_cast<Count>(value);
      }
    };
    while (i < coded.size()) {
      const Count gap = next();
      if (gap % 2 != 0) length = next();
      at += gap / 2;
      f(at << head.shift, length << head.shift);
      at += length;
    }
    return;
  }
  Count begin = -1;  // of the current run
  for (std::size_t i = 0; i < coded.size(); ++i, at += 8) {
    const auto byte = std::to_integer<unsigned>(coded[i]);
    if (byte == (begin < 0 ? 0u : 0xffu)) continue;
    for (int bit = 0; bit < 8; ++bit) {
      const bool set = (byte >> bit & 1) != 0;
      if (set == (begin >= 0)) continue;
      if (set) {
        begin = at + bit;
      } else {
        f(begin << head.shift, (at + bit - begin) << head.shift);
        begin = -1;
      }
    }
  }
  if (begin >= 0) f(begin << head.shift, (at - begin) << head.shift);
}

}  // namespace forebay
