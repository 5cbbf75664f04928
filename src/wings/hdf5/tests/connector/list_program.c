/* What programs say about their buffers in property lists (forebay_vol.h), and what comes of it.
 *
 *   mpiexec -n N list_program FILE [said | copied | large]
 *
 * Data that the connector has only referred to is found to have changed: its checksum does not
 * hold. Data that it copied, or has put into a file of its own because the buffer was full, is
 * right.
 *
 *   said     all is as the lists say
 *   copied   all data is copied: the environment says log_copy=enable, or the file has no log
 *   large    the environment says buffer_limit=1MiB
 */
#include <forebay_vol.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define CHECK(call)                                                    \
  do {                                                                 \
    if ((call) < 0) {                                                  \
      fprintf(stderr, "rank %d: failed at line %d\n", rank, __LINE__); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                    \
    }                                                                  \
  } while (0)

#define EXPECT(holds) expect((holds) != 0, #holds, __LINE__)

enum { rounds = 6, columns = 2048, least = 4096 }; /* 8 KiB a row */

static int rank, ranks, failures;
static const char* path;

static void expect(int holds, const char* what, int line) {
  if (holds) return;
  fprintf(stderr, "rank %d, line %d: %s does not hold\n", rank, line, what);
  ++failures;
}

static herr_t find_text(unsigned n, const H5E_error2_t* error, void* wanted) {
  (void)n;
  return error->desc != NULL && strstr(error->desc, *(const char**)wanted) != NULL ? 1 : 0;
}

/* Whether a message on the stack has this text. Empties the stack. */
static int told(const char* text) {
  const int found = H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, find_text, &text) > 0;
  H5Eclear2(H5E_DEFAULT);
  return found;
}

static hid_t access_list(hsize_t buffer) {
  const hid_t list = H5Pcreate(H5P_FILE_ACCESS);
  CHECK(H5Pset_fapl_mpio(list, MPI_COMM_WORLD, MPI_INFO_NULL));
  if (buffer > 0) CHECK(H5Pset_fapl_forebay_buffer(list, buffer));
  return list;
}

static hid_t transfer_list(int collective) {
  const hid_t list = H5Pcreate(H5P_DATASET_XFER);
  CHECK(H5Pset_dxpl_mpio(list, collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT));
  return list;
}

static int created(hid_t access) {
  hid_t file = H5I_INVALID_HID;
  H5E_BEGIN_TRY { file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access); }
  H5E_END_TRY
  if (file >= 0) CHECK(H5Fclose(file));
  return file >= 0;
}

/* Lists: which values there are, and whose they are. */
static void lists(void) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER);
  hsize_t bytes = 1;
  hbool_t copy = 0;
  EXPECT(H5Pget_fapl_forebay_buffer(access, &bytes) >= 0 && bytes == 0);
  EXPECT(H5Pget_fapl_forebay_buffer(H5P_DEFAULT, &bytes) >= 0 && bytes == 0);
  EXPECT(H5Pget_dxpl_forebay_copy(transfer, &copy) >= 0 && copy);
  EXPECT(H5Pget_dxpl_forebay_copy(H5P_DEFAULT, &copy) >= 0 && copy);

  EXPECT(H5Pset_fapl_forebay_buffer(access, 0) < 0);
  EXPECT(told("\"0\" is no value of buffer_limit"));
  EXPECT(H5Pset_fapl_forebay_buffer(access, least - 1) < 0);
  EXPECT(told("at least 4KiB"));
  EXPECT(H5Pset_fapl_forebay_buffer(access, UINT64_MAX) < 0);
  EXPECT(told("is no value of buffer_limit"));
  EXPECT(H5Pset_fapl_forebay_buffer(transfer, least) < 0);
  EXPECT(told("no property list of that class"));
  EXPECT(H5Pset_dxpl_forebay_copy(access, 0) < 0);
  EXPECT(told("no property list of that class"));
  EXPECT(H5Pset_fapl_forebay_buffer(H5P_DEFAULT, least) < 0);
  EXPECT(told("a default list cannot be changed"));
  EXPECT(H5Pset_dxpl_forebay_copy(H5P_DATASET_XFER_DEFAULT, 0) < 0);
  EXPECT(told("a default list cannot be changed"));
  EXPECT(H5Pget_fapl_forebay_buffer(access, &bytes) >= 0 && bytes == 0);

  EXPECT(H5Pset_fapl_forebay_buffer(access, least) >= 0);
  EXPECT(H5Pset_fapl_forebay_buffer(access, 3 * least) >= 0);
  EXPECT(H5Pset_dxpl_forebay_copy(transfer, 0) >= 0);
  const hid_t access_copy = H5Pcopy(access), transfer_copy = H5Pcopy(transfer);
  EXPECT(H5Pget_fapl_forebay_buffer(access_copy, &bytes) >= 0 && bytes == 3 * least);
  EXPECT(H5Pget_dxpl_forebay_copy(transfer_copy, &copy) >= 0 && !copy);
  EXPECT(H5Pset_dxpl_forebay_copy(transfer, 1) >= 0);
  EXPECT(H5Pget_dxpl_forebay_copy(transfer, &copy) >= 0 && copy);
  CHECK(H5Pclose(access_copy));
  CHECK(H5Pclose(transfer_copy));
  CHECK(H5Pclose(transfer));
  H5E_BEGIN_TRY { EXPECT(H5Pget_fapl_forebay_buffer(transfer, &bytes) < 0); }
  H5E_END_TRY
  CHECK(H5Pclose(access));
}

