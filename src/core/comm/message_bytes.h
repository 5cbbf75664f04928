// Reads and writes values, as they lie in memory, in messages between ranks of one job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "comm/exchange.h"

namespace forebay {

template <typename T>
void put(std::vector<std::byte>& to, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto bytes = std::as_bytes(std::span(&value, 1));
  to.insert(to.end(), bytes.begin(), bytes.end());
}

template <typename T>
T take(std::span<const std::byte>& from) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, from.data(), sizeof value);
  from = from.subspan(sizeof value);
  return value;
}

/// Appends the number of values and the values.
template <typename T>
void put_list(std::vector<std::byte>& to, std::span<const T> values) {
  put(to, static_cast<std::uint64_t>(values.size()));
  const auto bytes = std::as_bytes(values);
  to.insert(to.end(), bytes.begin(), bytes.end());
}

/// Returns as many values as the bytes hold.
template <typename T>
std::vector<T> all_of(std::span<const std::byte> bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

template <typename T>
std::vector<T> take_list(std::span<const std::byte>& from) {
  const std::size_t bytes = take<std::uint64_t>(from) * sizeof(T);
  auto values = all_of<T>(from.first(bytes));
  from = from.subspan(bytes);
  return values;
}

/// Returns one message for each rank that an item of `list` is for. `to` gives an item's rank;
/// `list` is sorted by it. `printed` turns an item into what is sent.
template <typename T, typename To, typename Printed>
std::vector<Message> messages_of(std::span<const T> list, To&& to, Printed&& printed) {
  std::vector<Message> messages;
  for (std::size_t i = 0; i < list.size();) {
    Message& message = messages.emplace_back(Message{to(list[i]), {}});
    std::size_t end = i;
    while (end < list.size() && to(list[end]) == message.to) ++end;
    message.bytes.reserve((end - i) * sizeof(printed(list[i])));
    for (; i < end; ++i) put(message.bytes, printed(list[i]));
  }
  return messages;
}

}  // namespace forebay
