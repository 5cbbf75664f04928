// Nonblocking requests: posting, waiting, cancelling, the attached buffer.
#include <pnetcdf.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <random>
#include <vector>

#include "mpi/sample.h"
#include "support/harness.h"

using namespace forebay_test;

namespace {

const MPI_Info no_info = MPI_INFO_NULL;

int pending(int ncid) {
  int n = -1;
  EXPECT_OK(ncmpi_inq_nreqs(ncid, &n));
  return n;
}

int post(const Sample& s, Index start, Index count, const int* values, int* request) {
  return ncmpi_iput_vara_int(s.ncid, s.grid, start.data(), count.data(), values, request);
}

MPI_Offset usage(int ncid) {
  MPI_Offset n = -1;
  EXPECT_OK(ncmpi_inq_buffer_usage(ncid, &n));
  return n;
}

}  // namespace

TEST(Requests, request_ids_tell_puts_from_gets) {
  const Sample s = create_sample();
  int values[24] = {};
  int puts[3] = {};
  int gets[2] = {};
  for (int& id : puts) EXPECT_OK(ncmpi_iput_var_int(s.ncid, s.grid, values, &id));
  for (int& id : gets) EXPECT_OK(ncmpi_iget_var_int(s.ncid, s.grid, values, &id));
  for (const int id : puts) EXPECT_EQ(0, id % 2);
  for (const int id : gets) EXPECT_EQ(1, id % 2);
  EXPECT_EQ(5, pending(s.ncid));
  EXPECT_OK(ncmpi_cancel(s.ncid, NC_REQ_ALL, nullptr, nullptr));
  EXPECT_EQ(0, pending(s.ncid));
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Requests, empty_and_refused_requests_are_null) {
  const Sample s = create_sample();
  const int value = 1;
  int request = 5;
  EXPECT_ERR(NC_EINVALCOORDS, post(s, {4, 0}, {1, 1}, &value, &request));
  EXPECT_EQ(NC_REQ_NULL, request);
  request = 5;
  EXPECT_OK(post(s, {0, 0}, {0, 1}, &value, &request));
  EXPECT_EQ(NC_REQ_NULL, request);
  request = 5;
  EXPECT_OK(ncmpi_iput_varn_int(s.ncid, s.grid, 0, nullptr, nullptr, nullptr, &request));
  EXPECT_EQ(NC_REQ_NULL, request);
  EXPECT_EQ(0, pending(s.ncid));
  int status = 9;
  EXPECT_OK(ncmpi_wait_all(s.ncid, 1, &request, &status));
  EXPECT_EQ(NC_NOERR, status);
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Requests, the_id_need_not_be_asked_for) {
  const Sample s = create_sample();
  const int value = 9;
  EXPECT_OK(post(s, {0, 0}, {1, 1}, &value, nullptr));
  EXPECT_EQ(1, pending(s.ncid));
  EXPECT_OK(ncmpi_wait_all(s.ncid, NC_REQ_ALL, nullptr, nullptr));
  EXPECT_EQ(0, pending(s.ncid));
  int got[24] = {};
  EXPECT_OK(ncmpi_get_var_int_all(s.ncid, s.grid, got));
  EXPECT_EQ(9, got[0]);
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Requests, waiting_for_some_leaves_the_others) {
  if (!is_forebay()) return;  // the peer loses the request that is not waited for
  const Sample s = create_sample();
  int before[24] = {};
  EXPECT_OK(ncmpi_put_var_int_all(s.ncid, s.grid, before));
  const int row[3][6] = {{1, 1, 1, 1, 1, 1}, {2, 2, 2, 2, 2, 2}, {3, 3, 3, 3, 3, 3}};
  int ids[3] = {};
  for (int i = 0; i < 3; ++i) EXPECT_OK(post(s, {i, 0}, {1, 6}, row[i], &ids[i]));
  int some[3] = {ids[2], NC_REQ_NULL, ids[0]};
  int statuses[3] = {9, 9, 9};
  EXPECT_OK(ncmpi_wait_all(s.ncid, 3, some, statuses));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(NC_REQ_NULL, some[i]);
    EXPECT_EQ(NC_NOERR, statuses[i]);
  }
  EXPECT_EQ(1, pending(s.ncid));
  int got[24] = {};
  EXPECT_OK(ncmpi_get_var_int_all(s.ncid, s.grid, got));
  EXPECT_EQ(1, got[0]);
  EXPECT_EQ(0, got[6]);
  EXPECT_EQ(3, got[12]);
  EXPECT_OK(ncmpi_wait_all(s.ncid, 1, &ids[1], nullptr));
  EXPECT_OK(ncmpi_get_var_int_all(s.ncid, s.grid, got));
  EXPECT_EQ(2, got[6]);
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Requests, an_unknown_id_is_refused_and_nothing_is_flushed) {
  const Sample s = create_sample();
  const int value = 5;
  int id = -1;
  EXPECT_OK(post(s, {0, 0}, {1, 1}, &value, &id));
  int ids[2] = {id, 12344};
  int statuses[2] = {9, 9};
  EXPECT_ERR(NC_EINVAL_REQUEST, ncmpi_wait_all(s.ncid, 2, ids, statuses));
  EXPECT_EQ(NC_NOERR, statuses[0]);
  EXPECT_EQ(NC_EINVAL_REQUEST, statuses[1]);
  EXPECT_EQ(1, pending(s.ncid));
  EXPECT_OK(ncmpi_wait_all(s.ncid, NC_REQ_ALL, nullptr, nullptr));
  // The id of a request that is done is unknown.
  EXPECT_ERR(NC_EINVAL_REQUEST, ncmpi_wait_all(s.ncid, 1, &id, statuses));
  EXPECT_EQ(NC_EINVAL_REQUEST, statuses[0]);
  EXPECT_ERR(NC_EINVAL_REQUEST, ncmpi_cancel(s.ncid, 1, &id, statuses));
  EXPECT_ERR(NC_EINVAL, ncmpi_cancel(s.ncid, -5, &id, statuses));
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Requests, an_id_that_is_listed_twice_is_refused_the_second_time) {
  const Sample s = create_sample();
  const int value = 5;
  for (const bool cancels : {false, true}) {
    int id = -1;
    EXPECT_OK(post(s, {0, 0}, {1, 1}, &value, &id));
    int ids[3] = {id, NC_REQ_NULL, id};
    int statuses[3] = {9, 9, 9};
    EXPECT_ERR(NC_EINVAL_REQUEST, cancels ? ncmpi_cancel(s.ncid, 3, ids, statuses)
                                          : ncmpi_wait_all(s.ncid, 3, ids, statuses));
    EXPECT_EQ(NC_NOERR, statuses[0]);
    EXPECT_EQ(NC_EINVAL_REQUEST, statuses[2]);
    EXPECT_EQ(cancels ? 0 : 1, pending(s.ncid));  // what is known is cancelled
    EXPECT_EQ(cancels ? NC_REQ_NULL : id, ids[0]);
    if (!cancels) {
      EXPECT_OK(ncmpi_wait_all(s.ncid, 1, ids, statuses));
    }
  }
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Requests, an_unknown_id_on_one_rank_does_not_stop_the_others) {
  if (!is_forebay()) return;  // the peer's other ranks flush nothing either, without an error
  const Sample s = create_sample();
  const int value = 6;
  int id = NC_REQ_NULL;
  const int bad = world.size - 1;
  if (world.rank == 0) {
    EXPECT_OK(post(s, {0, 0}, {1, 1}, &value, &id));
  }
  int ids[2] = {id, world.rank == bad && world.size > 1 ? 99998 : NC_REQ_NULL};
  int statuses[2] = {9, 9};
  const int expected = world.rank == bad && world.size > 1 ? NC_EINVAL_REQUEST : NC_NOERR;
  EXPECT_ERR(expected, ncmpi_wait_all(s.ncid, 2, ids, statuses));
  int got[24] = {};
  EXPECT_OK(ncmpi_get_var_int_all(s.ncid, s.grid, got));
  EXPECT_EQ(6, got[0]);
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Requests, puts_and_gets_can_be_completed_apart) {
  const Sample s = create_sample();
  int values[24];
  std::iota(values, values + 24, 100);
  int got[24] = {};
  EXPECT_OK(ncmpi_put_var_int_all(s.ncid, s.grid, values));
  int put_id = -1;
  int get_id = -1;
  const int value = 7;
  EXPECT_OK(ncmpi_iput_var_int(s.ncid, s.scalar, &value, &put_id));
  EXPECT_OK(ncmpi_iget_var_int(s.ncid, s.grid, got, &get_id));
  EXPECT_OK(ncmpi_wait_all(s.ncid, NC_PUT_REQ_ALL, nullptr, nullptr));
  EXPECT_EQ(1, pending(s.ncid));
  EXPECT_OK(ncmpi_wait_all(s.ncid, NC_GET_REQ_ALL, nullptr, nullptr));
  EXPECT_EQ(0, pending(s.ncid));
  for (int i = 0; i < 24; ++i) EXPECT_EQ(values[i], got[i]);
  EXPECT_OK(ncmpi_iput_var_int(s.ncid, s.scalar, &value, &put_id));
  EXPECT_OK(ncmpi_iget_var_int(s.ncid, s.grid, got, &get_id));
  EXPECT_OK(ncmpi_cancel(s.ncid, NC_PUT_REQ_ALL, nullptr, nullptr));
  EXPECT_EQ(1, pending(s.ncid));
  EXPECT_OK(ncmpi_cancel(s.ncid, NC_GET_REQ_ALL, nullptr, nullptr));
  EXPECT_EQ(0, pending(s.ncid));
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Requests, a_get_sees_the_puts_completed_with_it) {
  const Sample s = create_sample();
  const int old_value = 1;
  const int new_value = 2;
  EXPECT_OK(ncmpi_put_var_int_all(s.ncid, s.scalar, &old_value));
  int got = 0;
  int ids[2] = {};
  EXPECT_OK(ncmpi_iget_var_int(s.ncid, s.scalar, &got, &ids[0]));
  EXPECT_OK(ncmpi_iput_var_int(s.ncid, s.scalar, &new_value, &ids[1]));
  EXPECT_OK(ncmpi_wait_all(s.ncid, 2, ids, nullptr));
  EXPECT_EQ(2, got);
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Requests, the_later_posted_request_wins) {
  if (!is_forebay()) return;  // the peer leaves the order open
  const Sample s = create_sample();
  // Only rank 0 writes; its requests overlap in every way.
  int first[24];
  int second[12];
  const int third = 3;
  std::fill(first, first + 24, 1);
  std::fill(second, second + 12, 2);
  int ids[3] = {NC_REQ_NULL, NC_REQ_NULL, NC_REQ_NULL};
  if (world.rank == 0) {
    EXPECT_OK(post(s, {0, 0}, {4, 6}, first, &ids[0]));
    EXPECT_OK(post(s, {1, 0}, {2, 6}, second, &ids[1]));
    EXPECT_OK(post(s, {2, 2}, {1, 1}, &third, &ids[2]));
  }
  std::swap(ids[0], ids[2]);  // the order of the list does not matter
  EXPECT_OK(ncmpi_wait_all(s.ncid, 3, ids, nullptr));
  int got[24] = {};
  EXPECT_OK(ncmpi_get_var_int_all(s.ncid, s.grid, got));
  for (int i = 0; i < 24; ++i) {
    EXPECT_EQ(i == 14 ? 3 : i / 6 == 1 || i / 6 == 2 ? 2 : 1, got[i]);
  }
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Requests, overlapping_gets_each_get_their_values) {
  if (!is_forebay()) return;  // the peer returns wrong values
  const Sample s = create_sample();
  int values[24];
  std::iota(values, values + 24, 0);
  EXPECT_OK(ncmpi_put_var_int_all(s.ncid, s.grid, values));
  int whole[24] = {};
  int part[6] = {};
  int again[24] = {};
  int ids[3] = {};
  const Index start = {1, 1};
  const Index count = {2, 3};
  EXPECT_OK(ncmpi_iget_var_int(s.ncid, s.grid, whole, &ids[0]));
  EXPECT_OK(ncmpi_iget_vara_int(s.ncid, s.grid, start.data(), count.data(), part, &ids[1]));
  EXPECT_OK(ncmpi_iget_var_int(s.ncid, s.grid, again, &ids[2]));
  EXPECT_OK(ncmpi_wait_all(s.ncid, 3, ids, nullptr));
  for (int i = 0; i < 24; ++i) {
    EXPECT_EQ(i, whole[i]);
    EXPECT_EQ(i, again[i]);
  }
  for (int i = 0; i < 6; ++i) EXPECT_EQ(7 + i / 3 * 6 + i % 3, part[i]);
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Requests, ranks_post_different_numbers_of_requests) {
  Sample s = create_sample(NC_64BIT_DATA, false);
  int dim = -1;
  const int n = 50;
  EXPECT_OK(ncmpi_def_dim(s.ncid, "cells", n * world.size, &dim));
  std::vector<int> vars(20);
  for (size_t i = 0; i < vars.size(); ++i) {
    const std::string name = "field" + std::to_string(i);
    EXPECT_OK(
        ncmpi_def_var(s.ncid, name.c_str(), i % 2 == 0 ? NC_DOUBLE : NC_SHORT, 1, &dim, &vars[i]));
  }
  EXPECT_OK(ncmpi_enddef(s.ncid));
  // Rank r writes its cells one by one, in variables r, r+1, ... in reverse order of place.
  std::vector<int> values(static_cast<size_t>(n) * vars.size());
  std::vector<int> ids;
  for (size_t i = static_cast<size_t>(world.rank); i < vars.size(); ++i) {
    for (int c = n - 1; c >= 0; --c) {
      const MPI_Offset start = static_cast<MPI_Offset>(c) * world.size + world.rank;
      int& value = values[i * n + static_cast<size_t>(c)];
      value = static_cast<int>(i) * 1000 + c;
      int id = NC_REQ_NULL;
      EXPECT_OK(ncmpi_iput_var1_int(s.ncid, vars[i], &start, &value, &id));
      ids.push_back(id);
    }
  }
  std::vector<int> statuses(ids.size(), 9);
  EXPECT_OK(ncmpi_wait_all(s.ncid, static_cast<int>(ids.size()), ids.data(), statuses.data()));
  for (const int status : statuses) EXPECT_EQ(NC_NOERR, status);
  // The variables that every rank wrote; the others have places that nobody wrote.
  for (size_t i = static_cast<size_t>(world.size); i < vars.size(); ++i) {
    std::vector<int> got(static_cast<size_t>(n) * static_cast<size_t>(world.size), -1);
    EXPECT_OK(ncmpi_get_var_int_all(s.ncid, vars[i], got.data()));
    for (int k = 0; k < n * world.size; ++k) {
      EXPECT_EQ(static_cast<int>(i) * 1000 + k / world.size, got[static_cast<size_t>(k)]);
    }
  }
  EXPECT_OK(ncmpi_close(s.ncid));
}

