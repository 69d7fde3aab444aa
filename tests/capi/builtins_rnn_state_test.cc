// The states of recurrent networks, with kernels of the test that add to a number or copy it.
#include "support/add_one.h"
#include "support/attention_kernels.h"

using namespace opdyno_test;
using attention::dl, attention::ints;

namespace {

// A state of one float, whose kernels are called with the slots of sequences and of their histories.
void read_state(const opd_value *a, int32_t, opd_value *) {
  const int64_t histories = dl(a[0]).shape[1];
  for (int64_t b = 0; b < dl(a[1]).shape[0]; ++b)
    elements(a[3])[b] = elements(a[0])[ints(a[1])[b] * histories + ints(a[2])[b]];
}
void write_state(const opd_value *a, int32_t, opd_value *) {
  const int64_t histories = dl(a[0]).shape[1];
  for (int64_t b = 0; b < dl(a[1]).shape[0]; ++b)
    elements(a[0])[ints(a[1])[b] * histories + (ints(a[2])[b] + 1) % histories] = elements(a[3])[b];
}

Value make_state(int64_t sequences, int64_t histories, int64_t layers = 2) {
  return builtin("rnn_state_create")(layers, sequences, histories, tuple_of(make_function(read_state)),
                                     tuple_of(make_function(write_state)), tuple_of(floats({0.5}, {1})));
}

class RnnState : public testing::Test {
 protected:
  Value kept = make_state(3, 4);

  std::vector<float> step(const std::vector<int64_t> &ids, const std::vector<int64_t> &counts, float more) {
    builtin("kv_state_begin_forward")(kept, shape_of(ids), shape_of(counts));
    Tensor now({static_cast<int64_t>(ids.size()), 1}, "float32");
    builtin("rnn_state_get")(kept, int64_t{1}, int64_t{0}, now);
    std::vector<float> before = elements_of<float>(now);
    for (size_t i = 0; i < ids.size(); ++i) now.data<float>()[i] += more;
    const Value same = builtin("rnn_state_set")(kept, int64_t{1}, int64_t{0}, now);
    EXPECT_EQ(same.view().u.object, kept.view().u.object);
    builtin("kv_state_end_forward")(kept);
    return before;
  }
  float now(int64_t id, int64_t layer = 1) {
    return to_floats(builtin("rnn_state_debug_get")(kept, layer, int64_t{0}, id))[0];
  }
};

}  // namespace

TEST_F(RnnState, BeginsWithTheInitialStateAndKeepsLaterStates) {
  builtin("kv_state_add_sequence")(kept, 7);
  EXPECT_EQ(now(7, 0), 0.5F) << "each layer has a state of its own";
  EXPECT_EQ(step({7}, {1}, 1), (std::vector<float>{0.5}));
  EXPECT_EQ(step({7}, {1}, 1), (std::vector<float>{1.5}));
  EXPECT_EQ(now(7), 2.5F);
  builtin("kv_state_add_sequence")(kept, 8);
  EXPECT_EQ(step({8, 7}, {1, 1}, 2), (std::vector<float>{0.5, 2.5}));
}

TEST_F(RnnState, PopsNoMoreTokensThanItKeepsStatesFor) {
  builtin("kv_state_add_sequence")(kept, 0);
  for (int i = 0; i < 6; ++i) step({0}, {1}, 1);
  EXPECT_EQ(now(0), 6.5F);
  expect_throws([&] { builtin("kv_state_popn")(kept, 0, 4); }, OPD_OUT_OF_RANGE,
                "n must be from 0 to the 3 states before the current one that sequence 0 keeps, but is 4");
  builtin("kv_state_popn")(kept, 0, 2);
  EXPECT_EQ(now(0), 4.5F);
  builtin("kv_state_popn")(kept, 0, 1);
  EXPECT_EQ(now(0), 3.5F);
  expect_throws([&] { builtin("kv_state_popn")(kept, 0, 1); }, OPD_OUT_OF_RANGE, "to the 0 states");
  EXPECT_EQ(step({0}, {5}, 1), (std::vector<float>{3.5}));
  expect_throws([&] { builtin("kv_state_popn")(kept, 0, 1); }, OPD_OUT_OF_RANGE,
                "to the 0 states");  // a prefill leaves one state
}

