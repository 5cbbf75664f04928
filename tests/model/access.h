// One rank's part in one data access, and how it is carried out through the C interface.
#pragma once

#include <mpi.h>
#include <pnetcdf.h>

#include <cstdint>
#include <string>
#include <vector>

#include "model/array_model.h"
#include "support/rng.h"

namespace forebay_test {

// Memory types of the typed interface, in one order.
enum class Memory {
  text,
  schar,
  uchar,
  int16,
  uint16,
  int32,
  uint32,
  clong,
  float32,
  float64,
  int64,
  uint64
};
constexpr int memory_types = 12;

int64_t memory_size(Memory m);
MPI_Datatype memory_datatype(Memory m);
// The memory type that holds an external type without conversion.
Memory natural_memory(nc_type type);

// How elements lie in the user's buffer in a call of the flexible interface.
enum class Layout {
  typed,       // not flexible: the typed function of the memory type
  contiguous,  // bufcount elements of the basic type
  derived,     // one MPI_Type_contiguous
  gaps,        // one MPI_Type_vector with every second element
  subarray,    // the inside of a larger two-dimensional array
  resized,     // basic type resized to three times its size
  reversed     // one hindexed type that walks backwards
};

enum class Form { var, var1, vara, vars, varm, varn, vard };

// Fully determined: every rank draws the same Access for a given rank.
struct Access {
  int varid = 0;
  Form form = Form::vara;
  bool write = true;
  std::vector<Box> boxes;        // one, but for varn any number
  std::vector<MPI_Offset> imap;  // varm only
  Memory memory = Memory::int32;
  Layout layout = Layout::typed;
  std::vector<int64_t> elements;  // of all boxes, in order
  Bytes values;                   // writes: external type, native byte order, in element order

  std::string describe(const Model& model) const;
};

// The user's buffer of one access, with sentinel bytes wherever no element lies.
class AccessBuffer {
 public:
  // For writes the buffer holds the values.
  AccessBuffer(const Model& model, const Access& access);
  ~AccessBuffer();
  AccessBuffer(AccessBuffer&& other) noexcept;
  AccessBuffer(const AccessBuffer&) = delete;
  AccessBuffer& operator=(const AccessBuffer&) = delete;
  AccessBuffer& operator=(AccessBuffer&&) = delete;

  void* data() { return bytes_.data() + guard; }
  MPI_Offset count() const { return count_; }
  MPI_Datatype type() const { return type_; }

  // Bytes of element k, in the memory type.
  const uint8_t* element(size_t k) const {
    return bytes_.data() + guard + static_cast<size_t>(positions_[k]);
  }
  // Empty when all that should be untouched is: gaps of a read, everything of a write.
  std::string damage() const;
  // Overwrites the elements, to show that a buffered write does not look at them any more.
  void scribble();
  // Elements became the library's to write; from now on only gaps are checked.
  void release() { write_ = false; }

 private:
  static constexpr size_t guard = 16;
  bool write_;
  bool owned_ = false;
  MPI_Offset count_ = 0;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  std::vector<int64_t> positions_;
  int64_t width_ = 1;
  Bytes bytes_;
  Bytes original_;
};

// Converts one element between its external type and a memory type. Exact: callers keep to values
// that both hold.
void to_memory(nc_type type, const uint8_t* value, Memory memory, uint8_t* out);

enum class Mode { collective, independent, iput, bput, iget };

// Calls the library. `request` is used by the nonblocking modes only.
int perform(int ncid, const Model& model, const Access& access, AccessBuffer& buffer, Mode mode,
            int* request);

// Compares a read buffer with the model. Returns the first difference as text, or nothing. Values
// of floating-point variables may be off by `bound`, and by what integers in memory cut off.
std::string compare(const Model& model, const Access& access, const AccessBuffer& buffer,
                    double bound = 0);

}  // namespace forebay_test
