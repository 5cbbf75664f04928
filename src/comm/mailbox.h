// Mailbox: messages from rank to rank without a meeting. Who sends goes on, and who expects
// something looks for it when it has time.
//
// A message is taken out of its sender's memory when the receiver looks for it, not before: however
// far senders run ahead, a receiver holds what it has asked for only.
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
  std::array<std::byte, few> head{};  ///< all of it, where there is no more
  std::size_t head_bytes = 0;
  RawBytes bytes;
  std::uint64_t ticket = 0;  ///< the backend's
  bool taken = false;
  bool apart = false;  ///< not counted towards the limit

  bool is_under_way() const { return to >= 0 && !taken; }

  std::span<const std::byte> content() const {
    return head_bytes > 0 ? std::span<const std::byte>(head).first(head_bytes)
                          : std::span<const std::byte>(bytes);
  }
};

/// A message that comes, or has come.
struct Arrival {
  int tag = -1;  ///< -1: none
  bool complete = false;
  Rank from = -1;
  std::size_t bytes = 0;
  std::uint64_t ticket = 0;  ///< the backend's
  std::unique_ptr<std::byte[]> room;

  bool is_under_way() const { return tag >= 0 && !complete; }
};

/// All local. Of one file, used by one thread; every letter is taken before `comm` goes. Tags
/// begin anew behind each meeting of all ranks: whoever begins to use one again knows that the
/// letters that had it before were taken.
class Mailbox {
 public:
  static constexpr int tags = 1 << 14;        ///< from 0
  static constexpr std::size_t letters = 16;  ///< under way at a time
  static constexpr std::size_t arrivals = 4;  ///< that come at a time

  /// `limit`: bytes that may be under way to others, beyond one message. `largest`: bytes of the
  /// largest message that comes.
  Mailbox(const Comm& comm, Count limit, Count largest);
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  /// Lets messages move, and looks what has become of them: to be called again and again as long as
  /// not all letters were taken, or any are expected. Returns whether any went or came.
  bool look();
  bool is_empty() const { return under_way_ == 0; }
  Count limit() const { return limit_; }
  /// Whether send() may be called. Messages that may wait for long stand apart from those that
  /// their receivers always take: they need a place, but leave the others their bytes.
  bool has_room() const { return has_place() && held_ < limit_; }
  bool has_place() const { return under_way_ < letters; }
  /// To another rank. Never fails for want of memory.
  void send(Rank to, int tag, RawBytes&& message, bool apart = false);
  /// The same for up to Letter::few bytes, which do not count.
  void send_few(Rank to, int tag, std::span<const std::byte> message);
  /// Lets a message with this tag come, if look() has seen one and there is room for it.
  bool fetch(int tag);
  /// Calls `use`, which does not throw, with a message with this tag and its sender, if one has
  /// come.
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
