// Memory for large tables with random access, on huge pages where the system has them: with small
// pages, address translation takes longer than fetching the data.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <new>
#include <vector>

namespace watchword {

// A size at which a table grows, is cleared or is read in parts: no result depends on it. In builds
// for fuzzing it is tiny, so that short inputs reach all of this.
template <class T>
constexpr T table_size([[maybe_unused]] T usual, [[maybe_unused]] T tiny) {
#if defined(WATCHWORD_TINY_TABLES)
    return tiny;
#else
    return usual;
#endif
}

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

// A table in segments: beyond the first, no element is ever moved, so that appending never has to
// wait for a copy of all.
template <class T>
class SegmentedTable {
   public:
    std::size_t size() const { return size_; }
    T& operator[](std::size_t at) { return segments_[at / kSegment][at % kSegment]; }
    const T& operator[](std::size_t at) const { return segments_[at / kSegment][at % kSegment]; }
    void push_back(const T& value) {
        if (size_ % kSegment == 0) add_segment();
        segments_[size_ / kSegment].push_back(value);
        ++size_;
    }
    // Only to more elements.
    void resize(std::size_t size) {
        while (size_ < size) {
            if (size_ % kSegment == 0) add_segment();
            const std::size_t begin = size_ / kSegment * kSegment;
            const std::size_t end = std::min(size, begin + kSegment);
            segments_[begin / kSegment].resize(end - begin);
            size_ = end;
        }
    }
    void clear() {
        if (!segments_.empty()) segments_.resize(1);
        if (!segments_.empty()) segments_[0].clear();
        size_ = 0;
    }

   private:
    static constexpr std::size_t kSegment =
        table_size((std::size_t{1} << 17) / sizeof(T), std::size_t{4});
    static_assert((kSegment & (kSegment - 1)) == 0, "dividing by it must be fast");

    void add_segment() {
        if (size_ == 0 && !segments_.empty()) return;
        segments_.emplace_back();
        if (size_ == 0) return;  // many tables stay small
        try {
            segments_.back().reserve(kSegment);
        } catch (...) {
            segments_.pop_back();
            throw;
        }
    }

    std::vector<Table<T>> segments_;
    std::size_t size_ = 0;
};

// Tables that double waste up to half of a large model's memory: grow by less.
template <class T>
void reserve_tightly(Table<T>& table, std::size_t size) {
    if (size <= table.capacity()) return;
    table.reserve(usable_bytes((size + size / 6 + table_size(16, 1)) * sizeof(T)) / sizeof(T));
}

// For a table that is filled gradually and rarely exceeds `most`: untouched memory costs nothing,
// so once the table is no longer small, all of it is allocated at once and never copied.
template <class T>
void reserve_ahead(Table<T>& table, std::size_t size, std::size_t most) {
    constexpr std::size_t kSmall = table_size(std::size_t{1} << 12, std::size_t{16});
    if (size <= table.capacity()) return;
    table.reserve(size <= kSmall ? kSmall : std::max(most, size * 2));
}

}  // namespace watchword