// Waits and cancels of parts of what is pending, in no order, while more is posted.
TEST(Requests, parts_of_many_are_waited_for_and_cancelled_in_any_order) {
  if (!is_forebay()) return;  // the peer loses what is not waited for
  constexpr int n = 700, rounds = 7, batches = 28, each = 2 * n / batches;
  Sample s = create_sample(NC_64BIT_DATA, false);
  int dim = -1, var = -1, other = -1;
  EXPECT_OK(ncmpi_def_dim(s.ncid, "cells", n * world.size, &dim));
  EXPECT_OK(ncmpi_def_var(s.ncid, "written", NC_INT, 1, &dim, &var));
  EXPECT_OK(ncmpi_def_var(s.ncid, "read", NC_INT, 1, &dim, &other));
  EXPECT_OK(ncmpi_enddef(s.ncid));
  const MPI_Offset first = static_cast<MPI_Offset>(n) * world.rank, all = n;
  std::vector<int> there(n), before(n, -1);
  std::iota(there.begin(), there.end(), 5);
  EXPECT_OK(ncmpi_put_vara_int_all(s.ncid, other, &first, &all, there.data()));
  EXPECT_OK(ncmpi_put_vara_int_all(s.ncid, var, &first, &all, before.data()));
  std::mt19937 random(static_cast<unsigned>(world.rank));
  std::vector<int> expected = before, values(n), got(n), ids(2 * n), order(2 * n);
  std::iota(order.begin(), order.end(), 0);
  for (int round = 0; round < rounds; ++round) {
    std::fill(got.begin(), got.end(), -7);
    // What there is in `order` is posted in it: writes below n, and reads.
    std::shuffle(order.begin(), order.end(), random);
    const auto post_part = [&](int from, int to) {
      for (int k = from; k < to; ++k) {
        const auto i = static_cast<size_t>(order[static_cast<size_t>(k)] % n);
        const MPI_Offset at = first + static_cast<MPI_Offset>(i);
        int& id = ids[static_cast<size_t>(order[static_cast<size_t>(k)])];
        values[i] = 1000 * round + static_cast<int>(i);
        EXPECT_OK(order[static_cast<size_t>(k)] < n
                      ? ncmpi_iput_var1_int(s.ncid, var, &at, &values[i], &id)
                      : ncmpi_iget_var1_int(s.ncid, other, &at, &got[i], &id));
      }
    };
    post_part(0, n);
    std::vector<int> left(order.begin(), order.begin() + n);
    for (int batch = 0; batch < batches; ++batch) {
      if (batch == batches / 4) {
        post_part(n, 2 * n);
        left.insert(left.end(), order.begin() + n, order.end());
      }
      std::shuffle(left.begin(), left.end(), random);
      std::vector<int> some, statuses(each, 9);
      const std::vector<int> which(left.end() - each, left.end());
      for (const int r : which) some.push_back(ids[static_cast<size_t>(r)]);
      left.resize(left.size() - each);
      const bool cancels = batch % 5 == 4;
      EXPECT_OK(cancels ? ncmpi_cancel(s.ncid, each, some.data(), statuses.data())
                        : ncmpi_wait_all(s.ncid, each, some.data(), statuses.data()));
      EXPECT_EQ(std::count(some.begin(), some.end(), NC_REQ_NULL), each);
      EXPECT_EQ(std::count(statuses.begin(), statuses.end(), NC_NOERR), each);
      EXPECT_EQ(pending(s.ncid), static_cast<int>(left.size()));
      for (const int r : which) {
        const auto i = static_cast<size_t>(r % n);
        if (r < n && !cancels) expected[i] = values[i];
        if (r >= n) {
          EXPECT_EQ(got[i], cancels ? -7 : there[i]);
        }
      }
      int again = ids[static_cast<size_t>(which[0])], status = 9;
      EXPECT_ERR(NC_EINVAL_REQUEST, ncmpi_cancel(s.ncid, 1, &again, &status));
    }
    std::vector<int> written(n);
    EXPECT_OK(ncmpi_get_vara_int_all(s.ncid, var, &first, &all, written.data()));
    EXPECT_EQ(written, expected);
  }
  EXPECT_OK(ncmpi_close(s.ncid));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// The address space is made so small that posting ends early.
TEST(Requests, without_memory_for_more_what_is_posted_stays) {
  if (!is_forebay()) return;  // the peer crashes
  const Sample s = create_sample(NC_64BIT_DATA, false);
  int dim = -1, var = -1;
  constexpr int most = 2'000'000;
  EXPECT_OK(ncmpi_def_dim(s.ncid, "cells", MPI_Offset{most} * world.size, &dim));
  EXPECT_OK(ncmpi_def_var(s.ncid, "v", NC_INT, 1, &dim, &var));
  EXPECT_OK(ncmpi_enddef(s.ncid));
  const MPI_Offset first = MPI_Offset{most} * world.rank;
  rlimit before{};
  ::getrlimit(RLIMIT_AS, &before);
  long pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit small = before;
  small.rlim_cur = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE)) + (40 << 20);
  int posted = 0, code = NC_NOERR, id = 9;
  ::setrlimit(RLIMIT_AS, &small);
  for (; posted < most && code == NC_NOERR; posted += code == NC_NOERR) {
    const MPI_Offset at = first + posted;
    const int value = 3 * posted;
    code = ncmpi_iput_var1_int(s.ncid, var, &at, &value, &id);
  }
  ::setrlimit(RLIMIT_AS, &before);
  EXPECT_ERR(NC_ENOMEM, code);
  EXPECT_EQ(NC_REQ_NULL, id);
  EXPECT_GT(posted, 1000);
  EXPECT_EQ(pending(s.ncid), posted);
  EXPECT_OK(ncmpi_wait_all(s.ncid, NC_REQ_ALL, nullptr, nullptr));
  std::vector<int> got(static_cast<size_t>(posted)), expected(got.size());
  for (int i = 0; i < posted; ++i) expected[static_cast<size_t>(i)] = 3 * i;
  const MPI_Offset count = posted;
  EXPECT_OK(ncmpi_get_vara_int_all(s.ncid, var, &first, &count, got.data()));
  EXPECT_EQ(got, expected);
  EXPECT_OK(ncmpi_close(s.ncid));
}
#endif

