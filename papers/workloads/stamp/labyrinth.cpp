// labyrinth.cpp -- routes wires through a three-dimensional grid: long transactions that read very
// much and write little.
//
// Source        STAMP (Cao Minh et al., IISWC 2008), Lee's algorithm as Watson et
//               al. made it transactional: a transaction copies the grid to memory of its own,
//               expands from the source breadth first, traces back from the destination, and writes
//               the path into the grid, checking that its cells are still free.
// Deviations    The copy is not part of a transaction under -fgnu-tm, as in the suite; where a cell
//               of the path was taken since, the transaction ends without a change and another one
//               starts, where the suite aborts it. Wires are taken shortest first. Ends of wires
//               not yet laid are walls to others.
// Check         Each path joins its ends in steps to neighbors; no cell has two; the grid holds the
//               paths and nothing else.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "containers/queue.h"
#include "program.h"
#include "transaction.h"

namespace {

using namespace workloads::stamp;
using std::int64_t;
using std::size_t;
using std::uint32_t;
using std::uint64_t;

const parameters known{
    {"small", "tiny", "sim", "sim+", "paper", "large"},
    {{"width", "x (suite: the file's -x)", {"192", "12", "32", "48", "512", "1024"}},
     {"height", "y (suite: -y)", {"192", "12", "32", "48", "512", "1024"}},
     {"depth", "z (suite: -z)", {"3", "2", "3", "3", "7", "7"}},
     {"wires", "pairs of ends to join (suite: -n)", {"96", "12", "96", "64", "512", "1024"}}}};

using cell_number = uint32_t;

struct wire {
  cell_number from, to;
  int64_t id;  // from 1
};

class grid {
 public:
  static constexpr int64_t empty = 0, reserved = -1;

  grid(size_t x, size_t y, size_t z)
      : width(x), height(y), depth(z), cells(x * y * z, int64_t{empty}) {}

  // Calls visit(neighbor, cost) for the cells beside c. As in the suite, changing layers costs 2.
  template <class Visit>
  void each_neighbor(cell_number c, Visit visit) const {
    const size_t x = c % width, y = c / width % height, z = c / width / height;
    if (x > 0) visit(c - 1, 1);
    if (x + 1 < width) visit(c + 1, 1);
    if (y > 0) visit(static_cast<cell_number>(c - width), 1);
    if (y + 1 < height) visit(static_cast<cell_number>(c + width), 1);
    if (z > 0) visit(static_cast<cell_number>(c - width * height), 2);
    if (z + 1 < depth) visit(static_cast<cell_number>(c + width * height), 2);
  }

  [[nodiscard]] size_t distance(const wire& w) const {
    const auto gap = [](size_t a, size_t b) { return a > b ? a - b : b - a; };
    const size_t layer = width * height;
    return gap(w.from % width, w.to % width) + gap(w.from / width % height, w.to / width % height) +
           2 * gap(w.from / layer, w.to / layer);
  }

  const size_t width, height, depth;
  std::vector<shared<int64_t>> cells;  // empty, reserved, or the id of a wire
};

// One thread's routing, in memory of its own.
class router {
 public:
  explicit router(const grid& g) : grid_(g), cost_(g.cells.size()) {}

  // Finds a way through what is free now, or at some moment meanwhile: the caller checks again.
  // Leaves it in path(), from the destination to the source. Returns its cells; 0: no way.
  TRANSACTION_PURE size_t find(const wire& w) {
    const untracked here;
    return search(w);
  }
  TRANSACTION_PURE cell_number path(size_t i) const { return path_[i]; }

 private:
  static constexpr int64_t wall = -1;

  // Flattened: compilers inline less into functions that transactions call, and the search is most
  // of the time; this way, all builds run the same code.
  [[gnu::flatten]] size_t search(const wire& w) {
    for (size_t c = 0; c < cost_.size(); ++c) cost_[c] = grid_.cells[c] == grid::empty ? 0 : wall;
    cost_[w.from] = 1;
    cost_[w.to] = 0;
    path_.clear();
    if (expand(w)) trace_back(w);
    return path_.size();
  }
  bool expand(const wire& w) {
    front_.assign(1, w.from);
    for (size_t first = 0; first < front_.size(); ++first) {
      const cell_number c = front_[first];
      if (c == w.to) return true;
      grid_.each_neighbor(c, [&](cell_number next, int64_t step) {
        const int64_t cost = cost_[c] + step;
        if (cost_[next] == wall || (cost_[next] != 0 && cost_[next] <= cost)) return;
        cost_[next] = cost;
        front_.push_back(next);
      });
    }
    return false;
  }

