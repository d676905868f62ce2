// red_black_tree.h -- a balanced search tree, each key once.
//
// Source        Cormen, Leiserson, Rivest & Stein, "Introduction to Algorithms", chapter 13,
//               without the sentinel: transactions that remove would all write its parent, and
//               conflict.
//
// Invariants
//   I1  A node's left keys are less than its own, its right keys greater.
//   I2  The root is black; a red node's children are black (null counts as black).
//   I3  All ways from a node down to null pass the same number of black nodes.
#pragma once

#include <cstddef>
#include <functional>

#include "../transaction.h"

namespace workloads::stamp {

template <class Key, class Value, class Less = std::less<Key>>
class red_black_tree {
 public:
  struct node {
    shared<Key> key;
    shared<Value> value;
    shared<node*> parent = nullptr, left = nullptr, right = nullptr;
    shared<bool> red = true;
  };

  red_black_tree() = default;
  ~red_black_tree() { destroy(root_); }
  red_black_tree(const red_black_tree&) = delete;
  red_black_tree& operator=(const red_black_tree&) = delete;

  // The node of a key, or null.
  [[nodiscard]] node* find(Key key) const {
    node* n = root_;
    while (n != nullptr) {
      if (Less{}(key, n->key)) n = n->left;
      else if (Less{}(n->key, key)) n = n->right;
      else break;
    }
    return n;
  }

  // Returns whether the key was not there and is now.
  bool insert(Key key, Value value) {
    node* parent = nullptr;
    bool left = false;
    for (node* n = root_; n != nullptr; n = left ? n->left : n->right) {
      parent = n;
      left = Less{}(key, n->key);
      if (!left && !Less{}(n->key, key)) return false;
    }
    node* const added = new node{key, value, parent};
    if (parent == nullptr) root_ = added;
    else if (left) parent->left = added;
    else parent->right = added;
    balance_insertion(added);
    return true;
  }

  // Returns whether the key was there.
  bool erase(Key key) {
    node* const found = find(key);
    if (found == nullptr) return false;
    node* removed = found;
    if (found->left != nullptr && found->right != nullptr) {
      removed = found->right;
      while (removed->left != nullptr) removed = removed->left;
      found->key = removed->key;
      found->value = removed->value;
    }
    node* const child = removed->left != nullptr ? removed->left : removed->right;
    node* const parent = removed->parent;
    replace(removed, child);
    if (!removed->red) balance_removal(child, parent);
    delete removed;
    return true;
  }

  // In ascending order: the first node; the one after `n`; null at the end.
  [[nodiscard]] node* first() const {
    node* n = root_;
    while (n != nullptr && n->left != nullptr) n = n->left;
    return n;
  }
  [[nodiscard]] static node* next(node* n) {
    if (n->right != nullptr) {
      n = n->right;
      while (n->left != nullptr) n = n->left;
      return n;
    }
    node* above = n->parent;
    while (above != nullptr && n == above->right) {
      n = above;
      above = above->parent;
    }
    return above;
  }

  // Whether I1 to I3 hold, and the parents are right.
  [[nodiscard]] bool valid() const {
    return !is_red(root_) && black_height(root_, nullptr) >= 0 && ascending();
  }

 private:
  static bool is_red(const node* n) { return n != nullptr && n->red; }

  // Puts `child` (may be null) in the place that `n` has under its parent.
  void replace(node* n, node* child) {
    node* const parent = n->parent;
    if (parent == nullptr) root_ = child;
    else if (parent->left == n) parent->left = child;
    else parent->right = child;
    if (child != nullptr) child->parent = parent;
  }

  // Turns the edge between n and its right (left) child, which takes n's place.
  void rotate(node* n, bool to_left) {
    node* const up = to_left ? n->right : n->left;
    node* const middle = to_left ? up->left : up->right;
    replace(n, up);
    if (to_left) {
      n->right = middle;
      up->left = n;
    } else {
      n->left = middle;
      up->right = n;
    }
    if (middle != nullptr) middle->parent = n;
    n->parent = up;
  }

  // Restores I2, which a new red node may break.
  void balance_insertion(node* n) {
    for (node* parent = n->parent; is_red(parent); parent = n->parent) {
      node* const above = parent->parent;  // there: the root is black
      const bool left = above->left == parent;
      node* const uncle = left ? above->right : above->left;
      if (is_red(uncle)) {
        parent->red = false;
        uncle->red = false;
        above->red = true;
        n = above;
        continue;
      }
      if (n == (left ? parent->right : parent->left)) {
        rotate(parent, left);
        parent = n;
      }
      parent->red = false;
      above->red = true;
      rotate(above, !left);
      break;
    }
    node* const root = root_;
    if (root->red) root->red = false;
  }

  // Restores I3 where a black node above `n` (may be null) under `parent` is gone.
  void balance_removal(node* n, node* parent) {
    while (parent != nullptr && !is_red(n)) {
      const bool left = parent->left == n;
      node* sibling = left ? parent->right : parent->left;  // there, by I3
      if (sibling->red) {
        sibling->red = false;
        parent->red = true;
        rotate(parent, left);
        sibling = left ? parent->right : parent->left;
      }
      node* const near = left ? sibling->left : sibling->right;
      node* far = left ? sibling->right : sibling->left;
      if (!is_red(near) && !is_red(far)) {
        sibling->red = true;
        n = parent;
        parent = n->parent;
        continue;
      }
      if (!is_red(far)) {
        near->red = false;
        sibling->red = true;
        rotate(sibling, !left);
        far = sibling;
        sibling = near;
      }
      sibling->red = parent->red;
      parent->red = false;
      far->red = false;
      rotate(parent, left);
      return;
    }
    if (is_red(n)) n->red = false;
  }

  // The black nodes on each way down from n; -1 where I2, I3 or a parent is wrong.
  static int black_height(const node* n, const node* parent) {
    if (n == nullptr) return 0;
    if (n->parent != parent || (n->red && is_red(parent))) return -1;
    const int left = black_height(n->left, n), right = black_height(n->right, n);
    return left < 0 || left != right ? -1 : left + (n->red ? 0 : 1);
  }
  [[nodiscard]] bool ascending() const {
    node* n = first();
    for (node* before = nullptr; n != nullptr; before = n, n = next(n))
      if (before != nullptr && !Less{}(before->key, n->key)) return false;
    return true;
  }

  static void destroy(node* n) {
    if (n == nullptr) return;
    destroy(n->left);
    destroy(n->right);
    delete n;
  }

  shared<node*> root_ = nullptr;
};

}  // namespace workloads::stamp
