// What a program can find out about a file through HDF5's interface, as text: two files are alike
// if their texts are.
#pragma once

#include <string>
#include <vector>

#include "handles.h"

namespace forebay_test {

struct Found {
  std::string path;  // from the root, without a slash at its begin; "." for the root
  H5O_type_t kind;
};

// Nothing is said of layout, chunks and filters of datasets: the file under test has others.
extern bool hides_storage;

// Every object that can be reached, each once (H5Ovisit).
std::vector<Found> find_objects(hid_t file);
// Every path of a link, except those through soft and external links (H5Lvisit).
std::vector<std::string> find_links(hid_t file);

// Everything below the root: links with their kinds, values and places in both indexes, objects
// with their attributes, types, extents, creation properties and, unless told otherwise, values.
std::string describe_file(hid_t file, bool values = true);
// One object without what is below it.
std::string describe_object(hid_t object, bool values);
// Its attributes, by name and in the order of their creation.
std::string describe_attributes(hid_t object);
// The links of a group, by name and in the order of their creation.
std::string describe_links(hid_t group);

}  // namespace forebay_test
