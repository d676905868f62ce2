// list.h -- a singly linked list in ascending order, each key once.
#pragma once

#include <cstddef>
#include <functional>

#include "../transaction.h"

namespace workloads::stamp {

template <class Key, class Value, class Less = std::less<Key>>
class list {
 public:
  struct node {
    const Key key;
    shared<Value> value;
    shared<node*> next;
  };

  list() = default;
  ~list() { clear(); }
  list(const list&) = delete;
  list& operator=(const list&) = delete;

  [[nodiscard]] node* first() const { return first_; }
  [[nodiscard]] bool empty() const { return first_ == nullptr; }

  // The node of a key, or null.
  [[nodiscard]] node* find(Key key) const {
    node* n = first_;
    while (n != nullptr && Less{}(n->key, key)) n = n->next;
    return n != nullptr && !Less{}(key, n->key) ? n : nullptr;
  }

  // Returns whether the key was not there and is now.
  bool insert(Key key, Value value) {
    shared<node*>* link = place(key);
    node* const next = *link;
    if (next != nullptr && !Less{}(key, next->key)) return false;
    *link = new node{key, value, next};
    return true;
  }

  // Returns whether the key was there.
  bool erase(Key key) {
    shared<node*>* link = place(key);
    node* const found = *link;
    if (found == nullptr || Less{}(key, found->key)) return false;
    *link = found->next;
    delete found;
    return true;
  }

  void clear() {
    node* n = first_;
    first_ = nullptr;
    while (n != nullptr) {
      node* const next = n->next;
      delete n;
      n = next;
    }
  }

 private:
  // The link to the first node whose key is not less.
  shared<node*>* place(Key key) {
    shared<node*>* link = &first_;
    for (node* n = *link; n != nullptr && Less{}(n->key, key); n = *link) link = &n->next;
    return link;
  }

  shared<node*> first_ = nullptr;
};

}  // namespace workloads::stamp
