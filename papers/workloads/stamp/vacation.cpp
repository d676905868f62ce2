// vacation.cpp -- a travel agency's database: medium transactions that look up and change several
// search trees.
//
// Source        STAMP (Cao Minh et al., IISWC 2008), after SPECjbb2000: tables of
//               cars, flights, rooms and customers as red-black trees; each client task is one
//               transaction: a reservation of the dearest found among `queries` random items, a
//               customer's departure, or changes of the tables. High contention: more queries, of
//               a smaller part of the tables, and more changes.
// Deviations    A task's random numbers are drawn before its transaction.
// Check         Trees are valid; each item's used and free add up to its total; what customers hold
//               is what the tables count as used.
#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "containers/list.h"
#include "containers/red_black_tree.h"
#include "program.h"
#include "transaction.h"

namespace {

using namespace workloads::stamp;
using std::int64_t;
using std::uint64_t;

const parameters known{
    {"high-small", "low-small", "high-tiny", "low-tiny", "high-sim", "low-sim", "high-sim+",
     "low-sim+", "high-paper", "low-paper", "high-large", "low-large"},
    {{"queries",
      "items that a task looks at (suite: -n)",
      {"4", "2", "4", "2", "4", "2", "4", "2", "4", "2", "4", "2"}},
     {"range",
      "percentage of the tables that tasks look at (suite: -q)",
      {"60", "90", "60", "90", "60", "90", "60", "90", "60", "90", "60", "90"}},
     {"reservations",
      "percentage of tasks that reserve (suite: -u)",
      {"90", "98", "90", "98", "90", "98", "90", "98", "90", "98", "90", "98"}},
     {"relations",
      "entries of each table (suite: -r)",
      {"16384", "16384", "64", "64", "16384", "16384", "1048576", "1048576", "1048576", "1048576",
       "4194304", "4194304"}},
     {"tasks",
      "tasks of all clients together (suite: -t)",
      {"262144", "262144", "1000", "1000", "4096", "4096", "4096", "4096", "4194304", "4194304",
       "8388608", "8388608"}}}};

enum kind : uint64_t { car, flight, room, kinds };

struct item {
  shared<int64_t> used = 0, free = 0, total = 0, price = 0;
};
using item_table = red_black_tree<uint64_t, item*>;
// What a customer has reserved: (kind, number) -> price.
using reservations = list<uint64_t, int64_t>;

class database {
 public:
  ~database() {
    for (item_table& table : items)
      for (auto* n = table.first(); n != nullptr; n = item_table::next(n)) delete n->value;
    for (auto* n = customers.first(); n != nullptr; n = next(n)) delete n->value;
  }

  // Adds `count` (may be negative) free items at this price; the entry goes with its last item.
  // Returns false, with nothing changed, where that many are not free.
  bool add(uint64_t kind, uint64_t number, int64_t count, int64_t price) {
    item_table& table = items[kind];
    auto* const found = table.find(number);
    if (found == nullptr) {
      if (count < 1) return false;
      table.insert(number, new item{0, count, count, price});
      return true;
    }
    item* const it = found->value;
    if (it->free + count < 0) return false;
    it->free = it->free + count;
    it->total = it->total + count;
    if (it->total == 0) {
      table.erase(number);
      delete it;
    } else {
      it->price = price;
    }
    return true;
  }

  // The price of an item of which one is free, else -1.
  [[nodiscard]] int64_t price(uint64_t kind, uint64_t number) const {
    auto* const found = items[kind].find(number);
    if (found == nullptr) return -1;
    const item* const it = found->value;
    return it->free > 0 ? static_cast<int64_t>(it->price) : -1;
  }

  bool add_customer(uint64_t customer) {
    if (customers.find(customer) != nullptr) return false;
    return customers.insert(customer, new reservations);
  }

  // Requires: the customer exists. False where the customer holds one already, or none is free.
  bool reserve(uint64_t customer, uint64_t kind, uint64_t number) {
    auto* const found = items[kind].find(number);
    if (found == nullptr) return false;
    item* const it = found->value;
    if (it->free < 1) return false;
    if (!customers.find(customer)->value->insert(number * kinds + kind, it->price)) return false;
    it->used = it->used + 1;
    it->free = it->free - 1;
    return true;
  }

  // Removes a customer with all reservations. Returns the bill, -1 where there is no such customer.
  int64_t remove_customer(uint64_t customer) {
    auto* const found = customers.find(customer);
    if (found == nullptr) return -1;
    reservations* const held = found->value;
    int64_t bill = 0;
    for (auto* n = held->first(); n != nullptr; n = n->next) {
      bill += n->value;
      item* const it = items[n->key % kinds].find(n->key / kinds)->value;
      it->used = it->used - 1;
      it->free = it->free + 1;
    }
    held->clear();
    customers.erase(customer);
    delete held;
    return bill;
  }

  [[nodiscard]] bool consistent() const {
    std::map<uint64_t, int64_t> used;
    for (auto* n = customers.first(); n != nullptr; n = next(n))
      for (auto* r = n->value->first(); r != nullptr; r = r->next) ++used[r->key];
    bool good = customers.valid();
    for (uint64_t k = 0; k < kinds; ++k) {
      good = good && items[k].valid();
      for (auto* n = items[k].first(); n != nullptr; n = item_table::next(n)) {
        const item& it = *n->value;
        const auto held = used.find(n->key * kinds + k);
        good = good && it.used >= 0 && it.free >= 0 && it.total > 0 &&
               it.used + it.free == it.total && it.used == (held == used.end() ? 0 : held->second);
        if (held != used.end()) used.erase(held);
      }
    }
    return good && used.empty();  // nothing is held of what does not exist
  }