TEST(Requests, requests_survive_changes_of_mode) {
  const Sample s = create_sample();
  const int value = 33;
  int id = NC_REQ_NULL;
  if (world.rank == 0) {
    EXPECT_OK(post(s, {1, 1}, {1, 1}, &value, &id));
  }
  EXPECT_OK(ncmpi_redef(s.ncid));
  EXPECT_OK(ncmpi_put_att_text(s.ncid, NC_GLOBAL, "long", 600, std::string(600, 'x').c_str()));
  EXPECT_OK(ncmpi_enddef(s.ncid));
  EXPECT_OK(ncmpi_begin_indep_data(s.ncid));
  EXPECT_EQ(world.rank == 0 ? 1 : 0, pending(s.ncid));
  EXPECT_OK(ncmpi_wait(s.ncid, 1, &id, nullptr));
  EXPECT_OK(ncmpi_end_indep_data(s.ncid));
  int got[24] = {};
  EXPECT_OK(ncmpi_get_var_int_all(s.ncid, s.grid, got));
  EXPECT_EQ(33, got[7]);
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Requests, closing_with_pending_requests_says_so) {
  Sample s = create_sample();
  const int value = 1;
  int id = NC_REQ_NULL;
  EXPECT_OK(post(s, {0, 0}, {1, 1}, &value, &id));
  EXPECT_ERR(NC_EPENDING, ncmpi_close(s.ncid));
  // The file is closed all the same, and can be opened.
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), NC_WRITE, no_info, &s.ncid));
  EXPECT_OK(post(s, {0, 0}, {1, 1}, &value, &id));
  EXPECT_OK(ncmpi_abort(s.ncid));
}

