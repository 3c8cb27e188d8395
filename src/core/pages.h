// Memory for large tables with random access, on huge pages where the system has them: with small
// pages, address translation takes longer than fetching the data.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <new>
#include <vector>

namespace watchword {

void* allocate_pages(std::size_t bytes);
void release_pages(void* memory, std::size_t bytes) noexcept;
// The size that is actually allocated for a request, so that all of it can be used.
std::size_t usable_bytes(std::size_t bytes);

template <class T>
class PageAllocator {
   public:
    using value_type = T;

    PageAllocator() = default;
    template <class Other>
    PageAllocator(const PageAllocator<Other>&) {}

    T* allocate(std::size_t count) {
        if (count > std::numeric_limits<std::size_t>::max() / 2 / sizeof(T)) throw std::bad_alloc();
        return static_cast<T*>(allocate_pages(count * sizeof(T)));
    }
    void deallocate(T* memory, std::size_t count) { release_pages(memory, count * sizeof(T)); }
    bool operator==(const PageAllocator&) const = default;
};

template <class T>
using Table = std::vector<T, PageAllocator<T>>;

// Tables that double waste up to half of a large model's memory: grow by less.
template <class T>
void reserve_tightly(Table<T>& table, std::size_t size) {
    if (size <= table.capacity()) return;
    table.reserve(usable_bytes((size + size / 6 + 16) * sizeof(T)) / sizeof(T));
}

// For a table that is filled gradually and rarely exceeds `most`: untouched memory costs nothing,
// so once the table is no longer small, all of it is allocated at once and never copied.
template <class T>
void reserve_ahead(Table<T>& table, std::size_t size, std::size_t most) {
    constexpr std::size_t kSmall = std::size_t{1} << 12;
    if (size <= table.capacity()) return;
    table.reserve(size <= kSmall ? kSmall : std::max(most, size * 2));
}

}  // namespace watchword
