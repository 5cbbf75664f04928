/* Writes a file and ends in some way that does not close it, or not as one should. Natively such a
 * file is whole.
 *
 *   ending_program FILE WORD...
 *
 *   mpi            opens the file with MPI-IO, all ranks write
 *   flush          flushes between the two parts of what it writes
 *   strong|weak    H5Pset_fclose_degree
 *   stdio          opens the file with the driver of that name
 *   keep=LETTERS   leaves open: d datasets, g groups, t a committed type, a an attribute, f the
 * file, s a dataspace, 2 the file for a second time end=WORD       return, exit, h5close, finalize
 * (then h5close), kill, or reopen: H5close, and the file is opened again close          calls
 * H5Fclose before it ends, whatever is open quiet          turns off HDF5's printing of errors
 *   atclose        writes once more in a function that HDF5 calls as it closes
 *   fork           a child ends by exit, and then the program goes on
 *   large          makes two large datasets more, and writes a few elements of each
 *   move           goes to another folder once the file is made, and gives FILE another name:
 * FILE.moved
 */
#include <hdf5.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(call)                                     \
  do {                                                  \
    if ((call) < 0) {                                   \
      fprintf(stderr, "failed at line %d\n", __LINE__); \
      exit(3);                                          \
    }                                                   \
  } while (0)

enum { columns = 1000 };

static int rank, ranks = 1;
static int word_count;
static char** words;
static hid_t late = -1;

static const char* value_of(const char* word) {
  const size_t n = strlen(word);
  for (int i = 0; i < word_count; ++i) {
    if (strcmp(words[i], word) == 0) return "";
    if (strncmp(words[i], word, n) == 0 && words[i][n] == '=') return words[i] + n + 1;
  }
  return NULL;
}

static int keeps(char letter) {
  const char* letters = value_of("keep");
  return letters != NULL && strchr(letters, letter) != NULL;
}

/* A row of each rank. */
static void put(hid_t dataset, int first) {
  static int values[columns];
  for (int i = 0; i < columns; ++i) values[i] = first + rank * columns + i;
  const hsize_t start[2] = {(hsize_t)rank, 0}, count[2] = {1, columns};
  hid_t file_space, memory_space, list;
  CHECK(file_space = H5Dget_space(dataset));
  CHECK(H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start, NULL, count, NULL));
  CHECK(memory_space = H5Screate_simple(2, count, NULL));
  CHECK(list = H5Pcreate(H5P_DATASET_XFER));
  if (value_of("mpi")) CHECK(H5Pset_dxpl_mpio(list, H5FD_MPIO_COLLECTIVE));
  CHECK(H5Dwrite(dataset, H5T_NATIVE_INT, memory_space, file_space, list, values));
  CHECK(H5Pclose(list));
  CHECK(H5Sclose(memory_space));
  CHECK(H5Sclose(file_space));
}

static hid_t make(hid_t at, const char* name, int chunked) {
  const hsize_t extents[2] = {(hsize_t)ranks, columns}, chunk[2] = {1, 100};
  hid_t space, list, dataset;
  CHECK(space = H5Screate_simple(2, extents, NULL));
  CHECK(list = H5Pcreate(H5P_DATASET_CREATE));
  if (chunked) {
    CHECK(H5Pset_chunk(list, 2, chunk));
    CHECK(H5Pset_deflate(list, 1));
  }
  CHECK(dataset = H5Dcreate2(at, name, H5T_STD_I32LE, space, H5P_DEFAULT, list, H5P_DEFAULT));
  CHECK(H5Pclose(list));
  if (!keeps('s')) CHECK(H5Sclose(space));
  return dataset;
}

static hid_t access_list(void) {
  hid_t list;
  CHECK(list = H5Pcreate(H5P_FILE_ACCESS));
  if (value_of("mpi")) CHECK(H5Pset_fapl_mpio(list, MPI_COMM_WORLD, MPI_INFO_NULL));
  if (value_of("stdio")) CHECK(H5Pset_fapl_stdio(list));
  if (value_of("strong")) CHECK(H5Pset_fclose_degree(list, H5F_CLOSE_STRONG));
  if (value_of("weak")) CHECK(H5Pset_fclose_degree(list, H5F_CLOSE_WEAK));
  return list;
}

static void write_late(void* unused) {
  (void)unused;
  put(late, 7000000);
}

