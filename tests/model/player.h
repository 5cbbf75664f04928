// Plays a random script against the library and the model at once.
//
// Every rank draws the same script from the seed, applies the parts of all ranks to its copy of the
// model, and carries out its own part. Between ranks, writes are disjoint: each variable has a
// territory that deals its elements to the ranks, redrawn when no request is pending on it. So the
// model is the only truth, and any rank may read anything after a collective step.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/access.h"
#include "model/array_model.h"
#include "support/harness.h"
#include "support/rng.h"

namespace forebay_test {

struct Options {
  uint64_t seed = 1;
  int rounds = 10;
  int only_round = -1;  // play just this one
  int operations = 40;  // a round
  // Keep to what PnetCDF 1.12.3 gets right, so that the script can run against it: no overlap
  // within a wait or a varn (reads neither), no stride along the record dimension, no wait for or
  // cancellation of some of the pending requests (records that the others add are lost), no
  // blocking mput or varn beside pending requests, no memory types with a resized or reversed
  // layout, no varn over several records, no alignment hints at open (variables that they move lose
  // their values), no larger alignment at a later enddef (it is ignored).
  bool peer = false;
  bool reopen = true;
  bool keep = false;  // leave the file and its expectation for the foreign readers
  // Writes are staged: what ranks write at the same place is ordered by flushes alone, so there is
  // one whenever elements change hands.
  bool staged = false;
  double bound = 0;       // of codecs with loss: how far floating-point values may be off
  bool trace = false;     // rank 0 prints every operation
  bool paranoid = false;  // compare everything after every operation
  int64_t longest = 7;    // longest dimension, mostly
};

class Player {
 public:
  Player(const Options& options, int round);
  ~Player();
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  // Collective over the world. Stops at the first operation that failed on this rank only after
  // all ranks know of it.
  void play();

 private:
  struct Pending {
    int rank;
    Access access;
    Mode mode;
    int request = NC_REQ_NULL;
    std::unique_ptr<AccessBuffer> buffer;  // on its own rank only
  };

  // How a variable's elements are dealt to the ranks.
  struct Territory {
    int dim = -1;  // -1: a scalar, owned by rank cuts[0]
    bool cyclic = false;
    std::vector<int64_t> cuts;
    bool drawn = false;
  };

  // One rank's choice within a collective operation.
  struct Choice {
    std::vector<Box> boxes;
    std::vector<int64_t> elements;
  };

  // -- the file and its schema (player_schema.cc)
  void create_file();
  void close_file();
  void open_file();
  void split(int ranks);
  MPI_Info draw_hints();
  void define_some(bool first);
  void draw_dim();
  void draw_var();
  void draw_att(std::vector<ModelAtt>& atts, int varid, bool data_mode);
  void drop_att();
  void rename_something(bool data_mode);
  void end_define(bool first, size_t first_new_var);
  void redefine();
  void set_fill(bool on);
  std::string fresh_name(const char* stem, int longest = 12);
  nc_type draw_type();
  void check_schema();
  void check_atts(const std::vector<ModelAtt>& atts, int varid);

  // -- operations (player_ops.cc)
  void step();
  void collective_access(bool write);
  void whole_variable_write();
  void multi_access(bool write);
  void post_requests();
  void wait_requests(bool collective, int only_rank);
  void cancel_requests();
  void independent_session();
  void independent_access(int rank, bool write);
  void fill_record();
  void toggle_buffer();
  void sync_something();
  void check_everything();
  void finish_pending();
  void order_ranks();

  // -- drawing accesses (player_draw.cc)
  int draw_varid();
  int64_t view(int rank) const;
  Territory& territory(int varid);
  bool busy(int varid) const;
  Form draw_form(int varid, bool blocking);
  Choice draw_choice(int varid, Form form, int rank, bool write, bool restricted);
  bool draw_box(int varid, int rank, bool write, bool restricted, bool strided, bool point,
                Box* box);
  Box empty_box(int varid, int rank);
  Access make_access(int varid, Form form, bool write, Choice choice, bool scalar_shared);
  void draw_values(Access& access);
  Memory draw_memory(const ModelVar& v, const Access& access);
  void draw_map(Access& access);
  bool overlaps_own_pending(int varid, int rank, const std::vector<int64_t>& elements) const;
  void apply(const Access& access, int rank);
  void check_read(const Access& access, const AccessBuffer& buffer);

  bool active() const { return me_ >= 0; }
  void ok(int code, const std::string& what);
  void fail(const std::string& what);
  void trace(const std::string& what);
  ModelVar& var(int id) { return model_.vars[static_cast<size_t>(id)]; }

  const Options& options_;
  int round_;
  Rng rng_;
  Model model_;
  std::string path_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int ranks_ = 0;  // of the session's communicator
  int me_ = -1;    // rank in it, or -1 when this process sits the session out
  int ncid_ = -1;
  int operation_ = 0;
  std::string doing_;
  bool failed_ = false;
  int names_ = 0;
  bool independent_ = false;
  std::vector<int64_t> views_;  // records each rank knows of while independent
  std::vector<Territory> territories_;
  std::vector<Pending> pending_;
  bool buffer_attached_ = false;
  std::vector<int64_t> buffer_used_;  // bytes of the attached buffer that each rank filled
};

}  // namespace forebay_test
