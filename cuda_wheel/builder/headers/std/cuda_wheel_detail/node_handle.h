// What extract and insert of the associative containers pass: a node without a container.
#ifndef CUDA_WHEEL_DETAIL_NODE_HANDLE_H
#define CUDA_WHEEL_DETAIL_NODE_HANDLE_H

namespace cuda_wheel_detail {
template <class Key, class _T, bool is_map, class Allocator> class node_handle {
  void* node[2];

 public:
  typedef Allocator allocator_type;
  typedef Key key_type;
  typedef _T mapped_type;
  typedef _T value_type;
  node_handle() noexcept;
  node_handle(node_handle&&) noexcept;
  node_handle& operator=(node_handle&&) noexcept;
  ~node_handle();
  [[nodiscard]] bool empty() const noexcept;
  explicit operator bool() const noexcept;
  Key& key() const;
  _T& mapped() const;
  _T& value() const;
};
template <class Iterator, class Node> struct insert_result {
  Iterator position;
  bool inserted;
  Node node;
};
}

#endif
