/* Writes or reads a file without MPI: a program that an HDF5 without MPI runs as well as one with.
 *
 *   serial_program write|read FILE
 */
#include <hdf5.h>
#include <stdio.h>
#include <string.h>

#define CHECK(call)                                     \
  do {                                                  \
    if ((call) < 0) {                                   \
      fprintf(stderr, "failed at line %d\n", __LINE__); \
      return 1;                                         \
    }                                                   \
  } while (0)

enum { rows = 60, columns = 40 };

static int values[rows][columns], found[rows][columns];

static int put(const char* name) {
  const hsize_t extents[2] = {rows, columns}, chunk[2] = {7, 9};
  hid_t file, space, list, dataset;
  CHECK(file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
  CHECK(space = H5Screate_simple(2, extents, NULL));
  CHECK(list = H5Pcreate(H5P_DATASET_CREATE));
  CHECK(H5Pset_chunk(list, 2, chunk));
  CHECK(H5Pset_shuffle(list));
  CHECK(dataset = H5Dcreate2(file, "x", H5T_STD_I32BE, space, H5P_DEFAULT, list, H5P_DEFAULT));
  for (hsize_t row = 0; row < rows; row += 20) {
    const hsize_t start[2] = {row, 0}, count[2] = {20, columns};
    hid_t memory;
    CHECK(memory = H5Screate_simple(2, count, NULL));
    CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL));
    CHECK(H5Dwrite(dataset, H5T_NATIVE_INT, memory, space, H5P_DEFAULT, values[row]));
    CHECK(H5Sclose(memory));
  }
  CHECK(H5Dclose(dataset));
  CHECK(H5Pclose(list));
  CHECK(H5Sclose(space));
  CHECK(H5Fclose(file));
  return 0;
}

static int get(const char* name) {
  hid_t file, dataset;
  CHECK(file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT));
  CHECK(dataset = H5Dopen2(file, "x", H5P_DEFAULT));
  CHECK(H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, found));
  CHECK(H5Dclose(dataset));
  CHECK(H5Fclose(file));
  if (memcmp(found, values, sizeof values) == 0) return 0;
  fprintf(stderr, "other values than written\n");
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  for (int i = 0; i < rows * columns; ++i) values[i / columns][i % columns] = i * 3;
  return strcmp(argv[1], "write") == 0 ? put(argv[2]) : get(argv[2]);
}