TEST_F(RnnState, AForkCopiesAllStatesAndIsIndependent) {
  builtin("kv_state_add_sequence")(kept, 0);
  step({0}, {1}, 1), step({0}, {1}, 1);
  builtin("kv_state_fork_sequence")(kept, 0, 1, -1);
  step({1}, {1}, 10), step({0}, {1}, 1);
  EXPECT_EQ(now(0), 3.5F);
  EXPECT_EQ(now(1), 12.5F);
  builtin("kv_state_popn")(kept, 1, 2);
  EXPECT_EQ(now(1), 1.5F);
  builtin("kv_state_remove_sequence")(kept, 0);
  builtin("kv_state_add_sequence")(kept, 2);
  EXPECT_EQ(now(2), 0.5F) << "a slot that is used again begins anew";
}

TEST_F(RnnState, APassEndsWhenStatesAreTakenBackOrASequenceGoes) {
  builtin("kv_state_add_sequence")(kept, 0), builtin("kv_state_add_sequence")(kept, 1);
  step({0}, {1}, 1), step({0}, {1}, 1);
  Tensor out({1, 1}, "float32");
  for (const bool pops : {true, false}) {
    builtin("kv_state_begin_forward")(kept, shape_of({0}), shape_of({1}));
    if (pops) builtin("kv_state_popn")(kept, 0, 1);
    else builtin("kv_state_remove_sequence")(kept, 1);
    expect_throws([&] { builtin("rnn_state_get")(kept, int64_t{0}, int64_t{0}, out); }, OPD_INVALID_ARGUMENT,
                  "call vm.builtin.kv_state_begin_forward first");
    builtin("kv_state_end_forward")(kept);
    EXPECT_EQ(now(0), 1.5F) << "the pass that ended early changed nothing";
  }
}

TEST_F(RnnState, MistakesAreNamed) {
  for (int64_t id = 0; id < 3; ++id) builtin("kv_state_add_sequence")(kept, id);
  expect_throws([&] { builtin("kv_state_add_sequence")(kept, 3); }, OPD_OUT_OF_RANGE,
                "the state is full: it holds 3 sequences, and sequence 3 would be one more");
  expect_throws([&] { builtin("kv_state_add_sequence")(kept, 2); }, OPD_INVALID_ARGUMENT, "has a sequence 2 already");
  expect_throws([&] { builtin("kv_state_fork_sequence")(kept, 9, 4); }, OPD_NOT_FOUND, "the state has no sequence 9");
  expect_throws(
      [&] {
        builtin("kv_state_begin_forward")(kept, shape_of({0}), shape_of({2}), shape_of({-1, -1}));
      },
      OPD_INVALID_ARGUMENT, "those of sequence 0 form a tree");
  builtin("kv_state_begin_forward")(kept, shape_of({0}), shape_of({2}), shape_of({-1, 0}));
  Tensor out({1, 1}, "float32");
  expect_throws([&] { builtin("rnn_state_get")(kept, int64_t{2}, int64_t{0}, out); }, OPD_OUT_OF_RANGE,
                "layer must be from 0 to 1, but is 2");
  expect_throws([&] { builtin("rnn_state_get")(kept, int64_t{0}, int64_t{1}, out); }, OPD_OUT_OF_RANGE,
                "state_id must be from 0 to 0, but is 1");
  builtin("kv_state_end_forward")(kept);
  expect_throws([&] { builtin("rnn_state_get")(kept, int64_t{0}, int64_t{0}, out); }, OPD_INVALID_ARGUMENT,
                "call vm.builtin.kv_state_begin_forward first");
  builtin("kv_state_clear")(kept);
  expect_throws([&] { now(0); }, OPD_NOT_FOUND, "no sequence 0");
  expect_throws([&] { make_state(0, 4); }, OPD_OUT_OF_RANGE, "max_batch_size must be from 1 to");
  expect_throws([&] { make_state(INT32_MAX, INT32_MAX, 4096); }, OPD_OUT_OF_MEMORY);
  expect_throws([&] { builtin("rnn_state_create")(2, 2, 2, tuple_of(), tuple_of(), tuple_of()); }, OPD_INVALID_ARGUMENT,
                "of one length, at least 1, but are of 0, 0 and 0");
}

