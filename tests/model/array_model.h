// A plain in-memory model of a classic dataset: what every variable holds, element by element.
//
// The model knows nothing of files, offsets or ranks. A test applies each operation to the model
// and to the library, and compares what the library reads with what the model holds. Elements that
// nothing has written are unknown, and are not compared.
#pragma once

#include <pnetcdf.h>

#include <cstdint>
#include <string>
#include <vector>

namespace forebay_test {

using Bytes = std::vector<uint8_t>;

// Size of one element of an external type, in bytes.
int64_t type_size(nc_type type);
const char* type_name(nc_type type);
// Default fill value, native byte order.
Bytes default_fill(nc_type type);

struct ModelDim {
  std::string name;
  int64_t length = 0;
  bool unlimited = false;
};

struct ModelAtt {
  std::string name;
  nc_type type = NC_INT;
  Bytes values;  // native byte order
  int64_t count() const { return static_cast<int64_t>(values.size()) / type_size(type); }
};

// What is known of one element.
enum class Known : uint8_t {
  no,      // never written, or written before the file was filled
  small,   // an integer in [0, 120], which every numeric type holds
  exactly  // a value that only the variable's own type is sure to hold
};

struct ModelVar {
  std::string name;
  nc_type type = NC_INT;
  std::vector<int> dims;
  std::vector<ModelAtt> atts;
  bool fill = false;  // fill mode on
  bool wide = false;  // written with arbitrary values of its own type only
  Bytes values;       // native byte order, records outermost
  std::vector<Known> known;
};

// A hyperslab; stride is one where empty.
struct Box {
  std::vector<MPI_Offset> start, count, stride;
  int64_t elements() const;
};

class Model {
 public:
  int format = 1;
  std::vector<ModelDim> dims;
  std::vector<ModelVar> vars;
  std::vector<ModelAtt> atts;
  int64_t numrecs = 0;

  int unlimited() const;  // dimension id, or -1
  bool is_record(const ModelVar& v) const;
  // Lengths of the dimensions; the record dimension counts `numrecs`.
  std::vector<int64_t> shape(const ModelVar& v) const;
  int64_t size(const ModelVar& v) const;
  // Elements in one record, or in the whole of a fixed-size variable.
  int64_t slot(const ModelVar& v) const;

  // Brings record variables to this many records if they have fewer.
  void grow(int64_t records);
  // Gives a variable that enddef has just created its elements.
  void create(ModelVar& v);
  // Sets every element of one record, or of a fixed-size variable, to the fill value.
  void fill(ModelVar& v, int64_t record);
  Bytes fill_value(const ModelVar& v) const;

  // Numbers of the box's elements within the variable, in selection order. Record numbers may lie
  // beyond numrecs.
  std::vector<int64_t> elements(const ModelVar& v, const Box& box) const;
  // Index of an element, for messages: "(1,0,3)".
  std::string index(const ModelVar& v, int64_t element) const;

  // Writes the model as text that the foreign readers' checks compare with; see write_expectation
  // in array_model.cc for the grammar.
  void write_expectation(const std::string& path) const;
};

// "0x" and the bytes, most significant first, for messages; numbers readable where they are small.
std::string value_text(nc_type type, const uint8_t* value);

}  // namespace forebay_test