/* Files whose lists cannot be: no rank makes them, and no rank waits. */
static void wrong_files(void) {
  int small = 5;
  hid_t access = access_list(0);
  if (rank == ranks - 1)
    CHECK(H5Pinsert2(access, "forebay_buffer", sizeof small, &small, NULL, NULL, NULL, NULL, NULL,
                     NULL));
  EXPECT(!created(access));
  if (rank == ranks - 1) EXPECT(H5Pset_fapl_forebay_buffer(access, least) < 0);
  CHECK(H5Pclose(access));
  access = access_list(0);
  uint64_t few = 17; /* past the function that would refuse it */
  if (rank == 0)
    CHECK(
        H5Pinsert2(access, "forebay_buffer", sizeof few, &few, NULL, NULL, NULL, NULL, NULL, NULL));
  EXPECT(!created(access));
  CHECK(H5Pclose(access));
  if (ranks == 1) return;
  access = access_list(rank == 0 ? 2 * least : least);
  EXPECT(!created(access));
  CHECK(H5Pclose(access));
  access = access_list(rank == 0 ? 0 : least);
  EXPECT(!created(access));
  CHECK(H5Pclose(access));
}

static hid_t make_rows(hid_t file, const char* name) {
  const hsize_t extents[2] = {(hsize_t)ranks * rounds, columns};
  const hid_t space = H5Screate_simple(2, extents, NULL);
  const hid_t dataset =
      H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(dataset);
  CHECK(H5Sclose(space));
  return dataset;
}

/* The space of a row, or of nothing. */
static hid_t row_space(hid_t dataset, int row) {
  const hsize_t start[2] = {(hsize_t)row, 0}, count[2] = {1, columns};
  const hid_t space = H5Dget_space(dataset);
  CHECK(row < 0 ? H5Sselect_none(space)
                : H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL));
  return space;
}

static herr_t move_row(hid_t dataset, int row, hid_t list, int* values, int writes) {
  const hsize_t elements = columns;
  const hid_t space = row_space(dataset, row), memory = H5Screate_simple(1, &elements, NULL);
  herr_t result = -1;
  if (row < 0) CHECK(H5Sselect_none(memory));
  H5E_BEGIN_TRY {
    result = writes ? H5Dwrite(dataset, H5T_NATIVE_INT, memory, space, list, values)
                    : H5Dread(dataset, H5T_NATIVE_INT, memory, space, list, values);
  }
  H5E_END_TRY
  CHECK(H5Sclose(space));
  CHECK(H5Sclose(memory));
  return result;
}

static void fill(int* values, int row, int salt) {
  for (int i = 0; i < columns; ++i) values[i] = row * 10000 + i + salt;
}

enum outcome { is_right, has_changed };

/* What a rank finds in a row that was filled without salt. */
static int found(hid_t dataset, int row, hid_t list, enum outcome outcome) {
  static int values[columns], right[columns];
  fill(right, row, 0);
  const herr_t result = move_row(dataset, row, list, values, 0);
  if (outcome == has_changed) return result < 0; /* the checksum does not hold */
  return result >= 0 && memcmp(values, right, sizeof right) == 0;
}

/* Each rank writes a row in each round, and changes the memory before the flush, unless `keeps`. In
 * some rounds one rank writes nothing. All rows are then read by the next rank. */