TEST_F(RnnState, LengthsCannotExceedInt64) {
  const Value made = make_state(1, 2);
  builtin("kv_state_add_sequence")(made, 7);
  const auto pass = [&](int64_t tokens) {
    builtin("kv_state_begin_forward")(made, shape_of({7}), shape_of({tokens}));
    builtin("kv_state_end_forward")(made);
  };
  pass(INT64_MAX - 1);
  pass(1);
  expect_throws(
      [&] { pass(1); }, OPD_OUT_OF_RANGE,
      "a sequence may have 9223372036854775807 tokens, but sequence 7 has 9223372036854775807 and is to get 1");
  EXPECT_EQ(KvState(made).lengths(), (std::map<int64_t, int64_t>{{7, INT64_MAX}}));
}

class AProfileOfStates : public testing::Test {
 protected:
  // A program that makes a state with its own kernels, and reads it.
  static Vm read_by(void (*read)(const opd_value *, int32_t, opd_value *)) {
    define("test.rnn_read", read);
    define("test.rnn_write", write_state);
    return make_vm(
        ".func create(initial) {\n  %g = call vm.builtin.make_tuple(@test.rnn_read)\n"
        "  %s = call vm.builtin.make_tuple(@test.rnn_write)\n  %i = call vm.builtin.make_tuple(%initial)\n"
        "  %r = call vm.builtin.rnn_state_create(1, 1, 2, %g, %s, %i)\n  ret %r\n}\n"
        ".func main(state, now) {\n  call vm.builtin.rnn_state_get(%state, 0, 0, %now)\n  ret %now\n}\n");
  }
  static Value begun(const Vm &vm) {
    const Value made = vm.call("create", floats({0.5}, {1}));
    builtin("kv_state_add_sequence")(made, 7);
    builtin("kv_state_begin_forward")(made, shape_of({7}), shape_of({1}));
    return made;
  }
  static Value cell(const Report &report, size_t row, const char *column) {
    return report.value(OPD_REPORT_CALLS, row, column);
  }
};

TEST_F(AProfileOfStates, HasTheirKernelsWithinTheFunctionsOfTheState) {
  const Vm vm = read_by(read_state);
  const Tensor now({1, 1}, "float32");
  const Value made = begun(vm);
  const Report report = vm.profile("main", {made.view(), arg(now)}).report;
  EXPECT_EQ(cell(report, 0, "Name").string(), "test.rnn_read");
  EXPECT_EQ(cell(report, 0, "Argument Shapes").string(), "float32[1, 2, 1], int32[1], int32[1], float32[1, 1]");
  EXPECT_EQ(cell(report, 0, "Depth").view().u.int64, 1);
  EXPECT_EQ(cell(report, 1, "Name").string(), "vm.builtin.rnn_state_get");
  const double all = cell(report, 1, "Duration (us)").view().u.float64,
               inner = cell(report, 0, "Duration (us)").view().u.float64;
  EXPECT_LE(inner, all);
  EXPECT_NEAR(cell(report, 1, "Self (us)").view().u.float64, all - inner, 1e-9);
}

TEST_F(AProfileOfStates, HasTheErrorOfAKernel) {
  const Vm vm = read_by([](const opd_value *, int32_t, opd_value *) { throw std::runtime_error("nothing to read"); });
  const Tensor now({1, 1}, "float32");
  const Value made = begun(vm);
  vm.profile_start();
  expect_throws([&] { vm.call("main", made, now); }, OPD_CALL_FAILED, "nothing to read");
  const Report report = vm.profile_stop().report;
  ASSERT_GE(report.count(), 2U);
  EXPECT_EQ(cell(report, 0, "Name").string(), "test.rnn_read");
  EXPECT_NE(cell(report, 0, "Error").string().find("nothing to read"), std::string::npos);
  EXPECT_EQ(cell(report, 1, "Name").string(), "vm.builtin.rnn_state_get");
}

