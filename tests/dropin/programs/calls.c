/* Calls as programs make them that are not quite right, and communicators that do not stay. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "programs.h"

static void out_of_range(void) {
  struct file file;
  const MPI_Offset start = 4 * rank, count = 4;
  double values[4] = {1, 1e12, 3, 4}, back[4] = {0};
  signed char bytes[4] = {0};
  if (make(&file, "out.nc", NC_CLOBBER)) return;
  TRY(ncmpi_put_vara_double_all(file.id, file.fixed, &start, &count, values));
  values[1] = 2, values[2] = 1000;
  TRY(ncmpi_put_vara_double_all(file.id, file.fixed, &start, &count, values));
  TRY(ncmpi_get_vara_schar_all(file.id, file.fixed, &start, &count, bytes));
  TRY(ncmpi_get_vara_double_all(file.id, file.fixed, &start, &count, back));
  say("%g %g %g %g", back[0], back[1], back[2], back[3]);
  done(&file);
  show("out.nc");
}
static int scalar_file(int* var) {
  int id;
  TRY(ncmpi_create(MPI_COMM_WORLD, "out.nc", NC_CLOBBER, MPI_INFO_NULL, &id));
  TRY(ncmpi_def_var(id, "scalar", NC_INT, 0, NULL, var));
  TRY(ncmpi_enddef(id));
  return id;
}
static void scalar_varn(int num, int is_null) {
  int var, value = 5;
  MPI_Offset* starts[1] = {NULL};
  const int id = scalar_file(&var);
  TRY(ncmpi_put_varn_int_all(id, var, num, is_null ? NULL : starts, NULL, &value));
  TRY(ncmpi_get_varn_int_all(id, var, num, is_null ? NULL : starts, NULL, &value));
  int request = NC_REQ_NULL, status = 0;
  TRY(ncmpi_iput_varn_int(id, var, num, is_null ? NULL : starts, NULL, &value, &request));
  TRY(ncmpi_wait_all(id, 1, &request, &status));
  told("status", status);
  TRY(ncmpi_close(id));
  show("out.nc");
}
static void varn_minus_one(void) { scalar_varn(-1, 0); }
static void varn_none(void) { scalar_varn(0, 0); }
static void varn_one(void) { scalar_varn(1, 0); }
static void varn_two(void) { scalar_varn(2, 0); }
static void varn_minus_one_null(void) { scalar_varn(-1, 1); }
static void varn_one_null(void) { scalar_varn(1, 1); }
static void varn_of_array(void) {
  struct file file;
  int values[4] = {1, 2, 3, 4};
  MPI_Offset first[] = {4 * rank}, second[] = {4 * rank + 2}, two[] = {2}, bad[] = {-1};
  MPI_Offset *starts[] = {first, second}, *counts[] = {two, two}, *bad_counts[] = {two, bad},
             *hole[] = {first, NULL};
  if (make(&file, "out.nc", NC_CLOBBER)) return;
  TRY(ncmpi_put_varn_int_all(file.id, file.fixed, -1, starts, counts, values));
  TRY(ncmpi_put_varn_int_all(file.id, file.fixed, 0, starts, counts, values));
  TRY(ncmpi_put_varn_int_all(file.id, file.fixed, 2, NULL, counts, values));
  TRY(ncmpi_put_varn_int_all(file.id, file.fixed, 2, hole, counts, values));
  TRY(ncmpi_put_varn_int_all(file.id, file.fixed, 2, starts, hole, values));
  TRY(ncmpi_put_varn_int_all(file.id, file.fixed, 2, starts, bad_counts, values));
  TRY(ncmpi_put_varn_int_all(file.id, file.fixed, 2, starts, NULL, values));
  TRY(ncmpi_put_varn_int_all(file.id, file.fixed, 2, starts, counts, values));
  done(&file);
  show("out.nc");
}
static void wait_twice(void) {
  struct file file;
  int requests[3], statuses[3] = {7, 7, 7}, values[4] = {1, 2, 3, 4}, n, left = -1;
  const MPI_Offset start = 4 * rank, count = 4;
  if (make(&file, "out.nc", NC_CLOBBER)) return;
  TRY(ncmpi_iput_vara_int(file.id, file.fixed, &start, &count, values, &requests[0]));
  requests[1] = requests[0], requests[2] = NC_REQ_NULL;
  TRY(ncmpi_wait_all(file.id, 3, requests, statuses));
  for (n = 0; n < 3; ++n)
    say("%s %s", ncmpi_strerrno(statuses[n]), requests[n] == NC_REQ_NULL ? "null" : "kept");
  ncmpi_inq_nreqs(file.id, &left);
  say("%d left", left);
  if (left > 0) TRY(ncmpi_wait_all(file.id, NC_REQ_ALL, NULL, NULL));
  done(&file);
  show("out.nc");
}
static void wait_cases(int cancels) {
  struct file file;
  int requests[4], statuses[4] = {7, 7, 7, 7}, values[4] = {1, 2, 3, 4}, n, left = -1;
  const MPI_Offset start = 4 * rank, count = 4;
  if (make(&file, "out.nc", NC_CLOBBER)) return;
  for (n = 0; n < 2; ++n)
    TRY(ncmpi_iput_vara_int(file.id, file.fixed, &start, &count, values, &requests[n]));
  requests[2] = 12345, requests[3] = -9;
  if (cancels)
    TRY(ncmpi_cancel(file.id, 4, requests, statuses));
  else
    TRY(ncmpi_wait_all(file.id, 4, requests, statuses));
  for (n = 0; n < 4; ++n)
    say("%s %s", ncmpi_strerrno(statuses[n]), requests[n] == NC_REQ_NULL ? "null" : "kept");
  ncmpi_inq_nreqs(file.id, &left);
  say("%d left", left);
  done(&file);
  show("out.nc");
}
static void wait_unknown(void) { wait_cases(0); }
static void cancel_unknown(void) { wait_cases(1); }
static void wait_again(void) {
  struct file file;
  int request, kept, status = 7, values[4] = {1, 2, 3, 4};
  const MPI_Offset start = 4 * rank, count = 4;
  if (make(&file, "out.nc", NC_CLOBBER)) return;
  TRY(ncmpi_iput_vara_int(file.id, file.fixed, &start, &count, values, &request));
  kept = request;
  TRY(ncmpi_wait_all(file.id, 1, &request, &status));
  TRY(ncmpi_wait_all(file.id, 1, &kept, &status));
  told("status", status);
  TRY(ncmpi_wait_all(file.id, 0, NULL, NULL));
  TRY(ncmpi_wait_all(file.id, -1, NULL, NULL));
  TRY(ncmpi_wait_all(file.id, -5, NULL, NULL));
  TRY(ncmpi_cancel(file.id, -5, NULL, NULL));
  TRY(ncmpi_wait_all(file.id, 1, NULL, NULL));
  done(&file);
}
static void cancel_twice(void) {
  struct file file;
  int requests[2], statuses[2] = {7, 7}, values[4] = {1, 2, 3, 4};
  const MPI_Offset start = 4 * rank, count = 4;
  if (make(&file, "out.nc", NC_CLOBBER)) return;
  TRY(ncmpi_iput_vara_int(file.id, file.fixed, &start, &count, values, &requests[0]));
  requests[1] = requests[0];
  TRY(ncmpi_cancel(file.id, 2, requests, statuses));
  say("%s %s", ncmpi_strerrno(statuses[0]), ncmpi_strerrno(statuses[1]));
  done(&file);
}
static void bput_twice(void) {
  struct file file;
  int requests[2], statuses[2] = {7, 7}, values[4] = {1, 2, 3, 4};
  const MPI_Offset start = 4 * rank, count = 4;
  if (make(&file, "out.nc", NC_CLOBBER)) return;
  TRY(ncmpi_bput_vara_int(file.id, file.fixed, &start, &count, values, &requests[0]));
  TRY(ncmpi_buffer_attach(file.id, 16));
  TRY(ncmpi_buffer_attach(file.id, 16));
  TRY(ncmpi_bput_vara_int(file.id, file.fixed, &start, &count, values, &requests[0]));
  TRY(ncmpi_bput_vara_int(file.id, file.fixed, &start, &count, values, &requests[1]));
  TRY(ncmpi_buffer_detach(file.id));
  requests[1] = requests[0];
  TRY(ncmpi_wait_all(file.id, 2, requests, statuses));
  say("%s %s", ncmpi_strerrno(statuses[0]), ncmpi_strerrno(statuses[1]));
  TRY(ncmpi_buffer_detach(file.id));
  TRY(ncmpi_buffer_detach(file.id));
  done(&file);
  show("out.nc");
}
static void get_twice(void) {
  struct file file;
  int requests[2], statuses[2] = {7, 7}, values[4] = {0};
  const MPI_Offset start = 4 * rank, count = 4;
  whole("out.nc", NC_CLOBBER);
  if (reopen(&file, "out.nc", NC_NOWRITE)) return;
  TRY(ncmpi_iget_vara_int(file.id, file.fixed, &start, &count, values, &requests[0]));
  requests[1] = requests[0];
  TRY(ncmpi_wait_all(file.id, 2, requests, statuses));
  say("%s %s", ncmpi_strerrno(statuses[0]), ncmpi_strerrno(statuses[1]));
  done(&file);
}
static void independent_twice(void) {
  struct file file;
  int requests[2], statuses[2] = {7, 7}, values[4] = {1, 2, 3, 4};
  const MPI_Offset start = 4 * rank, count = 4;
  if (make(&file, "out.nc", NC_CLOBBER)) return;
  TRY(ncmpi_iput_vara_int(file.id, file.fixed, &start, &count, values, &requests[0]));
  requests[1] = requests[0];
  TRY(ncmpi_wait(file.id, 2, requests, statuses));
  TRY(ncmpi_begin_indep_data(file.id));
  TRY(ncmpi_wait_all(file.id, 2, requests, statuses));
  TRY(ncmpi_wait(file.id, 2, requests, statuses));
  say("%s %s", ncmpi_strerrno(statuses[0]), ncmpi_strerrno(statuses[1]));
  TRY(ncmpi_end_indep_data(file.id));
  done(&file);
}
static void ids(void) {
  struct file file;
  int dim;
  TRY(ncmpi_close(-1)), TRY(ncmpi_close(500)), TRY(ncmpi_close(100000));
  if (make(&file, "out.nc", NC_CLOBBER)) return;
  const int id = file.id;
  done(&file);
  TRY(ncmpi_close(id)), TRY(ncmpi_sync(id)), TRY(ncmpi_redef(id)), TRY(ncmpi_abort(id)),
      TRY(ncmpi_inq_ndims(id, &dim));
}
static void modes(void) {
  struct file file;
  int value = 1;
  const MPI_Offset start = 4 * rank, count = 1;
  if (begin(&file, "out.nc", NC_CLOBBER)) return;
  TRY(ncmpi_put_vara_int_all(file.id, 0, &start, &count, &value));
  TRY(ncmpi_sync(file.id)), TRY(ncmpi_redef(file.id)), TRY(ncmpi_begin_indep_data(file.id));
  TRY(ncmpi_end_indep_data(file.id)), TRY(ncmpi_flush(file.id)), TRY(ncmpi_sync_numrecs(file.id));
  define(&file);
  TRY(ncmpi_enddef(file.id)), TRY(ncmpi_put_vara_int(file.id, file.fixed, &start, &count, &value));
  TRY(ncmpi_end_indep_data(file.id)), TRY(ncmpi_begin_indep_data(file.id)),
      TRY(ncmpi_begin_indep_data(file.id));
  TRY(ncmpi_put_vara_int_all(file.id, file.fixed, &start, &count, &value));
  TRY(ncmpi_put_vara_int(file.id, file.fixed, &start, &count, &value));
  TRY(ncmpi_redef(file.id)), TRY(ncmpi_redef(file.id));
  done(&file);
  show("out.nc");
}
static void aborts(void) {
  struct file file;
  if (begin(&file, "new.nc", NC_CLOBBER)) return;
  TRY(ncmpi_abort(file.id));
  kind("new.nc");
  whole("out.nc", NC_CLOBBER);
  if (reopen(&file, "out.nc", NC_WRITE)) return;
  TRY(ncmpi_redef(file.id));
  TRY(ncmpi_rename_var(file.id, file.fixed, "changed"));
  TRY(ncmpi_abort(file.id));
  show("out.nc");
  if (make(&file, "data.nc", NC_CLOBBER)) return;
  put(&file, 0);
  TRY(ncmpi_abort(file.id));
  show("data.nc");
}
static void pending_at_close(void) {
  struct file file;
  int request, values[4] = {1, 2, 3, 4};
  const MPI_Offset start = 4 * rank, count = 4;
  if (make(&file, "out.nc", NC_CLOBBER)) return;
  put(&file, 0);
  TRY(ncmpi_iput_vara_int(file.id, file.fixed, &start, &count, values, &request));
  done(&file);
  show("out.nc");
}
static void bad_arguments(void) {
  struct file file;
  int values[8] = {0};
  MPI_Offset start = 4 * rank, count = 4, stride = 0, large = 1000, negative = -1;
  if (make(&file, "out.nc", NC_CLOBBER)) return;
  TRY(ncmpi_put_vara_int_all(file.id, 77, &start, &count, values));
  TRY(ncmpi_put_vara_int_all(file.id, NC_GLOBAL, &start, &count, values));
  TRY(ncmpi_put_vara_int_all(file.id, file.fixed, NULL, &count, values));
  TRY(ncmpi_put_vara_int_all(file.id, file.fixed, &start, NULL, values));
  TRY(ncmpi_put_vara_int_all(file.id, file.fixed, &large, &count, values));
  TRY(ncmpi_put_vara_int_all(file.id, file.fixed, &negative, &count, values));
  TRY(ncmpi_put_vara_int_all(file.id, file.fixed, &start, &large, values));
  TRY(ncmpi_put_vara_int_all(file.id, file.fixed, &start, &negative, values));
  TRY(ncmpi_put_vars_int_all(file.id, file.fixed, &start, &count, &stride, values));
  TRY(ncmpi_put_vars_int_all(file.id, file.fixed, &start, &count, &negative, values));
  TRY(ncmpi_put_vara_text_all(file.id, file.fixed, &start, &count, "text"));
  TRY(ncmpi_get_vara_int_all(file.id, file.fixed, &large, &count, values));
  TRY(ncmpi_create(MPI_COMM_WORLD, "no.nc", NC_64BIT_DATA | NC_64BIT_OFFSET, MPI_INFO_NULL,
                   &values[0]));
  TRY(ncmpi_create(MPI_COMM_WORLD, "no.nc", NC_DISKLESS, MPI_INFO_NULL, &values[0]));
  TRY(ncmpi_open(MPI_COMM_WORLD, "out.nc", NC_MMAP, MPI_INFO_NULL, &values[0]));
  kind("no.nc");
  done(&file);
}
static void one_rank_wrong(void) {
  struct file file;
  int values[4] = {1, 2, 3, 4}, code, all;
  MPI_Offset start = rank == size - 1 ? 1000 : 4 * rank, count = 4;
  if (make(&file, "out.nc", NC_CLOBBER)) return;
  put(&file, 0);
  code = ncmpi_put_vara_int_all(file.id, file.fixed, &start, &count, values);
  MPI_Allreduce(&code, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  say("worst %s", ncmpi_strerrno(all));
  done(&file);
  show("out.nc");
}
static void communicator_freed(void) {
  struct file file;
  MPI_Comm comm;
  MPI_Info info;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Info_create(&info), MPI_Info_set(info, "nc_var_align_size", "512"),
      MPI_Info_set(info, "a key", "a value");
  TRY(ncmpi_create(comm, "out.nc", NC_CLOBBER, info, &file.id));
  MPI_Comm_free(&comm), MPI_Info_free(&info);
  define(&file), put(&file, 0), done(&file);
  show("out.nc");
}
static void half_of_ranks(void) {
  MPI_Comm half;
  int id, var, value = rank, code = 0;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  code |= ncmpi_create(half, rank % 2 ? "odd.nc" : "even.nc", NC_CLOBBER, MPI_INFO_NULL, &id);
  code |= ncmpi_def_var(id, "v", NC_INT, 0, NULL, &var);
  code |= ncmpi_enddef(id);
  value = rank % 2;
  code |= ncmpi_put_var_int_all(id, var, &value);
  code |= ncmpi_close(id);
  MPI_Comm_free(&half);
  told("half", code);
  show("even.nc"), show("odd.nc");
}
static void error_handlers(void) {
  MPI_Errhandler before;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  struct file file;
  reopen(&file, "no.nc", NC_NOWRITE), whole("no/out.nc", NC_CLOBBER);
  whole("out.nc", NC_CLOBBER);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
  MPI_Errhandler_free(&before);
  show("out.nc");
}
static void redefined_often(void) {
  struct file file;
  int n, var;
  char name[20];
  if (make(&file, "out.nc", NC_CLOBBER)) return;
  put(&file, 0);
  for (n = 0; n < 10; ++n) {
    TRY(ncmpi_redef(file.id));
    snprintf(name, sizeof name, "variable%d", n);
    TRY(ncmpi_def_var(file.id, name, NC_INT, 0, NULL, &var));
    TRY(ncmpi_enddef(file.id));
    TRY(ncmpi_put_var_int_all(file.id, var, &n));
  }
  get(&file), done(&file);
  show("out.nc");
}
static void attributes_only(void) {
  int id;
  TRY(ncmpi_create(MPI_COMM_WORLD, "out.nc", NC_CLOBBER, MPI_INFO_NULL, &id));
  TRY(ncmpi_put_att_text(id, NC_GLOBAL, "title", 4, "none"));
  TRY(ncmpi_close(id));
  show("out.nc");
  TRY(ncmpi_create(MPI_COMM_WORLD, "empty.nc", NC_CLOBBER, MPI_INFO_NULL, &id));
  TRY(ncmpi_close(id));
  show("empty.nc");
}
static void filled(void) {
  struct file file;
  int before;
  if (begin(&file, "out.nc", NC_CLOBBER)) return;
  TRY(ncmpi_set_fill(file.id, NC_FILL, &before));
  define(&file);
  if (rank == 0) say("before %d", before);
  TRY(ncmpi_fill_var_rec(file.id, file.record, 1));
  put_record(&file, 0, 0);
  done(&file);
  show("out.nc");
}

const struct program call_programs[] = {{"out_of_range", out_of_range},
                                        {"varn_minus_one", varn_minus_one},
                                        {"varn_none", varn_none},
                                        {"varn_one", varn_one},
                                        {"varn_two", varn_two},
                                        {"varn_minus_one_null", varn_minus_one_null},
                                        {"varn_one_null", varn_one_null},
                                        {"varn_of_array", varn_of_array},
                                        {"wait_twice", wait_twice},
                                        {"wait_unknown", wait_unknown},
                                        {"cancel_unknown", cancel_unknown},
                                        {"wait_again", wait_again},
                                        {"cancel_twice", cancel_twice},
                                        {"bput_twice", bput_twice},
                                        {"get_twice", get_twice},
                                        {"independent_twice", independent_twice},
                                        {"ids", ids},
                                        {"modes", modes},
                                        {"aborts", aborts},
                                        {"pending_at_close", pending_at_close},
                                        {"bad_arguments", bad_arguments},
                                        {"one_rank_wrong", one_rank_wrong},
                                        {"communicator_freed", communicator_freed},
                                        {"half_of_ranks", half_of_ranks},
                                        {"error_handlers", error_handlers},
                                        {"redefined_often", redefined_often},
                                        {"attributes_only", attributes_only},
                                        {"filled", filled},
                                        {NULL, NULL}};