  item_table items[kinds];
  red_black_tree<uint64_t, reservations*> customers;

 private:
  using customer_node = red_black_tree<uint64_t, reservations*>::node;
  static customer_node* next(customer_node* n) {
    return red_black_tree<uint64_t, reservations*>::next(n);
  }
};

struct task {
  static constexpr uint64_t most_queries = 64;
  enum { reserve, leave, change } what;
  uint64_t customer, queries;
  struct {
    uint64_t kind, number;
    int64_t price;  // negative: remove
  } query[most_queries];
};

class clients {
 public:
  clients(const program& p, database& all) : p_(p), all_(all) {
    if (queries_ > task::most_queries) p.refuse("--queries is at most 64");
    if (percent_ > 100 || p.number("range", 1) > 100) p.refuse("a percentage is at most 100");
    range_ = std::max<uint64_t>(1, relations_ * p.number("range") / 100);
  }

  void fill() {
    auto random = p_.random();
    for (uint64_t kind = 0; kind < kinds; ++kind)
      for (uint64_t number : shuffled(random)) {
        const auto count = static_cast<int64_t>(100 * (1 + random.below(5)));
        all_.add(kind, number, count, random_price(random));
      }
    for (uint64_t customer : shuffled(random)) all_.add_customer(customer);
  }

  uint64_t work(uint32_t thread) {
    auto random = p_.random(thread);
    const auto mine = p_.part(thread, p_.number("tasks", 1));
    for (uint64_t t = mine.first; t < mine.last; ++t) {
      const task it = draw(random);
      switch (it.what) {
        case task::reserve: reserve(it); break;
        case task::leave: TRANSACTION { all_.remove_customer(it.customer);
          };
          break;
        case task::change: change(it); break;
      }
    }
    return mine.last - mine.first;
  }

 private:
  static int64_t random_price(workloads::random_numbers& random) {
    return static_cast<int64_t>(50 + 10 * random.below(5));
  }
  std::vector<uint64_t> shuffled(workloads::random_numbers& random) const {
    std::vector<uint64_t> result(relations_);
    for (uint64_t i = 0; i < relations_; ++i) result[i] = i;
    for (uint64_t i = relations_; i > 1; --i) std::swap(result[i - 1], result[random.below(i)]);
    return result;
  }

  task draw(workloads::random_numbers& random) const {
    task t;
    const uint64_t percentile = random.below(100);
    t.what = percentile < percent_   ? task::reserve
             : (percentile & 1) != 0 ? task::leave
                                     : task::change;
    t.customer = random.below(range_);
    t.queries = 1 + random.below(queries_);
    for (uint64_t i = 0; i < t.queries; ++i) {
      const bool adds = random.below(2) == 0;
      t.query[i] = {random.below(kinds), random.below(range_), adds ? random_price(random) : -1};
    }
    return t;
  }

  void reserve(const task& t) {
    TRANSACTION {
      int64_t best[kinds] = {-1, -1, -1};
      uint64_t which[kinds] = {};
      for (uint64_t i = 0; i < t.queries; ++i) {
        const uint64_t kind = t.query[i].kind;
        const int64_t price = all_.price(kind, t.query[i].number);
        if (price > best[kind]) {
          best[kind] = price;
          which[kind] = t.query[i].number;
        }
      }
      if (best[car] >= 0 || best[flight] >= 0 || best[room] >= 0) all_.add_customer(t.customer);
      for (uint64_t kind = 0; kind < kinds; ++kind)
        if (best[kind] >= 0) all_.reserve(t.customer, kind, which[kind]);
    };
  }

  void change(const task& t) {
    TRANSACTION {
      for (uint64_t i = 0; i < t.queries; ++i) {
        const auto& q = t.query[i];
        if (q.price >= 0) {
          all_.add(q.kind, q.number, 100, q.price);
        } else {
          const int64_t price = all_.price(q.kind, q.number);
          if (price >= 0) all_.add(q.kind, q.number, -100, price);
        }
      }
    };
  }

  const program& p_;
  database& all_;
  const uint64_t relations_ = p_.number("relations", 1), queries_ = p_.number("queries", 1),
                 percent_ = p_.number("reservations");
  uint64_t range_ = 1;
};

}  // namespace

int main(int argc, char** argv) {
  program p(argc, argv, "vacation",
            "Clients of a travel agency; each transaction is one client's task on the tables.",
            known);
  database all;
  clients those(p, all);
  those.fill();
  p.run([&](std::uint32_t thread) { return those.work(thread); });
  if (p.inject_error() && all.items[flight].first() != nullptr) {
    item* const it = all.items[flight].first()->value;
    it->used = it->used + 1;  // one that nobody holds
    it->free = it->free - 1;
  }
  uint64_t held = 0;
  for (auto* n = all.customers.first(); n != nullptr; n = all.customers.next(n))
    for (auto* r = n->value->first(); r != nullptr; r = r->next) ++held;
  p.varying_result("reservations", held);
  return p.finish(all.consistent());
}