// States of two kinds, of one number and of a matrix. Kernels copy whole states.
class RnnStates : public testing::Test {
 protected:
  Value kept = make();

  static Value make() {
    const auto kernel = [](bool writes, int64_t size) {
      return make_function([=](const opd_value *a, int32_t, opd_value *) {
        const int64_t histories = dl(a[0]).shape[1];
        for (int64_t b = 0; b < dl(a[1]).shape[0]; ++b) {
          const int64_t at = ints(a[1])[b] * histories + (ints(a[2])[b] + writes) % histories;
          float *const kept = elements(a[0]) + at * size, *const given = elements(a[3]) + b * size;
          std::copy_n(writes ? given : kept, size, writes ? kept : given);
        }
      });
    };
    return builtin("rnn_state_create")(int64_t{2}, int64_t{3}, int64_t{4}, tuple_of(kernel(false, 1), kernel(false, 4)),
                                       tuple_of(kernel(true, 1), kernel(true, 4)),
                                       tuple_of(floats({0.5}, {1}), floats({1, 2, 3, 4}, {2, 2})));
  }
  std::vector<float> now(int64_t id, int64_t layer, int64_t kind) {
    return to_floats(builtin("rnn_state_debug_get")(kept, layer, kind, id));
  }
  void begin(const std::vector<int64_t> &ids) {
    builtin("kv_state_begin_forward")(kept, shape_of(ids), shape_of(std::vector<int64_t>(ids.size(), 1)));
  }
};