TEST(Requests, cancelled_puts_do_not_write) {
  const Sample s = create_sample();
  const int before = 10;
  const int after = 20;
  EXPECT_OK(ncmpi_put_var_int_all(s.ncid, s.scalar, &before));
  int id = NC_REQ_NULL;
  EXPECT_OK(ncmpi_iput_var_int(s.ncid, s.scalar, &after, &id));
  int status = 9;
  EXPECT_OK(ncmpi_cancel(s.ncid, 1, &id, &status));
  EXPECT_EQ(NC_REQ_NULL, id);
  EXPECT_EQ(NC_NOERR, status);
  EXPECT_OK(ncmpi_wait_all(s.ncid, NC_REQ_ALL, nullptr, nullptr));
  int got = 0;
  EXPECT_OK(ncmpi_get_var_int_all(s.ncid, s.scalar, &got));
  EXPECT_EQ(10, got);
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Requests, a_put_that_does_not_fit_says_so_when_posted) {
  const Sample s = create_sample();
  const int values[6] = {300, 1, 2, 3, 4, 5};
  int id = NC_REQ_NULL;
  EXPECT_ERR(NC_ERANGE, ncmpi_iput_var_int(s.ncid, s.tiny, values, &id));
  EXPECT_TRUE(id != NC_REQ_NULL);
  int status = 9;
  EXPECT_OK(ncmpi_wait_all(s.ncid, 1, &id, &status));
  EXPECT_EQ(NC_NOERR, status);
  signed char got[6] = {};
  EXPECT_OK(ncmpi_get_var_schar_all(s.ncid, s.tiny, got));
  EXPECT_EQ(-127, static_cast<int>(got[0]));
  EXPECT_EQ(5, static_cast<int>(got[5]));
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Requests, a_get_that_does_not_fit_says_so_when_completed) {
  const Sample s = create_sample();
  const float values[6] = {300, 1, 2, 3, 4, 5};
  EXPECT_OK(ncmpi_put_var_float_all(s.ncid, s.real, values));
  unsigned char got[6] = {};
  int id = NC_REQ_NULL;
  EXPECT_OK(ncmpi_iget_var_uchar(s.ncid, s.real, got, &id));
  int status = 9;
  EXPECT_ERR(NC_ERANGE, ncmpi_wait_all(s.ncid, 1, &id, &status));
  EXPECT_EQ(NC_ERANGE, status);
  EXPECT_EQ(255, static_cast<int>(got[0]));
  EXPECT_EQ(5, static_cast<int>(got[5]));
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Requests, the_attached_buffer) {
  const Sample s = create_sample();
  const int id = s.ncid;
  MPI_Offset n = -1;
  int values[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  int first = 0;
  int second = 0;
  const Index start = {0, 0};
  const Index two_by_five = {2, 5};
  const Index one = {1, 1};
  EXPECT_ERR(NC_ENULLABUF, ncmpi_inq_buffer_usage(id, &n));
  EXPECT_ERR(NC_ENULLABUF, ncmpi_inq_buffer_size(id, &n));
  EXPECT_ERR(NC_ENULLABUF, ncmpi_buffer_detach(id));
  EXPECT_ERR(NC_ENULLABUF, ncmpi_bput_var_int(id, s.scalar, values, &first));
  EXPECT_EQ(NC_REQ_NULL, first);
  EXPECT_ERR(NC_ENULLBUF, ncmpi_buffer_attach(id, 0));
  EXPECT_ERR(NC_ENULLBUF, ncmpi_buffer_attach(id, -5));
  EXPECT_OK(ncmpi_buffer_attach(id, 40));
  EXPECT_ERR(NC_EPREVATTACHBUF, ncmpi_buffer_attach(id, 40));
  EXPECT_OK(ncmpi_inq_buffer_size(id, &n));
  EXPECT_EQ(MPI_Offset{40}, n);
  EXPECT_EQ(MPI_Offset{0}, usage(id));
  EXPECT_OK(ncmpi_bput_vara_int(id, s.grid, start.data(), two_by_five.data(), values, &first));
  EXPECT_EQ(MPI_Offset{40}, usage(id));
  EXPECT_ERR(NC_EINSUFFBUF,
             ncmpi_bput_vara_int(id, s.grid, start.data(), one.data(), values, &second));
  EXPECT_EQ(NC_REQ_NULL, second);
  EXPECT_ERR(NC_EPENDINGBPUT, ncmpi_buffer_detach(id));
  values[0] = 999;  // the user's buffer is free again
  EXPECT_OK(ncmpi_wait_all(id, 1, &first, nullptr));
  EXPECT_EQ(MPI_Offset{0}, usage(id));
  int got[24] = {};
  EXPECT_OK(ncmpi_get_var_int_all(id, s.grid, got));
  EXPECT_EQ(1, got[0]);
  EXPECT_EQ(10, got[10]);
  // The buffer holds external values: a double for an int takes four bytes.
  const double real = 8;
  EXPECT_OK(ncmpi_bput_var1_double(id, s.grid, start.data(), &real, &first));
  EXPECT_EQ(MPI_Offset{4}, usage(id));
  EXPECT_OK(ncmpi_cancel(id, 1, &first, nullptr));
  EXPECT_EQ(MPI_Offset{0}, usage(id));
  EXPECT_OK(ncmpi_buffer_detach(id));
  EXPECT_OK(ncmpi_close(id));
}

TEST(Requests, blocking_calls_leave_pending_requests_alone) {
  const Sample s = create_sample();
  int zeros[24] = {};
  EXPECT_OK(ncmpi_put_var_int_all(s.ncid, s.grid, zeros));
  const int value = 4;
  int id = NC_REQ_NULL;
  if (world.rank == 0) {
    EXPECT_OK(post(s, {0, 0}, {1, 1}, &value, &id));
  }
  const int other = 5;
  EXPECT_OK(ncmpi_put_var_int_all(s.ncid, s.scalar, &other));
  int got[24] = {};
  EXPECT_OK(ncmpi_get_var_int_all(s.ncid, s.grid, got));
  EXPECT_EQ(0, got[0]);
  EXPECT_EQ(world.rank == 0 ? 1 : 0, pending(s.ncid));
  if (is_forebay()) {  // the peer's varn and mput complete or lose others' requests
    MPI_Offset place[2] = {3, 3};
    MPI_Offset* starts[1] = {place};
    EXPECT_OK(ncmpi_put_varn_int_all(s.ncid, s.grid, 1, starts, nullptr, &other));
    int ids[1] = {s.scalar};
    int* buffers[1] = {zeros};
    EXPECT_OK(ncmpi_mput_var_int_all(s.ncid, 1, ids, buffers));
    EXPECT_EQ(world.rank == 0 ? 1 : 0, pending(s.ncid));
    EXPECT_OK(ncmpi_get_var_int_all(s.ncid, s.grid, got));
    EXPECT_EQ(0, got[0]);
  }
  EXPECT_OK(ncmpi_wait_all(s.ncid, 1, &id, nullptr));
  EXPECT_OK(ncmpi_get_var_int_all(s.ncid, s.grid, got));
  EXPECT_EQ(4, got[0]);
  EXPECT_OK(ncmpi_close(s.ncid));
}

// PnetCDF promises nothing of buffers before the wait, but copies what it converts and what is
// small; programs have come to rely on it.
TEST(Requests, buffers_of_small_and_of_converted_puts_may_be_used_again) {
  const Sample s = create_sample(NC_64BIT_DATA, false);
  constexpr int small = 1024, large = 5000;
  int d[2], vars[3];
  EXPECT_OK(ncmpi_def_dim(s.ncid, "small", small * world.size, &d[0]));
  EXPECT_OK(ncmpi_def_dim(s.ncid, "large", large * world.size, &d[1]));
  EXPECT_OK(ncmpi_def_var(s.ncid, "plain", NC_INT, 1, &d[0], &vars[0]));
  EXPECT_OK(ncmpi_def_var(s.ncid, "converted", NC_FLOAT, 1, &d[1], &vars[1]));
  EXPECT_OK(ncmpi_def_var(s.ncid, "gathered", NC_INT, 1, &d[1], &vars[2]));
  EXPECT_OK(ncmpi_enddef(s.ncid));
  std::vector<int> buffer(2 * large);
  const MPI_Offset few = small, many = large;
  const MPI_Offset at_few = world.rank * few, at_many = world.rank * many;
  auto again = [&](int with) { std::fill(buffer.begin(), buffer.end(), with); };
  again(1);
  EXPECT_OK(ncmpi_iput_vara_int(s.ncid, vars[0], &at_few, &few, buffer.data(), nullptr));
  again(2);
  EXPECT_OK(ncmpi_iput_vara_int(s.ncid, vars[1], &at_many, &many, buffer.data(), nullptr));
  again(3);
  MPI_Datatype spread;
  MPI_Type_vector(large, 1, 2, MPI_INT, &spread);
  MPI_Type_commit(&spread);
  EXPECT_OK(ncmpi_iput_vara(s.ncid, vars[2], &at_many, &many, buffer.data(), 1, spread, nullptr));
  MPI_Type_free(&spread);
  again(9);
  EXPECT_OK(ncmpi_wait_all(s.ncid, NC_REQ_ALL, nullptr, nullptr));
  for (const int x : buffer) EXPECT_EQ(9, x);
  for (int v = 0; v < 3; ++v) {
    std::vector<int> got(static_cast<std::size_t>((v == 0 ? small : large) * world.size));
    EXPECT_OK(ncmpi_get_var_int_all(s.ncid, vars[v], got.data()));
    const auto wrong = std::count_if(got.begin(), got.end(), [&](int x) { return x != v + 1; });
    EXPECT_EQ(0, static_cast<int>(wrong));
  }
  EXPECT_OK(ncmpi_close(s.ncid));
}