  // Downhill; straight on where that is as good.
  void trace_back(const wire& w) {
    int64_t direction = 0;
    for (cell_number c = w.to; c != w.from;) {
      path_.push_back(c);
      cell_number best = c;
      int64_t least = cost_[c];
      grid_.each_neighbor(c, [&](cell_number next, int64_t) {
        const int64_t cost = cost_[next];
        const bool straight = static_cast<int64_t>(next) - c == direction;
        if (cost <= 0 || cost > least || (cost == least && (best == c || !straight))) return;
        least = cost;
        best = next;
      });
      direction = static_cast<int64_t>(best) - c;
      c = best;
    }
    path_.push_back(w.from);
  }

  const grid& grid_;
  std::vector<int64_t> cost_;
  std::vector<cell_number> front_, path_;
};

class maze {
 public:
  explicit maze(program& p)
      : all(p.number("width", 1), p.number("height", 1), p.number("depth", 1)) {
    const uint64_t count = p.number("wires", 1), size = all.cells.size();
    if (size > UINT32_MAX || 2 * count > size) p.refuse("--wires has no room in the grid");
    auto random = p.random();
    const auto free_cell = [&] {
      cell_number c = 0;
      do c = static_cast<cell_number>(random.below(size));
      while (all.cells[c] != grid::empty);
      all.cells[c] = grid::reserved;
      return c;
    };
    for (uint64_t i = 0; i < count; ++i) {
      const cell_number from = free_cell();
      wires.push_back({from, free_cell(), static_cast<int64_t>(i + 1)});
    }
    std::vector<wire> order = wires;
    std::stable_sort(order.begin(), order.end(), [&](const wire& a, const wire& b) {
      return all.distance(a) < all.distance(b);
    });
    for (const wire& w : order) waiting_.push(w);
    paths.resize(count);
  }

  uint64_t work(uint32_t) {
    router mine(all);
    uint64_t transactions = 0;
    for (;;) {
      wire w{};
      bool found = false;
      TRANSACTION { found = waiting_.pop(w); };
      ++transactions;
      if (!found) return transactions;
      size_t cells = 0;
      do {
        found = true;
        TRANSACTION {
          cells = mine.find(w);
          if (cells > 0) found = lay(w, mine, cells);
        };
        ++transactions;
      } while (!found);
      for (size_t i = 0; i < cells; ++i)
        paths[static_cast<size_t>(w.id) - 1].push_back(mine.path(i));
    }
  }

  [[nodiscard]] bool consistent() const {
    std::vector<int64_t> expected(all.cells.size(), int64_t{grid::empty});
    for (const wire& w : wires) {
      const auto& path = paths[static_cast<size_t>(w.id) - 1];
      if (path.empty()) {
        expected[w.from] = expected[w.to] = grid::reserved;
        continue;
      }
      if (path.front() != w.to || path.back() != w.from) return false;
      for (size_t i = 0; i < path.size(); ++i) {
        if (expected[path[i]] != grid::empty) return false;
        expected[path[i]] = w.id;
        if (i > 0 && !neighbors(path[i - 1], path[i])) return false;
      }
    }
    return std::equal(expected.begin(), expected.end(), all.cells.begin(), all.cells.end());
  }

  grid all;
  std::vector<wire> wires;
  std::vector<std::vector<cell_number>> paths;

 private:
  // Writes the path, unless somebody took a cell of it.
  bool lay(const wire& w, const router& from, size_t cells) {
    for (size_t i = 1; i + 1 < cells; ++i)
      if (all.cells[from.path(i)] != grid::empty) return false;
    for (size_t i = 0; i < cells; ++i) all.cells[from.path(i)] = w.id;
    return true;
  }
  [[nodiscard]] bool neighbors(cell_number a, cell_number b) const {
    bool found = false;
    all.each_neighbor(a, [&](cell_number next, int64_t) { found = found || next == b; });
    return found;
  }

  queue<wire> waiting_;
};

}  // namespace

int main(int argc, char** argv) {
  program p(argc, argv, "labyrinth",
            "Routes wires through a grid; each transaction finds one wire's way and lays it.",
            known);
  maze m(p);
  p.run([&](uint32_t thread) { return m.work(thread); });
  uint64_t laid = 0, cells = 0;
  for (const auto& path : m.paths) {
    laid += path.empty() ? 0 : 1;
    cells += path.size();
  }
  if (p.inject_error()) m.all.cells[m.wires.front().from] = -1;
  p.varying_result("laid", laid);
  p.varying_result("cells", cells);
  return p.finish(m.consistent());
}
