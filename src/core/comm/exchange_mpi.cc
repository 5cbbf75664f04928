#include <array>
#include <climits>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/attempt.h"
#include "base/error.h"
#include "comm/backend_mpi.h"
#include "comm/mpi.h"
#include "comm/yield_or_sleep.h"

namespace forebay {

namespace {

// Every MPI has 2^15 tags. Mailboxes use those behind these.
constexpr int tags = 1 << 12;

/// An MPI datatype for `bytes` bytes; one element if the count of bytes does not fit an int.
class ByteType {
 public:
  explicit ByteType(std::size_t bytes) {
    if (bytes <= static_cast<std::size_t>(INT_MAX)) {
      count_ = static_cast<int>(bytes);
      return;
    }
    constexpr std::size_t block = std::size_t{1} << 30;
    MPI_Datatype blocks, big, parts[2];
    check_mpi(MPI_Type_contiguous(static_cast<int>(block), MPI_BYTE, &big), "MPI_Type_contiguous");
    check_mpi(MPI_Type_contiguous(static_cast<int>(bytes / block), big, &blocks),
              "MPI_Type_contiguous");
    parts[0] = blocks;
    parts[1] = MPI_BYTE;
    int lengths[2] = {1, static_cast<int>(bytes % block)};
    MPI_Aint places[2] = {0, static_cast<MPI_Aint>(bytes / block * block)};
    check_mpi(MPI_Type_create_struct(2, lengths, places, parts, &type_), "MPI_Type_create_struct");
    check_mpi(MPI_Type_commit(&type_), "MPI_Type_commit");
    MPI_Type_free(&blocks);
    MPI_Type_free(&big);
    count_ = 1;
    derived_ = true;
  }
  ~ByteType() {
    if (derived_) MPI_Type_free(&type_);
  }
  ByteType(const ByteType&) = delete;
  ByteType& operator=(const ByteType&) = delete;
  MPI_Datatype type() const { return type_; }
  int count() const { return count_; }

 private:
  MPI_Datatype type_ = MPI_BYTE;
  int count_ = 0;
  bool derived_ = false;
};

/// Errors of a matched message have no communicator. Some MPI libraries then call the error handler
/// of MPI_COMM_WORLD or MPI_COMM_SELF, which ends the job.
class ReturnsErrors {
 public:
  ReturnsErrors() {
    for (int i = 0; i < 2; ++i) {
      MPI_Comm_get_errhandler(comms_[i], &before_[i]);
      MPI_Comm_set_errhandler(comms_[i], MPI_ERRORS_RETURN);
    }
  }
  ~ReturnsErrors() {
    for (int i = 0; i < 2; ++i) {
      MPI_Comm_set_errhandler(comms_[i], before_[i]);
      MPI_Errhandler_free(&before_[i]);
    }
  }
  ReturnsErrors(const ReturnsErrors&) = delete;
  ReturnsErrors& operator=(const ReturnsErrors&) = delete;

