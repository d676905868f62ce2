// A sorted list, a hash table and a search tree, changed by several threads; audits inside
// transactions; every node is malloc'ed and freed by transactions.
#include "check.h"

#include <thread>
#include <vector>

namespace {

struct node {
  unsigned key;
  unsigned check;  // ~key
  node *next, *left, *right;
};

[[gnu::transaction_safe]] node* make(unsigned key) {
  node* const n = static_cast<node*>(std::malloc(sizeof(node)));
  n->key = key, n->check = ~key, n->next = n->left = n->right = nullptr;
  return n;
}

struct list {
  node* first = nullptr;
  int size = 0;

  [[gnu::transaction_safe]] bool insert(unsigned key) {
    node** at = &first;
    while (*at != nullptr && (*at)->key < key) at = &(*at)->next;
    if (*at != nullptr && (*at)->key == key) return false;
    node* const n = make(key);
    n->next = *at;
    *at = n;
    ++size;
    return true;
  }
  [[gnu::transaction_safe]] bool erase(unsigned key) {
    node** at = &first;
    while (*at != nullptr && (*at)->key < key) at = &(*at)->next;
    if (*at == nullptr || (*at)->key != key) return false;
    node* const n = *at;
    *at = n->next;
    n->key = n->check = 0;  // whoever still reads it finds out
    std::free(n);
    --size;
    return true;
  }
  // Returns whether the list is in order.
  [[gnu::transaction_safe]] bool audit() {
    int count = 0;
    for (node* n = first; n != nullptr; n = n->next, ++count) {
      if (n->check != ~n->key) return false;
      if (n->next != nullptr && n->next->key <= n->key) return false;
    }
    return count == size;
  }
};

struct tree {
  node* root = nullptr;
  int size = 0;

  [[gnu::transaction_safe]] bool insert(unsigned key) {
    node** at = &root;
    while (*at != nullptr && (*at)->key != key)
      at = key < (*at)->key ? &(*at)->left : &(*at)->right;
    if (*at != nullptr) return false;
    *at = make(key);
    ++size;
    return true;
  }
  [[gnu::transaction_safe]] bool erase(unsigned key) {
    node** at = &root;
    while (*at != nullptr && (*at)->key != key)
      at = key < (*at)->key ? &(*at)->left : &(*at)->right;
    if (*at == nullptr) return false;
    node* const n = *at;
    if (n->left == nullptr || n->right == nullptr) {
      *at = n->left != nullptr ? n->left : n->right;
    } else {
      node** least = &n->right;
      while ((*least)->left != nullptr) least = &(*least)->left;
      node* const heir = *least;
      *least = heir->right;
      heir->left = n->left, heir->right = n->right;
      *at = heir;
    }
    n->key = n->check = 0;
    std::free(n);
    --size;
    return true;
  }
  [[gnu::transaction_safe]] static int count(const node* n, unsigned low, unsigned high) {
    if (n == nullptr) return 0;
    if (n->check != ~n->key || n->key < low || n->key > high) return -1000000;
    return 1 + count(n->left, low, n->key) + count(n->right, n->key, high);
  }
  [[gnu::transaction_safe]] bool audit() { return count(root, 0, ~0u) == size; }
};

constexpr int buckets = 16, keys = 96, threads = 4, rounds = 15000;
list one_list, table[buckets];
tree one_tree;
int inserted;  // into all three, minus erased

void work(unsigned number) {
  dice roll(number);
  for (int i = 0; i < rounds; ++i) {
    const unsigned key = 1 + roll(keys), what = roll(10);
    bool right = true;
    if (what < 4) {
      __transaction_atomic {
        if (one_tree.insert(key)) {
          one_list.insert(key);
          table[key % buckets].insert(key);
          ++inserted;
        }
      }
    } else if (what < 8) {
      __transaction_atomic {
        if (one_tree.erase(key)) {
          right = one_list.erase(key) && table[key % buckets].erase(key);
          --inserted;
        }
      }
    } else if (what == 8) {
      __transaction_atomic { right = one_tree.audit() && one_tree.size == inserted; }
    } else {
      __transaction_atomic {
        int sum = 0;
        for (list& l : table) right = right && l.audit(), sum += l.size;
        right = right && sum == inserted && one_list.audit() && one_list.size == inserted;
      }
    }
    CHECK(right);
  }
}

}  // namespace

int main() {
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back(work, i);
  for (auto& t : all) t.join();
  CHECK(one_tree.audit() && one_list.audit());
  CHECK(one_tree.size == inserted && one_list.size == inserted);
}
