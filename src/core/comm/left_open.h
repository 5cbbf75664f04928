// Closes what a program still has open when it ends.
#pragma once

#include <functional>
#include <string>

#include "comm/comm.h"

namespace forebay {

/// Something that a program must end, such as an open file. If it has not done so when MPI_Finalize
/// begins or the process exits, end() is called. No call is left then that could return an error,
/// so one rank prints it on standard error.
///
/// Objects end in the order in which they began. So ranks that have all of theirs open end them in
/// one order, whichever others they have. If only some ranks of a file have closed it, the others
/// wait for them, as in a close. Some ranks may exit without MPI_Finalize while others go on, or
/// while calls run. If not all ranks of a file come within some seconds, or calls do not end, the
/// file is not ended, and a message names what is lost. A child of fork() ends nothing of its
/// parent's.
class LeftOpen {
 public:
  /// Owners of files end before all files.
  enum class Turn { owner, file };

  LeftOpen(const LeftOpen&) = delete;
  LeftOpen& operator=(const LeftOpen&) = delete;

 protected:
  explicit LeftOpen(Turn turn);
  virtual ~LeftOpen();

  virtual const Comm& its_ranks() const = 0;
  virtual std::string its_name() const = 0;
  /// Local; the same on all ranks. Returns whether something would be lost without end(). A wrong
  /// true does no harm.
  virtual bool would_lose() const = 0;
  /// Returns what happens to waiting data if end() is not called, and what to do.
  virtual std::string if_not_ended() const;
  /// Collective over its ranks. Nothing waits any more when it returns. It is called once and may
  /// destroy this object.
  virtual void end() = 0;

 private:
  struct List;
  static List& list();
  static LeftOpen* next(Turn turn);
  static void end_all(bool ranks_are_there);
  /// Calls f(one) for each object of this process that has not ended, in order.
  template <typename F>
  static void each(F&& f);
  static void name_all(const std::string& why);
  void end_or_tell(bool ranks_are_there);

  const Turn turn_;
  const long process_;
  bool ended_ = false;
  std::function<bool()> all_have_come_;  ///< set where ranks may be missing
  LeftOpen *before_ = nullptr, *behind_ = nullptr;
};

}  // namespace forebay
