// containers_test.cpp -- each container against its namesake of the standard library, by random
// operations.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <vector>

#include "../../random_numbers.h"
#include "bitmap.h"
#include "hash_table.h"
#include "heap.h"
#include "list.h"
#include "queue.h"
#include "red_black_tree.h"
#include "vector.h"

namespace workloads::stamp {
// What program.cpp has.
bool has_global_lock = false;
void lock_globally() {}
void unlock_globally() {}
}  // namespace workloads::stamp

namespace {

namespace stamp = workloads::stamp;
using workloads::random_numbers;

struct low_bits {
  std::size_t operator()(int key) const { return static_cast<std::size_t>(key) % 8; }
};

TEST(StampContainers, VectorGrowsAndShrinks) {
  stamp::vector<int> ours;
  std::vector<int> model;
  random_numbers random(1, 0);
  for (int i = 0; i < 5000; ++i) {
    if (model.empty() || random.below(3) != 0) {
      ours.push_back(i);
      model.push_back(i);
    } else {
      ASSERT_EQ(ours.back(), model.back());
      ASSERT_EQ(ours.pop_back(), model.back());
      model.pop_back();
    }
    ASSERT_EQ(ours.size(), model.size());
  }
  for (std::size_t i = 0; i < model.size(); ++i) ASSERT_EQ(ours.get(i), model[i]);
  ours.clear();
  EXPECT_TRUE(ours.empty());
}

TEST(StampContainers, QueueKeepsTheOrderAroundItsEnd) {
  stamp::queue<int> ours;
  std::queue<int> model;
  random_numbers random(2, 0);
  for (int i = 0; i < 5000; ++i) {
    if (random.below(5) < (i < 2500 ? 3u : 2u)) {
      ours.push(i);
      model.push(i);
    } else {
      int value = -1;
      ASSERT_EQ(ours.pop(value), !model.empty());
      if (model.empty()) continue;
      ASSERT_EQ(value, model.front());
      model.pop();
    }
    ASSERT_EQ(ours.size(), model.size());
    ASSERT_EQ(ours.empty(), model.empty());
  }
}

TEST(StampContainers, HeapGivesTheLargestFirst) {
  stamp::heap<int> ours;
  std::priority_queue<int> model;
  random_numbers random(3, 0);
  for (int i = 0; i < 5000; ++i) {
    if (random.below(2) == 0) {
      const int value = static_cast<int>(random.below(100));
      ours.push(value);
      model.push(value);
    } else {
      int value = -1;
      ASSERT_EQ(ours.pop(value), !model.empty());
      if (model.empty()) continue;
      ASSERT_EQ(value, model.top());
      model.pop();
    }
    ASSERT_EQ(ours.size(), model.size());
  }
}

// Random insertions and removals against std::map; `check` looks at the whole after each 100.
template <class Ours, class Check>
void compare_with_map(Ours& ours, Check check) {
  std::map<int, int> model;
  random_numbers random(4, 0);
  for (int i = 0; i < 20000; ++i) {
    const int key = static_cast<int>(random.below(300));
    switch (random.below(3)) {
      case 0: ASSERT_EQ(ours.insert(key, i), model.insert({key, i}).second); break;
      case 1: ASSERT_EQ(ours.erase(key), model.erase(key) == 1); break;
      default: {
        const auto found = model.find(key);
        const auto* const node = ours.find(key);
        ASSERT_EQ(node != nullptr, found != model.end());
        if (node != nullptr) {
          ASSERT_EQ(node->key, key);
          ASSERT_EQ(node->value, found->second);
        }
      }
    }
    if (i % 100 == 0) check(model);
  }
}

TEST(StampContainers, ListIsInOrder) {
  stamp::list<int, int> ours;
  compare_with_map(ours, [&](const std::map<int, int>& model) {
    const auto* n = ours.first();
    for (const auto& [key, value] : model) {
      ASSERT_NE(n, nullptr);
      ASSERT_EQ(n->key, key);
      ASSERT_EQ(n->value, value);
      n = n->next;
    }
    ASSERT_EQ(n, nullptr);
  });
  ours.clear();
  EXPECT_TRUE(ours.empty());
}

TEST(StampContainers, HashTableHoldsAllInItsBuckets) {
  stamp::hash_table<int, int, low_bits> ours(5);
  ASSERT_EQ(ours.buckets(), 8u);
  compare_with_map(ours, [&](const std::map<int, int>& model) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < ours.buckets(); ++i)
      for (const auto* n = ours.at(i).first(); n != nullptr; n = n->next, ++count)
        ASSERT_EQ(low_bits{}(n->key), i);
    ASSERT_EQ(count, model.size());
  });
}

TEST(StampContainers, RedBlackTreeIsValidAndInOrder) {
  stamp::red_black_tree<int, int> ours;
  compare_with_map(ours, [&](const std::map<int, int>& model) {
    ASSERT_TRUE(ours.valid());
    auto* n = ours.first();
    for (const auto& [key, value] : model) {
      ASSERT_NE(n, nullptr);
      ASSERT_EQ(n->key, key);
      ASSERT_EQ(n->value, value);
      n = ours.next(n);
    }
    ASSERT_EQ(n, nullptr);
  });
}

TEST(StampContainers, RedBlackTreeTellsWhenItIsNot) {
  stamp::red_black_tree<int, int> tree;
  for (int i = 0; i < 64; ++i) tree.insert(i, i);
  ASSERT_TRUE(tree.valid());
  auto* const n = tree.find(20);
  n->red = !n->red;
  EXPECT_FALSE(tree.valid());
  n->red = !n->red;
  n->key = 1000;
  EXPECT_FALSE(tree.valid());
}

TEST(StampContainers, BitmapCounts) {
  stamp::bitmap ours(200);
  std::set<std::size_t> model;
  random_numbers random(5, 0);
  for (int i = 0; i < 2000; ++i) {
    const std::size_t bit = random.below(200);
    if (random.below(2) == 0) {
      ours.set(bit);
      model.insert(bit);
    } else {
      ours.clear(bit);
      model.erase(bit);
    }
    ASSERT_EQ(ours.count(), model.size());
    ASSERT_EQ(ours.test(bit), model.count(bit) == 1);
  }
  ours.clear_all();
  EXPECT_EQ(ours.count(), 0u);
}

}  // namespace