static void write_rows(hid_t access, int collective, int copy, int keeps, enum outcome outcome) {
  static int values[rounds][columns];
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  CHECK(file);
  const hid_t list = transfer_list(collective), independent = transfer_list(0);
  CHECK(H5Pset_dxpl_forebay_copy(list, (hbool_t)copy));
  hid_t dataset = make_rows(file, "rows");
  for (int round = 0; round < rounds; ++round) {
    const int row = round * ranks + rank, nothing = round % 3 == 2 && rank == round % ranks;
    fill(values[round], row, 0);
    EXPECT(move_row(dataset, nothing ? -1 : row, list, values[round], 1) >= 0);
    if (!keeps) fill(values[round], row, 7);
    CHECK(H5Fflush(file, H5F_SCOPE_LOCAL));
    fill(values[round], row, 9); /* after the flush this is right in any case */
    const int its = round * ranks + (rank + 1) % ranks;
    if (!(round % 3 == 2 && (rank + 1) % ranks == round % ranks))
      EXPECT(found(dataset, its, independent, outcome));
  }
  CHECK(H5Dclose(dataset));
  CHECK(H5Fclose(file));
  CHECK(file = H5Fopen(path, H5F_ACC_RDONLY, access));
  CHECK(dataset = H5Dopen2(file, "rows", H5P_DEFAULT));
  for (int round = 0; round < rounds; ++round)
    if (!(round % 3 == 2 && rank == round % ranks))
      EXPECT(found(dataset, round * ranks + rank, independent, outcome));
  CHECK(H5Dclose(dataset));
  CHECK(H5Fclose(file));
  CHECK(H5Pclose(list));
  CHECK(H5Pclose(independent));
}

/* In each call of all ranks another rank's list cannot be. Its write alone fails. */
static void wrong_transfers(int has_log) {
  static int values[columns];
  const hid_t access = access_list(0);
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  CHECK(file);
  const hid_t good = transfer_list(1), bad = transfer_list(1), independent = transfer_list(0);
  const char small = 0;
  CHECK(H5Pinsert2(bad, "forebay_copy", sizeof small, (void*)&small, NULL, NULL, NULL, NULL, NULL,
                   NULL));
  CHECK(H5Pset_dxpl_forebay_copy(good, rank % 2 == 0)); /* ranks may differ */
  const hid_t dataset = make_rows(file, "rows");
  for (int round = 0; round < rounds; ++round) {
    const int row = round * ranks + rank, mine = has_log && rank == round % ranks;
    fill(values, row, 0);
    EXPECT((move_row(dataset, row, mine ? bad : good, values, 1) < 0) == mine);
    CHECK(H5Fflush(file, H5F_SCOPE_LOCAL));
    const int other = (rank + 1) % ranks;
    if (!(has_log && other == round % ranks))
      EXPECT(found(dataset, round * ranks + other, independent, is_right));
  }
  CHECK(H5Dclose(dataset));
  CHECK(H5Fclose(file));
  CHECK(H5Pclose(good));
  CHECK(H5Pclose(bad));
  CHECK(H5Pclose(independent));
  CHECK(H5Pclose(access));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 2) return 2;
  path = argv[1];
  const char* how = argc > 2 ? argv[2] : "said";
  const int copied = strcmp(how, "copied") == 0, large = strcmp(how, "large") == 0;
  const enum outcome referred = copied ? is_right : has_changed;
  lists();
  wrong_files();
  const hsize_t buffers[] = {0, 64 * least, least};
  for (int i = 0; i < 3; ++i) {
    const hid_t access = access_list(buffers[i]);
    for (int collective = 0; collective < 2; ++collective) {
      write_rows(access, collective, 1, 0, is_right);
      write_rows(access, collective, 0, 1, is_right);
      /* A buffer of 4 KiB is full: the row has left memory when H5Dwrite returns. */
      write_rows(access, collective, 0, 0, buffers[i] == least && !large ? is_right : referred);
    }
    CHECK(H5Pclose(access));
  }
  /* A hint in the connector's string overrules the list. */
  const hid_t access = access_list(least);
  CHECK(H5Pset_fapl_forebay(access, 0, NULL, "buffer_limit=1MiB"));
  write_rows(access, 0, 0, 0, referred);
  CHECK(H5Pclose(access));
  wrong_transfers(argc <= 3);
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && failures == 0) fprintf(stderr, "list_program: all is as said\n");
  H5close();
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