 private:
  MPI_Comm comms_[2] = {MPI_COMM_WORLD, MPI_COMM_SELF};
  MPI_Errhandler before_[2] = {MPI_ERRHANDLER_NULL, MPI_ERRHANDLER_NULL};
};

}  // namespace

void MpiBackend::exchange(std::span<const Message> outgoing, const Receive& receive) {
  const int tag = std::exchange(tag_, (tag_ + 1) % tags);
  std::exception_ptr failure;
  const auto attempt = [&](auto&& f) {
    try {
      f();
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  };
  // A rank without memory to send still receives. Otherwise the senders would wait for ever.
  std::vector<MPI_Request> sends;
  attempt([&] { sends.reserve(outgoing.size()); });
  for (const Message& m : outgoing.first(failure ? 0 : outgoing.size())) {
    if (m.to == rank_) continue;
    ByteType shape(m.bytes.size());
    MPI_Request request;
    check_mpi(MPI_Issend(m.bytes.data(), shape.count(), shape.type(), m.to, tag, comm_, &request),
              "MPI_Issend");
    sends.push_back(request);
  }

  std::vector<std::byte> incoming;
  MPI_Request barrier = MPI_REQUEST_NULL;
  bool in_barrier = false;
  for (int done = 0; !done;) {
    int there = 0;
    MPI_Message message;
    MPI_Status status;
    check_mpi(MPI_Improbe(MPI_ANY_SOURCE, tag, comm_, &there, &message, &status), "MPI_Improbe");
    if (there) {
      MPI_Count bytes = 0;
      MPI_Get_elements_x(&status, MPI_BYTE, &bytes);
      const int from = status.MPI_SOURCE;
      incoming.clear();
      attempt([&] { incoming.resize(static_cast<std::size_t>(bytes)); });
      if (static_cast<MPI_Count>(incoming.size()) < bytes) {
        // Without memory, the message is truncated; its sender does not notice.
        const ReturnsErrors cut;
        MPI_Mrecv(nullptr, 0, MPI_BYTE, &message, &status);
        continue;
      }
      ByteType shape(incoming.size());
      check_mpi(MPI_Mrecv(incoming.data(), shape.count(), shape.type(), &message, &status),
                "MPI_Mrecv");
      receive(from, incoming);
      continue;
    }
    if (in_barrier) {
      check_mpi(MPI_Test(&barrier, &done, MPI_STATUS_IGNORE), "MPI_Test");
    } else {
      int sent = 0;
      check_mpi(
          MPI_Testall(static_cast<int>(sends.size()), sends.data(), &sent, MPI_STATUSES_IGNORE),
          "MPI_Testall");
      if (sent) {
        check_mpi(MPI_Ibarrier(comm_, &barrier), "MPI_Ibarrier");
        in_barrier = true;
      }
    }
    // Ranks may outnumber cores, so an idle rank yields.
    if (!done) yield_or_sleep();
  }
  if (failure) std::rethrow_exception(failure);
}

// Others wait for letters without a reduction that could report an error, so no rank can go on.
void MpiBackend::must(int code, const char* call) {
  const auto failed = attempt_to([&] { check_mpi(code, call); });
  if (!failed) return;
  std::fprintf(stderr, "forebay: %s; ending the job\n", failed->what());
  end_job();
}

// The send is synchronous: for a receiver that does not ask yet, no more is kept than what MPI
// sends ahead.
void MpiBackend::post(Letter& letter) {
  static_assert(sizeof(MPI_Request) <= sizeof letter.ticket && Mailbox::tags + tags < 1 << 15);
  const auto content = letter.content();
  MPI_Request request;
  must(MPI_Issend(content.data(), static_cast<int>(content.size()), MPI_BYTE, letter.to,
                  tags + letter.tag, comm_, &request),
       "MPI_Issend");
  std::memcpy(&letter.ticket, &request, sizeof(MPI_Request));
}

bool MpiBackend::look_after(std::span<Letter> letters, std::span<Arrival> arrivals) {
  std::array<MPI_Request, Mailbox::letters + Mailbox::arrivals> requests;
  std::array<int, requests.size()> done;
  std::array<MPI_Status, requests.size()> statuses;
  std::size_t n = 0;
  bool any = false;
  const auto add = [&](const auto& message) {
    requests[n] = MPI_REQUEST_NULL;
    if (message.is_under_way()) {
      std::memcpy(&requests[n], &message.ticket, sizeof(MPI_Request));
      any = true;
    }
    ++n;
  };
  for (const Letter& letter : letters) add(letter);
  for (const Arrival& arrival : arrivals) add(arrival);
  if (!any) return false;
  int finished = 0;
  must(MPI_Testsome(static_cast<int>(n), requests.data(), &finished, done.data(), statuses.data()),
       "MPI_Testsome");
  if (finished == MPI_UNDEFINED) return false;
  for (int k = 0; k < finished; ++k) {
    const auto at = static_cast<std::size_t>(done[static_cast<std::size_t>(k)]);
    at < letters.size() ? letters[at].taken = true : arrivals[at - letters.size()].complete = true;
  }
  return finished > 0;
}

// While ranks look for letters, nothing else is under way on this communicator, except what ranks
// that are ahead have begun. So even if this returns true, a letter may not have come.
bool MpiBackend::has_mail() {
  int there = 0;
  must(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &there, MPI_STATUS_IGNORE), "MPI_Iprobe");
  return there != 0;
}

bool MpiBackend::fetch(int tag, Arrival& arrival) {
  int there = 0, bytes = 0;
  MPI_Message message;
  MPI_Status status;
  must(MPI_Improbe(MPI_ANY_SOURCE, tags + tag, comm_, &there, &message, &status), "MPI_Improbe");
  if (!there) return false;
  must(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
  MPI_Request request;
  must(MPI_Imrecv(arrival.room.get(), bytes, MPI_BYTE, &message, &request), "MPI_Imrecv");
  std::memcpy(&arrival.ticket, &request, sizeof(MPI_Request));
  arrival.tag = tag;
  arrival.from = status.MPI_SOURCE;
  arrival.bytes = static_cast<std::size_t>(bytes);
  return true;
}

}  // namespace forebay