static void put_few(hid_t at, const char* name, H5D_fill_time_t fill_time) {
  const hsize_t extent = 1 << 26, start = extent / 2 + 10 * (hsize_t)rank, count = 10;
  hid_t space, memory, list, dataset;
  CHECK(space = H5Screate_simple(1, &extent, NULL));
  CHECK(memory = H5Screate_simple(1, &count, NULL));
  CHECK(list = H5Pcreate(H5P_DATASET_CREATE));
  CHECK(H5Pset_fill_time(list, fill_time));
  CHECK(dataset = H5Dcreate2(at, name, H5T_NATIVE_INT, space, H5P_DEFAULT, list, H5P_DEFAULT));
  CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count, NULL));
  const int values[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  CHECK(H5Dwrite(dataset, H5T_NATIVE_INT, memory, space, H5P_DEFAULT, values));
  CHECK(H5Dclose(dataset));
  CHECK(H5Pclose(list));
  CHECK(H5Sclose(memory));
  CHECK(H5Sclose(space));
}

static void fork_a_child(void) {
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) exit(0);
  int status = 0;
  CHECK(waitpid(child, &status, 0));
  if (status != 0) fprintf(stderr, "the child ended with %d\n", status);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const char* name = argv[1];
  words = argv + 2;
  word_count = argc - 2;
  if (value_of("mpi")) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  }
  if (value_of("quiet")) CHECK(H5Eset_auto2(H5E_DEFAULT, NULL, NULL));

  hid_t list = access_list(), file, group, type, attribute, space;
  CHECK(file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, list));
  if (keeps('2')) CHECK(H5Fopen(name, H5F_ACC_RDWR, list));
  if (value_of("move")) {
    char moved[4096];
    snprintf(moved, sizeof moved, "%s.moved", name);
    if (value_of("mpi")) MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) CHECK(rename(name, moved));
    if (value_of("mpi")) MPI_Barrier(MPI_COMM_WORLD);
    mkdir("elsewhere", 0777);
    CHECK(chdir("elsewhere"));
  }
  hid_t plain = make(file, "plain", 0);
  hid_t chunked = make(file, "chunked", 1);
  put(plain, 0);
  put(chunked, 1000000);
  CHECK(type = H5Tcopy(H5T_NATIVE_INT));
  CHECK(H5Tcommit2(file, "type", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  CHECK(space = H5Screate(H5S_SCALAR));
  CHECK(attribute = H5Acreate2(plain, "attribute", type, space, H5P_DEFAULT, H5P_DEFAULT));
  const int number = 42;
  CHECK(H5Awrite(attribute, H5T_NATIVE_INT, &number));
  if (value_of("flush")) CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL));
  if (value_of("fork")) fork_a_child();
  if (value_of("large")) {
    put_few(file, "few", H5D_FILL_TIME_IFSET);
    put_few(file, "never", H5D_FILL_TIME_NEVER);
  }

  CHECK(group = H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  hid_t later = make(group, "later", 0);
  put(later, 2000000);
  put(plain, 3000000);
  late = later;
  if (value_of("atclose")) CHECK(H5atclose(write_late, NULL));

  if (!keeps('a')) CHECK(H5Aclose(attribute));
  if (!keeps('t')) CHECK(H5Tclose(type));
  if (!keeps('g')) CHECK(H5Gclose(group));
  if (!keeps('s')) CHECK(H5Sclose(space));
  if (!keeps('d')) {
    CHECK(H5Dclose(plain));
    CHECK(H5Dclose(chunked));
    CHECK(H5Dclose(later));
  }
  if (value_of("close") || !keeps('f')) {
    const herr_t closed = H5Fclose(file);
    if (closed < 0) fprintf(stderr, "H5Fclose failed\n");
  }

  const char* end = value_of("end");
  if (end == NULL) end = "return";
  if (strcmp(end, "kill") == 0) {
    if (value_of("mpi")) MPI_Barrier(MPI_COMM_WORLD);
    kill(getpid(), SIGKILL);
  }
  if (strcmp(end, "exit") == 0) exit(0);
  if (strcmp(end, "h5close") == 0) CHECK(H5close());
  if (strcmp(end, "reopen") == 0) {
    CHECK(H5close());
    list = access_list();
    CHECK(file = H5Fopen(name, H5F_ACC_RDWR, list));
    CHECK(later = H5Dopen2(file, "group/later", H5P_DEFAULT));
    put(later, 5000000);
    CHECK(H5Dclose(later));
    if (value_of("close")) CHECK(H5Fclose(file));
  }
  if (value_of("mpi")) MPI_Finalize();
  if (strcmp(end, "finalize") == 0) CHECK(H5close());
  return 0;
}
