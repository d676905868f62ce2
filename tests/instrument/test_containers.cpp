// The parts of libstdc++ that the runtime has versions of: std::map's trees and std::list's rings.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <list>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "check.h"

namespace {

std::uint64_t state = 1;
unsigned random_number() {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<unsigned>(state >> 33);
}

template <class Tree>
void check_tree(Tree& tree, const std::vector<int>& sorted) {
  CHECK(tree._M_t.__rb_verify());  // red-black invariants, by libstdc++
  CHECK(tree.size() == sorted.size());
  CHECK(std::equal(tree.begin(), tree.end(), sorted.begin()));
  CHECK(std::equal(tree.rbegin(), tree.rend(), sorted.rbegin()));
}

// std::set with its tree in reach.
struct open_set {
  std::_Rb_tree<int, int, std::_Identity<int>, std::less<int>> _M_t;
  auto begin() const { return _M_t.begin(); }
  auto end() const { return _M_t.end(); }
  auto rbegin() const { return _M_t.rbegin(); }
  auto rend() const { return _M_t.rend(); }
  std::size_t size() const { return _M_t.size(); }
};

void trees() {
  for (int range : {4, 30, 500}) {
    open_set tree;
    std::vector<int> sorted;
    for (int i = 0; i < 600; ++i) {
      const int value = static_cast<int>(random_number() % static_cast<unsigned>(range));
      const auto at = std::lower_bound(sorted.begin(), sorted.end(), value);
      const bool there = at != sorted.end() && *at == value;
      if (random_number() % 5 < 3) {
        CHECK(tree._M_t._M_insert_unique(value).second == !there);
        if (!there) sorted.insert(at, value);
      } else {
        CHECK(tree._M_t.erase(value) == (there ? 1u : 0u));
        if (there) sorted.erase(at);
      }
      if (range < 100 || i % 10 == 0) check_tree(tree, sorted);
    }
  }
  std::map<std::string, int> words;
  for (int i = 0; i < 300; ++i) ++words["word number " + std::to_string(i * 7 % 100)];
  CHECK(words.size() == 100 && words.begin()->second == 3);
  std::multiset<int> many{3, 1, 3, 2, 3};
  CHECK(many.count(3) == 3 && *many.rbegin() == 3 && many.erase(3) == 3 && *--many.end() == 2);
}

std::string show(const std::list<int>& l) {
  std::string text;
  for (int i : l) text += std::to_string(i);
  std::string back;
  for (auto i = l.rbegin(); i != l.rend(); ++i) back.insert(0, std::to_string(*i));
  CHECK(text == back);
  return text;
}

void lists() {
  std::list<int> a{1, 2, 3}, b, c{7};
  a.push_front(0);
  a.remove(2);
  CHECK(show(a) == "013");
  a.swap(b);
  CHECK(show(a).empty() && show(b) == "013");
  b.swap(c);
  CHECK(show(b) == "7" && show(c) == "013");
  c.splice(std::next(c.begin()), b);
  CHECK(show(c) == "0713" && b.empty());
  c.splice(c.end(), c, c.begin(), std::next(c.begin(), 2));
  CHECK(show(c) == "1307");
  c.reverse();
  CHECK(show(c) == "7031");
  c.sort();
  CHECK(show(c) == "0137");
  b = {0, 2, 4, 9};
  c.merge(b);
  CHECK(show(c) == "00123479");
  c.unique();
  std::swap(b, b);
  CHECK(show(c) == "0123479" && show(b).empty());
}

}  // namespace

int main() {
  trees();
  lists();
  std::ostringstream text;  // code of libstdc++ that is not instrumented
  text << 5 << ' ' << 2.5 << ' ' << std::string(1000, 'x').size();
  CHECK(text.str() == "5 2.5 1000");
}
