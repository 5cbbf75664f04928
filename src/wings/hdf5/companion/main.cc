// forebay_hdf5_reader: the companion of what reads HDF5 files (hdf5/files/hdf5_check.h).
#include "hdf5/files/hdf5_check.h"

int main(int argc, char** argv) { forebay::be_companion(argc, argv, forebay::answer_about_hdf5); }
