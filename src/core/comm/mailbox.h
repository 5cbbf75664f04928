// Mailbox sends messages from rank to rank without a collective step. A sender goes on at once, and
// a receiver looks for a message when it has time.
//
// A message leaves its sender's memory only when the receiver looks for it. However far senders run
// ahead, a receiver holds only what it has asked for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/raw_bytes.h"
#include "comm/comm.h"
#include "comm/exchange.h"

namespace forebay {

/// A message under way.
struct Letter {
  static constexpr std::size_t few = 32;
  Rank to = -1;  ///< -1: none
  int tag = 0;
  std::array<std::byte, few> head{};  ///< the whole message, if it is short
  std::size_t head_bytes = 0;
  RawBytes bytes;
  std::uint64_t ticket = 0;  ///< of the backend
  bool taken = false;
  bool apart = false;  ///< not counted in the limit

  bool is_under_way() const { return to >= 0 && !taken; }

  std::span<const std::byte> content() const {
    return head_bytes > 0 ? std::span<const std::byte>(head).first(head_bytes)
                          : std::span<const std::byte>(bytes);
  }
};

/// A message that is being received or has been received.
struct Arrival {
  int tag = -1;  ///< -1: none
  bool complete = false;
  Rank from = -1;
  std::size_t bytes = 0;
  std::uint64_t ticket = 0;  ///< of the backend
  std::unique_ptr<std::byte[]> room;

  bool is_under_way() const { return tag >= 0 && !complete; }
};

/// All functions are local. A mailbox belongs to one file and is used by one thread. Every letter
/// is taken before `comm` ends. Tags begin anew after each reduction of all ranks: whoever uses a
/// tag again knows that the earlier letters with it were taken.
class Mailbox {
 public:
  static constexpr int tags = 1 << 14;        ///< from 0
  static constexpr std::size_t letters = 16;  ///< under way at a time
  static constexpr std::size_t arrivals = 4;  ///< received at a time

  /// `limit`: bytes that may be under way to others, beyond one message. `largest`: bytes of the
  /// largest incoming message.
  Mailbox(const Comm& comm, Count limit, Count largest);
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  /// Lets messages progress, and finds out which are complete. Call it again and again while
  /// letters are not taken or messages are expected. Returns whether any was sent or received.
  bool look();
  bool is_empty() const { return under_way_ == 0; }
  Count limit() const { return limit_; }
  /// Returns whether send() may be called. Messages that may wait for long are sent `apart` from
  /// those that receivers always take: they need a place, but do not count in the limit of bytes.
  bool has_room() const { return has_place() && held_ < limit_; }
  bool has_place() const { return under_way_ < letters; }
  /// Sends to another rank. Never fails for lack of memory.
  void send(Rank to, int tag, RawBytes&& message, bool apart = false);
  /// Sends up to Letter::few bytes, which do not count in the limit.
  void send_few(Rank to, int tag, std::span<const std::byte> message);
  /// Begins to receive a message with this tag, if look() has seen one and a place is free.
  bool fetch(int tag);
  /// Passes a received message with this tag, and its sender, to `use`, which must not throw.
  /// Returns false if there is none.
  bool take(int tag, const Receive& use);

 private:
  Letter& free_place();
  void post(Letter& letter, Rank to, int tag);

  const Comm& comm_;
  Count limit_;
  Count held_ = 0;
  std::size_t under_way_ = 0;
  bool has_mail_ = false;
  std::array<Letter, letters> letters_;
  std::array<Arrival, arrivals> arrivals_;
};

}  // namespace forebay
