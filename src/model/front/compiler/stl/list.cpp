// list.cpp -- the part of std::list that libstdc++ has compiled in its library, where no
// machine would see it, instrumented. Rings of nodes; the list's own node is one of them.
#include <list>

#define EXPORT __attribute__((visibility("default")))

namespace std::__detail {

EXPORT void _List_node_base::_M_hook(_List_node_base* const position) noexcept {
  _M_next = position;
  _M_prev = position->_M_prev;
  position->_M_prev->_M_next = this;
  position->_M_prev = this;
}

EXPORT void _List_node_base::_M_unhook() noexcept {
  _M_prev->_M_next = _M_next;
  _M_next->_M_prev = _M_prev;
}

// Moves [first, last) to before this node.
EXPORT void _List_node_base::_M_transfer(_List_node_base* const first,
                                         _List_node_base* const last) noexcept {
  if (this == last || first == last) return;
  _List_node_base* const back = last->_M_prev;
  first->_M_prev->_M_next = last;
  last->_M_prev = first->_M_prev;

  first->_M_prev = _M_prev;
  back->_M_next = this;
  _M_prev->_M_next = first;
  _M_prev = back;
}

EXPORT void _List_node_base::_M_reverse() noexcept {
  _List_node_base* node = this;
  do {
    _List_node_base* const next = node->_M_next;
    node->_M_next = node->_M_prev;
    node->_M_prev = next;
    node = next;
  } while (node != this);
}

namespace {
// After the two nodes have exchanged their members: makes the neighbors point to `node`, which had
// been `other`'s place; a ring of `other` alone becomes a ring of `node` alone.
void adopt_ring(_List_node_base& node, const _List_node_base& other) {
  if (node._M_next == &other) {
    node._M_next = node._M_prev = &node;
  } else {
    node._M_next->_M_prev = node._M_prev->_M_next = &node;
  }
}
}  // namespace

EXPORT void _List_node_base::swap(_List_node_base& x, _List_node_base& y) noexcept {
  if (&x == &y) return;
  const _List_node_base before_x = x;
  x._M_next = y._M_next;
  x._M_prev = y._M_prev;
  y._M_next = before_x._M_next;
  y._M_prev = before_x._M_prev;
  adopt_ring(x, y);
  adopt_ring(y, x);
}

}  // namespace std::__detail
