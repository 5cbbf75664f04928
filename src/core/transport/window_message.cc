#include "transport/window_message.h"

#include <algorithm>
#include <bit>

namespace forebay {

namespace {

std::size_t length_of(std::uint32_t value) {
  if (value < 0x80) return 1;  // as most are
  return (static_cast<std::size_t>(std::bit_width(value | 1u)) + 6) / 7;
}

std::byte* put(std::byte* to, std::uint32_t value) {
  for (; value >= 0x80; value >>= 7) *to++ = static_cast<std::byte>(value | 0x80);
  *to++ = static_cast<std::byte>(value);
  return to;
}

void set_bits(std::byte* bits, std::uint32_t from, std::uint32_t to) {
  for (; from < to && from % 8 != 0; ++from) bits[from / 8] |= std::byte{1} << (from % 8);
  const std::uint32_t whole = (to - from) / 8;
  std::memset(bits + from / 8, 0xff, whole);
  for (from += whole * 8; from < to; ++from) bits[from / 8] |= std::byte{1} << (from % 8);
}

}  // namespace

WindowHead coding_of(std::span<const WindowRun> runs) {
  WindowHead head;
  std::uint32_t ends = 8;
  for (const WindowRun& r : runs) ends |= r.from | r.to;
  const int shift = std::countr_zero(ends);
  head.shift = static_cast<std::uint8_t>(shift);
  std::size_t gaps = 0, bits = 0;
  if (!runs.empty()) {
    head.first = runs.front().from >> shift;
    bits = ((runs.back().to >> shift) - head.first + 7) / 8;
  }
  std::uint32_t at = head.first, last = 1;
  for (const WindowRun& r : runs) {
    const std::uint32_t length = (r.to - r.from) >> shift;
    gaps += length_of(((r.from >> shift) - at) * 2 | 1);
    if (length != last) gaps += length_of(length);
    at = r.to >> shift;
    last = length;
  }
  head.coding = gaps <= bits ? WindowHead::gaps : WindowHead::bits;
  head.coded = static_cast<std::uint32_t>(std::min(gaps, bits));
  return head;
}

RawBytes window_message(Count window, std::span<const WindowRun> runs, Count payload) {
  WindowHead head = coding_of(runs);
  head.window = window;
  RawBytes message(static_cast<std::size_t>(message_bytes(head, payload)));
  std::memcpy(message.data(), &head, sizeof head);
  std::byte* coded = message.data() + sizeof head;
  if (head.coding == WindowHead::bits) std::memset(coded, 0, head.coded);
  std::uint32_t at = head.first, last = 1;
  for (const WindowRun& r : runs) {
    const std::uint32_t from = r.from >> head.shift, to = r.to >> head.shift;
    if (head.coding == WindowHead::gaps) {
      const bool same = to - from == last;
      coded = put(coded, (from - at) * 2 | (same ? 0 : 1));
      if (!same) coded = put(coded, to - from);
      at = to;
      last = to - from;
    } else {
      set_bits(coded, from - head.first, to - head.first);
    }
  }
  return message;
}

}  // namespace forebay
