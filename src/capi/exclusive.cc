// Finds objects that only the given references keep alive, by trial deletion (Bacon, Rajan: Concurrent Cycle Collection
// in Reference Counted Systems, 2001). An object is explained if the roots and the references from explained objects
// make up its whole count. An explained object ends with the roots. If an object has a reference that is not visited
// here, it is not explained and counts as alive.
#include "capi/exclusive.h"

#include <unordered_map>
#include <vector>

#include "measure/time_evaluator.h"
#include "value/map.h"
#include "vm/vm.h"

namespace opd {
namespace {

template <class Visit>
void visit_references(Object *object, const Visit &visit) {
  const auto visit_value = [&](const View &value) {
    if (is_object(value)) visit(object_of(value));
  };
  const View value = view_of(object);
  if (const auto *array = try_as<Array>(value)) {
    for (const View &item : array->views()) visit_value(item);
  } else if (const Map *map = try_map(value)) {
    for (auto at = map->begin(); at != map->end(); at = map->next(at))
      visit_value(map->at(at).key), visit_value(map->at(at).value);
  } else if (auto *function = try_as<Function>(value)) {
    if (const auto *closure = as_program_closure(*function)) {
      visit(closure->function.get());
      for (const Value &item : closure->captured) visit_value(item);
    } else {
      visit_kept_by_function(*function, visit);
    }
  } else if (const auto *vm = try_as<Vm>(value)) {
    vm->state().visit_kept(visit_value);
  } else if (const auto *saved = try_as<SavedFunction>(value)) {
    for (const Value &arg : saved->args) visit_value(arg);
  } else if (const auto *evaluator = try_as<TimeEvaluator>(value)) {
    evaluator->visit_kept(visit);
  }
}

struct Search {
  struct Node {
    uint32_t explained = 0;  // number of references found so far
    bool is_alive = false;   // referenced from elsewhere, or by an object that is alive
  };
  std::unordered_map<Object *, Node> nodes;
  std::vector<Object *> order;  // in the order of discovery

  void meet(Object *object) {
    Node &node = nodes[object];
    if (node.explained++ == 0) order.push_back(object);
  }
  void mark_alive(Object *object) {
    std::vector<Object *> waiting{object};
    while (!waiting.empty()) {
      Node &node = nodes[waiting.back()];
      Object *at = waiting.back();
      waiting.pop_back();
      if (std::exchange(node.is_alive, true)) continue;
      visit_references(at, [&](Object *kept) { waiting.push_back(kept); });
    }
  }
  void run() {
    for (size_t i = 0; i < order.size(); ++i) visit_references(order[i], [&](Object *kept) { meet(kept); });
    for (Object *object : order)
      if (static_cast<uint32_t>(object->refs.load(std::memory_order_acquire)) != nodes[object].explained)
        mark_alive(object);
  }
};

}  // namespace
}  // namespace opd

void opd_private_visit_exclusive(opd_packed_fn fn, void *const *roots, size_t num_roots,
                                 void (*visit)(void *user_data, void *context), void *context) {
  using namespace opd;
  Search search;
  for (size_t i = 0; i < num_roots; ++i)
    if (roots[i]) search.meet(static_cast<Object *>(roots[i]));
  search.run();
  for (Object *object : search.order) {
    if (search.nodes[object].is_alive) continue;
    if (const auto *function = try_as<Function>(view_of(object)); function && function->safe_call == &Callback::run) {
      const auto *callback = static_cast<const Callback *>(function);
      if (callback->body == fn) visit(callback->user_data, context);
    }
  }
}
