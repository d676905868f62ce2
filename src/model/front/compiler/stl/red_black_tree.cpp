// red_black_tree.cpp -- the part of std::map and std::set that libstdc++ has compiled in its
// library, where no machine would see it, instrumented.
//
// Source      Cormen, Leiserson, Rivest, Stein, "Introduction to Algorithms", chapter 13.
// Layout      libstdc++'s: a header node whose parent is the root, left the smallest and right the
//             largest node; the root's parent is the header, which is red (the root is black).
//
// Invariants
//   I1  A red node has no red child.
//   I2  All paths from a node down to a null link pass the same number of black nodes.
#include <map>
#include <utility>

#define EXPORT __attribute__((visibility("default")))

namespace std {

namespace {

using node = _Rb_tree_node_base;

bool is_red(const node* n) { return n != nullptr && n->_M_color == _S_red; }
bool is_black(const node* n) { return !is_red(n); }

// The header is red and its own grandparent. So is no node: the root, whose parent is the header,
// is black.
bool is_header(const node* n) { return n->_M_color == _S_red && n->_M_parent->_M_parent == n; }

// Makes `now` the child of `parent` that `was` is.
void replace_child(node* parent, const node* was, node* now, node*& root) {
  if (root == was) root = now;
  else if (parent->_M_left == was) parent->_M_left = now;
  else parent->_M_right = now;
}

// x goes down, its child on the other side takes its place.
void rotate(node* x, node* node::*down, node* node::*up, node*& root) {
  node* const y = x->*up;
  x->*up = y->*down;
  if (y->*down != nullptr) (y->*down)->_M_parent = x;
  y->_M_parent = x->_M_parent;
  replace_child(x->_M_parent, x, y, root);
  y->*down = x;
  x->_M_parent = y;
}

struct sides {
  node* node::*near;
  node* node::*far;
};
constexpr sides left_first{&node::_M_left, &node::_M_right};
constexpr sides right_first{&node::_M_right, &node::_M_left};

// Restores I1 above a new red node.
void repair_red(node* x, node*& root) {
  while (x != root && is_red(x->_M_parent)) {
    node* const parent = x->_M_parent;
    node* const grandparent = parent->_M_parent;
    const sides side = parent == grandparent->_M_left ? left_first : right_first;
    node* const uncle = grandparent->*side.far;
    if (is_red(uncle)) {
      parent->_M_color = uncle->_M_color = _S_black;
      grandparent->_M_color = _S_red;
      x = grandparent;
      continue;
    }
    if (x == parent->*side.far) {
      x = parent;
      rotate(x, side.near, side.far, root);
    }
    x->_M_parent->_M_color = _S_black;
    grandparent->_M_color = _S_red;
    rotate(grandparent, side.far, side.near, root);
  }
  root->_M_color = _S_black;
}

// Restores I2 where the subtree x (may be null) below `parent` is one black node short.
void repair_black(node* x, node* parent, node*& root) {
  while (x != root && is_black(x)) {
    const sides side = x == parent->_M_left ? left_first : right_first;
    node* sibling = parent->*side.far;
    if (is_red(sibling)) {
      sibling->_M_color = _S_black;
      parent->_M_color = _S_red;
      rotate(parent, side.near, side.far, root);
      sibling = parent->*side.far;
    }
    if (is_black(sibling->_M_left) && is_black(sibling->_M_right)) {
      sibling->_M_color = _S_red;
      x = parent;
      parent = x->_M_parent;
      continue;
    }
    if (is_black(sibling->*side.far)) {
      (sibling->*side.near)->_M_color = _S_black;
      sibling->_M_color = _S_red;
      rotate(sibling, side.far, side.near, root);
      sibling = parent->*side.far;
    }
    sibling->_M_color = parent->_M_color;
    parent->_M_color = _S_black;
    (sibling->*side.far)->_M_color = _S_black;
    rotate(parent, side.near, side.far, root);
    break;
  }
  if (x != nullptr) x->_M_color = _S_black;
}

node* outermost(node* n, node* node::*side) {
  while (n->*side != nullptr) n = n->*side;
  return n;
}

// The next node in the direction of `to`; from the last one to the header.
node* neighbor(node* n, node* node::*to, node* node::*from) {
  if (n->*to != nullptr) return outermost(n->*to, from);
  node* parent = n->_M_parent;
  while (n == parent->*to) {
    n = parent;
    parent = n->_M_parent;
  }
  // A root without children on that side: n is the header already, parent the root.
  return n->*to != parent ? parent : n;
}

}  // namespace

EXPORT node* _Rb_tree_increment(node* n) throw() {
  return neighbor(n, &node::_M_right, &node::_M_left);
}
EXPORT const node* _Rb_tree_increment(const node* n) throw() {
  return neighbor(const_cast<node*>(n), &node::_M_right, &node::_M_left);
}
// From the header, --end(), to the largest.
EXPORT node* _Rb_tree_decrement(node* n) throw() {
  if (is_header(n)) return n->_M_right;
  return neighbor(n, &node::_M_left, &node::_M_right);
}
EXPORT const node* _Rb_tree_decrement(const node* n) throw() {
  return _Rb_tree_decrement(const_cast<node*>(n));
}

EXPORT void _Rb_tree_insert_and_rebalance(const bool left, node* x, node* parent,
                                          node& header) throw() {
  x->_M_parent = parent;
  x->_M_left = x->_M_right = nullptr;
  x->_M_color = _S_red;
  if (parent == &header) {
    header._M_parent = header._M_left = header._M_right = x;
  } else if (left) {
    parent->_M_left = x;
    if (parent == header._M_left) header._M_left = x;
  } else {
    parent->_M_right = x;
    if (parent == header._M_right) header._M_right = x;
  }
  repair_red(x, header._M_parent);
}

EXPORT node* _Rb_tree_rebalance_for_erase(node* const z, node& header) throw() {
  node*& root = header._M_parent;
  if (header._M_left == z) {
    header._M_left = z->_M_right != nullptr ? outermost(z->_M_right, &node::_M_left) : z->_M_parent;
  }
  if (header._M_right == z) {
    header._M_right = z->_M_left != nullptr ? outermost(z->_M_left, &node::_M_right) : z->_M_parent;
  }

  node* x;       // takes the place that becomes free; may be null
  node* parent;  // of x, afterwards
  _Rb_tree_color lost;
  if (z->_M_left == nullptr || z->_M_right == nullptr) {
    x = z->_M_left != nullptr ? z->_M_left : z->_M_right;
    parent = z->_M_parent;
    lost = z->_M_color;
    if (x != nullptr) x->_M_parent = parent;
    replace_child(parent, z, x, root);
  } else {
    // The successor moves to z's place with z's color, and its right child to the successor's.
    node* const next = outermost(z->_M_right, &node::_M_left);
    x = next->_M_right;
    lost = next->_M_color;
    if (next == z->_M_right) {
      parent = next;
    } else {
      parent = next->_M_parent;
      parent->_M_left = x;
      if (x != nullptr) x->_M_parent = parent;
      next->_M_right = z->_M_right;
      next->_M_right->_M_parent = next;
    }
    next->_M_left = z->_M_left;
    next->_M_left->_M_parent = next;
    next->_M_parent = z->_M_parent;
    replace_child(z->_M_parent, z, next, root);
    next->_M_color = std::exchange(z->_M_color, next->_M_color);
  }
  if (lost == _S_black) repair_black(x, parent, root);
  return z;
}

EXPORT unsigned _Rb_tree_black_count(const node* n, const node* root) throw() {
  if (n == nullptr) return 0;
  unsigned count = 0;
  for (;; n = n->_M_parent) {
    if (n->_M_color == _S_black) ++count;
    if (n == root) return count;
  }
}

}  // namespace std