TEST_F(RnnStates, AreSeparateForEachLayerAndKind) {
  using Floats = std::vector<float>;
  for (const int64_t id : {7, 8}) builtin("kv_state_add_sequence")(kept, id);
  const Tensor matrix = Tensor::of(builtin("rnn_state_debug_get")(kept, 1, 1, 8));
  EXPECT_EQ(matrix.shape(), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(to_floats(arg(matrix)), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(now(8, 1, 0), (Floats{0.5}));
  begin({8, 7});
  for (int64_t layer = 0; layer < 2; ++layer) {
    const float x = static_cast<float>(100 * (layer + 1));
    builtin("rnn_state_set")(kept, layer, 0, floats({x, x + 1}, {2, 1}));
    builtin("rnn_state_set")(kept, layer, 1,
                             floats({x + 2, x + 3, x + 4, x + 5, x + 6, x + 7, x + 8, x + 9}, {2, 2, 2}));
  }
  EXPECT_EQ(now(8, 1, 1), (Floats{1, 2, 3, 4})) << "a pass that runs has changed no current state";
  builtin("kv_state_end_forward")(kept);
  EXPECT_EQ(now(8, 0, 0), (Floats{100}));
  EXPECT_EQ(now(7, 0, 0), (Floats{101}));
  EXPECT_EQ(now(8, 1, 1), (Floats{202, 203, 204, 205}));
  EXPECT_EQ(now(7, 1, 1), (Floats{206, 207, 208, 209}));
  builtin("kv_state_fork_sequence")(kept, 7, 9, -1);
  builtin("kv_state_remove_sequence")(kept, 7);
  EXPECT_EQ(now(9, 1, 1), (Floats{206, 207, 208, 209}));
  EXPECT_EQ(now(9, 0, 1), (Floats{106, 107, 108, 109}));
  builtin("kv_state_popn")(kept, 9, 1);
  EXPECT_EQ(now(9, 1, 1), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(KvState(kept).stats().bytes, 2 * 3 * 4 * (1 + 4) * sizeof(float));
}

TEST_F(RnnStates, HaveAllPlacesFreeAfterAClear) {
  for (int round = 0; round < 2; ++round) {
    for (int64_t id = 0; id < 3; ++id) builtin("kv_state_add_sequence")(kept, id);
    EXPECT_EQ(KvState(kept).stats().free_pages, 0);
    expect_throws([&] { builtin("kv_state_add_sequence")(kept, 3); }, OPD_OUT_OF_RANGE, "the state is full");
    expect_throws([&] { builtin("kv_state_fork_sequence")(kept, 0, 3); }, OPD_OUT_OF_RANGE, "the state is full");
    builtin("kv_state_clear")(kept);
    EXPECT_EQ(KvState(kept).stats().free_pages, 3);
  }
  builtin("kv_state_add_sequence")(kept, 0), builtin("kv_state_add_sequence")(kept, 1);
  builtin("kv_state_remove_sequence")(kept, 0);
  for (const int64_t id : {2, 3}) builtin("kv_state_add_sequence")(kept, id);
  begin({1, 2, 3});
  builtin("rnn_state_set")(kept, 0, 0, floats({1, 2, 3}, {3, 1}));
  builtin("kv_state_end_forward")(kept);
  EXPECT_EQ(now(1, 0, 0)[0] + 10 * now(2, 0, 0)[0] + 100 * now(3, 0, 0)[0], 321) << "each has a place of its own";
}

TEST_F(RnnStates, NameTheirLimits) {
  builtin("kv_state_add_sequence")(kept, 0);
  const auto get = [&](int64_t layer, int64_t kind) { return [=, this] { now(0, layer, kind); }; };
  for (const int64_t layer : {-1, 2})
    expect_throws(get(layer, 0), OPD_OUT_OF_RANGE, "layer must be from 0 to 1, but is " + std::to_string(layer));
  for (const int64_t kind : {-1, 2})
    expect_throws(get(0, kind), OPD_OUT_OF_RANGE, "state_id must be from 0 to 1, but is " + std::to_string(kind));
  expect_throws([&] { builtin("kv_state_popn")(kept, 0, -1); }, OPD_OUT_OF_RANGE,
                "n must be from 0 to the 0 states before the current one that sequence 0 keeps, but is -1");
  for (const auto &parents : {std::vector<int64_t>{-1}, {-1, 0, 1}})
    expect_throws([&] { builtin("kv_state_begin_forward")(kept, shape_of({0}), shape_of({2}), shape_of(parents)); },
                  OPD_INVALID_ARGUMENT,
                  parents.size() > 2 ? "the parents of all 2 new tokens, but has 3" : "form a tree");
  const char *const sizes[] = {"num_layers", "max_batch_size", "max_history"};
  const Function kernel = make_function([](const opd_value *, int32_t, opd_value *) {});
  for (size_t i = 0; i < 3; ++i)
    for (const int64_t given : {int64_t{0}, int64_t{1} << 31}) {
      int64_t all[] = {1, 1, 1};
      all[i] = given;
      expect_throws(
          [&] {
            builtin("rnn_state_create")(all[0], all[1], all[2], tuple_of(kernel), tuple_of(kernel),
                                        tuple_of(floats({1})));
          },
          OPD_OUT_OF_RANGE,
          std::string(sizes[i]) + " must be from 1 to " + (i == 0 ? "4096" : "2147483647") + ", but is " +
              std::to_string(given));
    }
}

TEST_F(RnnStates, WithoutElementsNeedNoMemoryForFreePlaces) {
  constexpr int64_t kMost = (int64_t{1} << 31) - 1;
  const Function kernel = make_function([](const opd_value *, int32_t, opd_value *) {});
  const Value made =
      builtin("rnn_state_create")(4096, kMost, 1, tuple_of(kernel), tuple_of(kernel), tuple_of(Tensor({0}, "float32")));
  const KvState typed(made);
  for (const int64_t id : {5, 6, 7}) typed.add(id);
  typed.remove(6);
  EXPECT_EQ(typed.stats().num_pages, kMost);
  EXPECT_EQ(typed.stats().free_pages, kMost - 2);
}
